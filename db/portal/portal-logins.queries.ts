import type { TokenOrigin } from '../identity/users.queries.js';
import { raw } from 'objection';
import { PortalRefreshToken } from '../models/portal.js';
import type { Tx } from '../client/database.js';

/** The owner of logins: a participant or a caregiver. */
export type Whose = { participant_id: string } | { caregiver_id: string };

/** A refresh token with the facts that decide whether it is valid. */
export interface PortalTokenRow {
  id: string;
  family_id: string;
  study_id: string;
  participant_id: string | null;
  caregiver_id: string | null;
  /** Not revoked. */
  stands: boolean;
  rotated: boolean;
  expired: boolean;
  /** Its holder is enrolled; a caregiver: is active, and has an enrolled participant. */
  let_in: boolean;
  /** Of a caregiver only. */
  session_epoch: number | null;
}
export interface PortalLogin {
  id: string;
  created_at: string;
  last_used_at: string;
  expires_at: string;
  user_agent: string | null;
  ip_address: string | null;
}

/** @returns the family: a new one where none is given */
export async function insertPortalToken(
  tx: Tx,
  token: {
    study_id: string;
    whose: Whose;
    family_id?: string | undefined;
    hash: Buffer;
    days: number;
    origin: TokenOrigin;
  },
): Promise<string> {
  const { family_id } = await PortalRefreshToken.query(tx)
    .insert({
      ...token.whose,
      family_id: token.family_id ?? raw('gen_random_uuid()'),
      study_id: token.study_id,
      token_hash: token.hash,
      expires_at: raw(`clock_timestamp() + ? * interval '1 day'`, [token.days]),
      user_agent: token.origin.userAgent?.slice(0, 500) ?? null,
      ip_address: token.origin.ip,
    })
    .returning('family_id');
  return family_id;
}

/** Whether somebody's login exists and was not ended; a withdrawal does not end it, but prevents a refresh. */
export const isStandingLogin = async (tx: Tx, whose: Whose, login: string): Promise<boolean> =>
  (await tx('portal_refresh_tokens')
    .where({ family_id: login, ...whose })
    .whereNull('ended_at')
    .first('id')) !== undefined;

/** SQL: no token of the login was ended, such as the one that this one took the place of at that moment. */
const STANDS = `not exists (select from portal_refresh_tokens e where e.family_id = t.family_id
  and e.ended_at is not null)`;

/** The token of a hash, locked: of two concurrent refreshes, the second sees it rotated. */
export async function portalTokenForUpdate(tx: Tx, hash: Buffer): Promise<PortalTokenRow | undefined> {
  return tx('portal_refresh_tokens as t')
    .leftJoin('participants as p', 'p.id', 't.participant_id')
    .leftJoin('caregivers as c', 'c.id', 't.caregiver_id')
    .where('t.token_hash', hash)
    .forUpdate('t')
    .first(
      't.id',
      't.family_id',
      't.study_id',
      't.participant_id',
      't.caregiver_id',
      'c.session_epoch',
      tx.raw('t.rotated_at is not null as rotated'),
      tx.raw(`t.revoked_at is null and ${STANDS} as stands`),
      tx.raw('t.expires_at <= clock_timestamp() as expired'),
      tx.raw(`case when t.participant_id is not null then p.status = 'enrolled'
        else c.status = 'active' and exists (select from caregiver_participants k
          join participants x on x.id = k.participant_id
          where k.caregiver_id = c.id and x.status = 'enrolled') end as let_in`),
    );
}

export const markPortalTokenRotated = async (tx: Tx, id: string): Promise<void> => {
  await PortalRefreshToken.query(tx)
    .findById(id)
    .patch({ rotated_at: raw('clock_timestamp()') });
};

/**
 * Ends a login: its refresh token and its portal tokens. @returns its holder; undefined: it had ended, or does not
 * exist
 */
export async function endPortalLogin(
  tx: Tx,
  familyId: string,
): Promise<{ study_id: string; participant_id: string | null; caregiver_id: string | null } | undefined> {
  const [ended] = await PortalRefreshToken.query(tx)
    .where({ family_id: familyId })
    .whereNull('ended_at')
    .patch({ ended_at: raw('clock_timestamp()'), revoked_at: raw('coalesce(revoked_at, clock_timestamp())') })
    .returning(['study_id', 'participant_id', 'caregiver_id']);
  return ended;
}

/** The logins that can still be refreshed, the last used first. */
export async function portalLoginsOf(tx: Tx, whose: Whose): Promise<PortalLogin[]> {
  return PortalRefreshToken.query(tx)
    .alias('t')
    .where(whose)
    .whereNull('t.rotated_at')
    .whereNull('t.revoked_at')
    .where('t.expires_at', '>', raw('clock_timestamp()'))
    .whereRaw(STANDS)
    .orderBy([{ column: 't.created_at', order: 'desc' }, 't.id'])
    .select('t.family_id as id')
    .select(
      PortalRefreshToken.query()
        .alias('f')
        .whereColumn('f.family_id', 't.family_id')
        .min('f.created_at')
        .as('created_at'),
    )
    .select('t.created_at as last_used_at', 't.expires_at', 't.user_agent', 't.ip_address')
    .castTo<PortalLogin[]>();
}
