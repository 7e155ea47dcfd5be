import { carriedTrace } from '../../client/trace-context.js';
import { execute, query } from '../../client/query.js';
import type { MarkedTransaction } from '../../client/marked-transaction.js';
import type { Tx } from '../../client/database.js';
import type { Ask } from './load.js';
import { studyTables } from './tables.js';

/** Whether a study is empty enough for a load. */
export async function studyIsEmpty(tx: Tx, studyId: string): Promise<boolean> {
  // Every study has a first policy.
  const tables = studyTables.map(({ name }) => name).filter((name) => name !== 'enrollment_policies');
  const rows = await query<{ empty: boolean }>(
    tx,
    `select not (${tables.map((name) => `exists (select from ${name} where study_id = $1)`).join(' or ')}) as empty`,
    [studyId],
  );
  return rows[0]!.empty;
}

/** Runs a load's queries within a transaction. */
export const askedIn =
  (tx: Tx): Ask =>
  (sql, values) =>
    query(tx, sql, values);

/** Starts the workflows of a loaded study's participants, and wakes the readers of its events, with its commit. */
export async function startLoaded(tx: Tx, studyId: string): Promise<void> {
  await execute(
    tx,
    `insert into outbox (topic, study_id, subject, payload, patient)
     select 'participant-start', study_id, id::text, jsonb_build_object('site_id', site_id) || $1::jsonb, true
       from participants where study_id = $2 and status = 'enrolled'`,
    [JSON.stringify(carriedTrace()), studyId],
  );
  const marked = tx as MarkedTransaction;
  marked.wroteOutbox = true;
  marked.wroteEvents = true;
}
