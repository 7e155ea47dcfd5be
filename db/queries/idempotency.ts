import type { Database, Tx } from '../knex.js';

export interface KeyName {
  caller: string;
  method: string;
  path: string;
  key: string;
}
export interface StoredAnswer {
  status: number | null;
  headers: Record<string, string | string[]> | null;
  body: string | null;
  body_hash: Buffer;
  finished: boolean;
}

const KEPT = `interval '24 hours'`;

/**
 * Claims a key; one older than a day is new again. False: somebody has it (waits while that one's transaction runs).
 */
export async function claimKey(db: Database | Tx, name: KeyName, bodyHash: Buffer): Promise<boolean> {
  const { rowCount } = await db.raw(
    `insert into idempotency_keys as k (caller, method, path, key, body_hash) values (?, ?, ?, ?, ?)
     on conflict (caller, method, path, key) do update
       set body_hash = excluded.body_hash, status = null, headers = null, body = null, finished_at = null, created_at = now()
       where k.created_at < now() - ${KEPT}`,
    [name.caller, name.method, name.path, name.key, bodyHash],
  );
  return rowCount === 1;
}

export async function claimOf(db: Database | Tx, name: KeyName): Promise<StoredAnswer | undefined> {
  const { rows } = await db.raw(
    `select status, headers, body, body_hash, finished_at is not null as finished from idempotency_keys
     where caller = ? and method = ? and path = ? and key = ?`,
    [name.caller, name.method, name.path, name.key],
  );
  return rows[0];
}

/** Takes an unfinished claim whose owner has not been heard of for `seconds`. */
export async function takeOverKey(db: Database, name: KeyName, seconds: number): Promise<boolean> {
  const { rowCount } = await db.raw(
    `update idempotency_keys set created_at = now() where caller = ? and method = ? and path = ? and key = ?
     and finished_at is null and created_at < now() - make_interval(secs => ?)`,
    [name.caller, name.method, name.path, name.key, seconds],
  );
  return rowCount === 1;
}

export async function answerOf(
  db: Database | Tx,
  name: KeyName,
  answer: { status: number; headers: Record<string, string | string[]>; body: string },
): Promise<void> {
  await db.raw(
    `update idempotency_keys set status = ?, headers = ?::jsonb, body = ?, finished_at = now()
     where caller = ? and method = ? and path = ? and key = ?`,
    [answer.status, JSON.stringify(answer.headers), answer.body, name.caller, name.method, name.path, name.key],
  );
}

/** Ends a claim without an answer to repeat. */
export async function holdKey(db: Database | Tx, name: KeyName): Promise<void> {
  await db('idempotency_keys')
    .where({ ...name })
    .update({ finished_at: db.fn.now() });
}

export async function dropKey(db: Database, name: KeyName): Promise<void> {
  await db('idempotency_keys')
    .where({ ...name })
    .whereNull('finished_at')
    .delete();
}

/** Keys that nobody can repeat any more. */
export const sweepKeys = (db: Database): Promise<number> =>
  db('idempotency_keys').whereRaw(`created_at < now() - ${KEPT}`).delete();
