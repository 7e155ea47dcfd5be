import { execute } from '../client/query.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';
import type { Statement } from '../client/query.js';
import { openingOf } from '../client/transaction.js';

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

const TTL = `interval '24 hours'`;

/**
 * Claims a key; one older than a day can be claimed again. False: it is taken (waits while its owner's transaction
 * runs).
 */
export async function claimKey(db: Database | Tx, name: KeyName, bodyHash: Buffer): Promise<boolean> {
  const rowCount = await execute(
    db,
    `insert into idempotency_keys as k (caller, method, path, key, body_hash) values ($1, $2, $3, $4, $5)
     on conflict (caller, method, path, key) do update
       set body_hash = excluded.body_hash, status = null, headers = null, body = null, finished_at = null,
         created_at = now()
       where k.created_at < now() - ${TTL}`,
    [name.caller, name.method, name.path, name.key, bodyHash],
  );
  return rowCount === 1;
}

export async function claimOf(db: Database | Tx, name: KeyName): Promise<StoredAnswer | undefined> {
  return db('idempotency_keys')
    .where({ ...name })
    .first('status', 'headers', 'body', 'body_hash', db.raw('finished_at is not null as finished')) as Promise<
    StoredAnswer | undefined
  >;
}

/** Takes over an unfinished claim whose owner has been silent for `seconds`. */
export async function takeOverKey(db: Database, name: KeyName, seconds: number): Promise<boolean> {
  const taken = await db('idempotency_keys')
    .where({ ...name, finished_at: null })
    .where('created_at', '<', db.raw('now() - make_interval(secs => ?)', [seconds]))
    .update({ created_at: db.fn.now() });
  return taken === 1;
}

export async function answerOf(
  db: Database | Tx,
  name: KeyName,
  answer: { status: number; headers: Record<string, string | string[]>; body: string },
): Promise<void> {
  await db('idempotency_keys')
    .where({ ...name })
    .update({
      status: answer.status,
      headers: JSON.stringify(answer.headers),
      body: answer.body,
      finished_at: db.fn.now(),
    });
}

/** Ends a claim without a stored answer. */
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

const OF_PARTICIPANT = ['assessment_sessions', 'scheduled_visits'];

/** How many studies the transaction sees among these ids, and participants: themselves, or by a session or visit. */
async function countSeen(tx: Tx, ids: readonly string[]): Promise<number> {
  const named = (table: string) => tx(table).whereRaw('id = any(?::uuid[])', [[...ids]]);
  const participants = named('participants');
  for (const table of OF_PARTICIPANT) void participants.orWhereIn('id', named(table).select('participant_id'));
  const [seen] = (await participants.count('* as count')) as [{ count: number }];
  const [studies] = (await named('studies').count('* as count')) as [{ count: number }];
  return seen.count + studies.count;
}

/**
 * Whether the caller may see each study, participant, session and visit among these ids. It widens the transaction:
 * nothing else may be read in it afterwards.
 */
export async function seesAll(tx: Tx, caller: Statement, ids: readonly string[]): Promise<boolean> {
  await execute(tx, caller.sql, caller.values);
  const seen = await countSeen(tx, ids);
  await execute(tx, `select set_config('app.sites', '', true), set_config('app.site_studies', '', true)`);
  const everything = openingOf('*');
  await execute(tx, everything.sql, everything.values);
  return seen === (await countSeen(tx, ids));
}

/** Deletes keys that can no longer be repeated. */
export const sweepKeys = (db: Database): Promise<number> =>
  db('idempotency_keys').whereRaw(`created_at < now() - ${TTL}`).delete();
