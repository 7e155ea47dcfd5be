import { raw } from 'objection';
import { MfaChallenge } from '../models/identity.js';
import type { Tx } from '../client/database.js';

export interface SecondFactor {
  secret_sealed: string;
  last_step: number;
  verified: boolean;
}

/** The storage place of a user's secret: it decrypts for that user only. */
export const totpPlace = (userId: string): string => `user_mfa.secret ${userId}`;

/** The user's second factor, locked: of two concurrent uses of one code, the second finds it used. */
export async function secondFactor(tx: Tx, userId: string): Promise<SecondFactor | undefined> {
  return tx('user_mfa')
    .where({ user_id: userId })
    .forUpdate()
    .first('secret_sealed', 'last_step', tx.raw('verified_at is not null as verified')) as Promise<
    SecondFactor | undefined
  >;
}

/** Stores an unverified secret; it replaces an earlier unverified one. */
export async function keepPendingFactor(
  tx: Tx,
  userId: string,
  secretSealed: string,
  codeHashes: readonly Buffer[],
): Promise<void> {
  await removeSecondFactor(tx, userId);
  await tx('user_mfa').insert({ user_id: userId, secret_sealed: secretSealed });
  await insertRecoveryCodes(tx, userId, codeHashes);
}

export async function confirmSecondFactor(tx: Tx, userId: string): Promise<void> {
  await tx('user_mfa')
    .where({ user_id: userId })
    .update({ verified_at: tx.raw('clock_timestamp()') });
}

export async function claimTotpStep(tx: Tx, userId: string, step: number): Promise<void> {
  await tx('user_mfa').where({ user_id: userId }).update({ last_step: step });
}

/** False: the user has none. */
export async function removeSecondFactor(tx: Tx, userId: string): Promise<boolean> {
  return (await tx('user_mfa').where({ user_id: userId }).delete()) > 0;
}

async function insertRecoveryCodes(tx: Tx, userId: string, hashes: readonly Buffer[]): Promise<void> {
  await tx('mfa_recovery_codes').insert(hashes.map((code_hash) => ({ user_id: userId, code_hash })));
}

export async function replaceRecoveryCodes(tx: Tx, userId: string, hashes: readonly Buffer[]): Promise<void> {
  await tx('mfa_recovery_codes').where({ user_id: userId }).delete();
  await insertRecoveryCodes(tx, userId, hashes);
}

/** Uses up a code. False: it is not the user's, or was used. */
export async function useRecoveryCode(tx: Tx, userId: string, hash: Buffer): Promise<boolean> {
  return (
    (await tx('mfa_recovery_codes')
      .where({ user_id: userId, code_hash: hash })
      .whereNull('used_at')
      .update({ used_at: tx.raw('clock_timestamp()') })) === 1
  );
}

export async function recoveryCodesLeft(tx: Tx, userId: string): Promise<number> {
  const [row] = (await tx('mfa_recovery_codes')
    .where({ user_id: userId })
    .whereNull('used_at')
    .count('* as count')) as [{ count: number }];
  return row.count;
}

// --- challenges behind mfa tokens

export type ChallengePurpose = 'login' | 'setup';

/** Also deletes the user's expired challenges. */
export async function insertChallenge(
  tx: Tx,
  challenge: { id: string; userId: string; purpose: ChallengePurpose; seconds: number },
): Promise<void> {
  await MfaChallenge.query(tx)
    .where({ user_id: challenge.userId })
    .where('expires_at', '<', raw('clock_timestamp()'))
    .delete();
  await MfaChallenge.query(tx).insert({
    id: challenge.id,
    user_id: challenge.userId,
    purpose: challenge.purpose,
    expires_at: raw(`clock_timestamp() + ? * interval '1 second'`, [challenge.seconds]),
  });
}

/** Whether the challenge is still valid; it is locked until the commit. */
export async function isChallengeValid(
  tx: Tx,
  challenge: { id: string; userId: string; purpose: ChallengePurpose },
): Promise<boolean> {
  const standing = await MfaChallenge.query(tx)
    .findById(challenge.id)
    .where({ user_id: challenge.userId, purpose: challenge.purpose, used_at: null })
    .where('expires_at', '>', raw('clock_timestamp()'))
    .forUpdate()
    .select('id');
  return standing !== undefined;
}

export async function endChallenge(tx: Tx, id: string): Promise<void> {
  await MfaChallenge.query(tx)
    .findById(id)
    .patch({ used_at: raw('clock_timestamp()') });
}

/**
 * Encrypts every secret under the new key (scripts/rotate-datacapture-key.ts). @returns how many were under another key
 */
export async function rotateFactors(
  tx: Tx,
  renew: (sealed: string, place: string) => string | undefined,
): Promise<number> {
  const rows = (await tx('user_mfa').orderBy('user_id').forUpdate().select('user_id', 'secret_sealed')) as {
    user_id: string;
    secret_sealed: string;
  }[];
  let rotated = 0;
  for (const row of rows) {
    const sealed = renew(row.secret_sealed, totpPlace(row.user_id));
    if (sealed === undefined) continue;
    await tx('user_mfa').where({ user_id: row.user_id }).update({ secret_sealed: sealed });
    rotated += 1;
  }
  return rotated;
}
