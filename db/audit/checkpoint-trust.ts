import type { CheckpointFolder } from './audit-folder.js';
import { keyIdOf } from './audit-signing.js';
import type { Checkpoint } from './audit-signing.js';
import { AuditCheckpoint } from '../models/audit.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** The content of a checkpoint folder. */
export type TrustedCheckpoint = ReadonlyMap<string, readonly Checkpoint[]>;

/**
 * Whether a folder's checkpoints belong to this database: a study's chain, or a checkpoint, is in both. The service's
 * own chain has the same name everywhere and proves nothing.
 */
export async function isOfDatabase(tx: Tx, kept: TrustedCheckpoint): Promise<boolean> {
  const chains = [...kept.keys()].filter((chain) => chain !== 'service');
  const signatures = [...kept.values()].flat().map(({ signature }) => signature);
  const [found] = await query<{ there: boolean }>(
    tx,
    `select exists (select from audit_chains where chain = any ($1)) or exists (select from audit_log
      where chain = any ($1))
       or exists (select from audit_checkpoints where signature = any ($2)) as there`,
    [chains, signatures],
  );
  return found!.there;
}

/** The public keys that the database stores with its checkpoints, by key id: the fallback without an outside source. */
export async function keysBesideCheckpoints(tx: Tx): Promise<Map<string, string>> {
  const rows = await AuditCheckpoint.query(tx).distinct('key_id', 'public_key');
  return new Map(rows.filter(isKeyOf).map(({ key_id, public_key }) => [key_id, public_key]));
}

/** Whether a checkpoint's public key is the one that its signature names. */
export function isKeyOf({ key_id, public_key }: Pick<Checkpoint, 'key_id' | 'public_key'>): boolean {
  try {
    return keyIdOf(public_key) === key_id;
  } catch {
    return false;
  }
}

/** The keys of a folder, and the current signing key. */
export async function trustedKeys(
  folder: CheckpointFolder,
  own: { keyId: string; publicKey: string } | undefined,
): Promise<Map<string, string>> {
  const keys = await folder.keys();
  if (own) keys.set(own.keyId, own.publicKey);
  return keys;
}
