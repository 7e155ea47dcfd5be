import { chunk } from '../../client/sets/chunk.js';
import { carriedTrace } from '../../client/trace-context.js';
import { asClaimed } from './claims.js';
import type { Importing } from './claims.js';
import type { StudyDocument } from './document.js';
import { NewIds } from './ids.js';
import { studyTables } from './tables.js';
import { execute, query } from '../../client/query.js';
import type { MarkedTransaction } from '../../client/marked-transaction.js';
import type { Tx } from '../../client/database.js';

type Row = Record<string, unknown>;
const BATCH = 500;
/** A day or an instant that no column holds. */
export class UnreadableDate extends Error {
  constructor(readonly path: string) {
    super(`${path} is not within the years 0001 to 9999`);
  }
}

/** Whether there is nothing in a study that a load would meet. */
export async function studyIsEmpty(tx: Tx, studyId: string): Promise<boolean> {
  // A study has its first policy from the start.
  const tables = studyTables.map(({ name }) => name).filter((name) => name !== 'enrollment_policies');
  const rows = await query<{ empty: boolean }>(
    tx,
    `select not (${tables.map((name) => `exists (select from ${name} where study_id = $1)`).join(' or ')}) as empty`,
    [studyId],
  );
  return rows[0]!.empty;
}

/**
 * Loads a document's rows into an empty study, with new ids. The workflows of its participants are started afterwards.
 * @param values of the capture system's configuration, in place of the secrets that stay behind; who imports
 * @returns how many rows of each table, and batteries that were named and are not in the document
 * @throws UnreadableDate, ForeignReference
 */
export async function loadStudy(
  tx: Tx,
  studyId: string,
  document: StudyDocument,
  values: { datacapture: Row; importing: Importing },
): Promise<{ loaded: Record<string, number>; unknownBatteries: readonly number[] }> {
  // Visits bring their history with them (0018-exports).
  await execute(tx, `select set_config('app.loading_study', $1, true)`, [studyId]);
  await requireYears(tx, document);
  const ids = new NewIds(document, studyId);
  const people = await knownUsers(tx, document);
  const loaded: Record<string, number> = {};
  await tx('enrollment_policies').where({ study_id: studyId }).delete();
  for (const { name, batch = BATCH, without = [] } of studyTables) {
    // What no export carries, no document brings.
    const brought = ids
      .rowsOf(name)
      .map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !without.includes(column))));
    const rows = brought.map((row) =>
      settled(studyId, name, asClaimed(name, row, values.importing), people, values.datacapture, document),
    );
    loaded[name] = rows.length;
    if (name === 'batteries') await loadBatteries(tx, rows, ids, document);
    else if (name === 'visit_states')
      await inBatches(rows, batch, (some) =>
        execute(tx, 'select load_visit_states($1::jsonb)', [JSON.stringify(some)]),
      );
    else {
      // With its visits the database has planned their reminders; the document brings what became of them.
      if (name === 'notifications') await tx('notifications').where({ study_id: studyId }).delete();
      await insert(tx, name, rows, batch);
    }
  }
  await execute(tx, `select set_config('app.loading_study', '', true)`);
  await execute(
    tx,
    `insert into outbox (topic, study_id, subject, payload, patient)
     select 'participant-start', study_id, id::text, jsonb_build_object('site_id', site_id) || $1::jsonb, true from participants where study_id = $2 and status = 'enrolled'`,
    [JSON.stringify(carriedTrace()), studyId],
  );
  (tx as MarkedTransaction).wroteOutbox = true;
  return { loaded, unknownBatteries: ids.unknownBatteries };
}

/** The database has no year 0, and would say so without naming the row. */
async function requireYears(tx: Tx, { tables }: StudyDocument): Promise<void> {
  const rows = await query<{ table: string; columns: string[] }>(
    tx,
    `select c.relname as table, array_agg(a.attname::text) as columns from pg_attribute a join pg_class c on c.oid = a.attrelid
     where a.attrelid = any ($1::text[]::regclass[]) and a.attnum > 0 and a.atttypid = any ('{date,date[],timestamptz,timestamptz[]}'::regtype[]) group by 1`,
    [studyTables.map(({ name }) => name)],
  );
  for (const { table, columns } of rows) {
    for (const [i, row] of (tables[table] ?? []).entries()) {
      const column = columns.find((name) =>
        [row[name]].flat().some((value) => typeof value === 'string' && value.startsWith('0000-')),
      );
      if (column !== undefined) throw new UnreadableDate(`tables.${table}.${i}.${column}`);
    }
  }
}

/** References to users that the database insists on. */
const USER_COLUMNS = ['confirmed_by_id', 'waiver_approved_by_id', 'signed_by_id', 'author_id', 'user_id'];

/** Of the users that a document names those that are known here. */
async function knownUsers(tx: Tx, { tables }: StudyDocument): Promise<Set<string>> {
  const named = new Set(
    Object.values(tables).flatMap((rows) =>
      rows.flatMap((row) => USER_COLUMNS.flatMap((column) => (typeof row[column] === 'string' ? [row[column]] : []))),
    ),
  );
  return new Set(
    await tx('users')
      .whereRaw('id = any(?::uuid[])', [[...named]])
      .pluck<string[]>('id'),
  );
}

/**
 * A row as it stands here: what waited there to be done is not done again from here, and users of another service are
 * nobody.
 */
function settled(
  studyId: string,
  table: string,
  row: Row,
  people: ReadonlySet<string>,
  datacapture: Row,
  { tables }: StudyDocument,
): Row {
  const users = Object.fromEntries(
    USER_COLUMNS.filter((column) => typeof row[column] === 'string' && !people.has(row[column])).map((column) => [
      column,
      null,
    ]),
  );
  const own = { ...row, ...users, study_id: studyId };
  if (table === 'notifications') {
    // A reminder stays planned; a message whose process ran elsewhere is not sent from here. A key that bears no id of
    // the study is taken.
    const kept = (tables.notifications ?? []).some(({ dedupe_key }) => dedupe_key === row.dedupe_key);
    return {
      ...own,
      ...(kept && { dedupe_key: null }),
      ...(row.status === 'pending' && row.visit_key == null && { status: 'cancelled', reason: 'study_imported' }),
    };
  }
  if (table === 'webhook_events' && (row.status === 'received' || row.status === 'processing'))
    return { ...own, status: 'failed', error: 'NOT_PROCESSED_BEFORE_EXPORT' };
  if (table === 'datacapture_configs') return { ...own, ...datacapture };
  return own;
}

async function loadBatteries(tx: Tx, rows: readonly Row[], ids: NewIds, { tables }: StudyDocument): Promise<void> {
  await insert(
    tx,
    'batteries',
    rows.map(({ id: _id, ...row }) => row),
    BATCH,
  );
  for (const { id, code } of tables.batteries ?? []) {
    const made = await tx('batteries')
      .where({ study_id: String(rows[0]!.study_id), code: String(code) })
      .first<{ id: number }>('id');
    ids.battery(Number(id), made.id);
  }
}

/** Columns that rows of this table may bring: those that it has, and that the database does not number itself. */
async function columnsOf(tx: Tx, table: string, rows: readonly Row[]): Promise<string[]> {
  const found = await query<{ attname: string }>(
    tx,
    `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity <> 'a' and attgenerated = ''`,
    [table],
  );
  const given = new Set(rows.flatMap((row) => Object.keys(row)));
  return found.map(({ attname }) => attname).filter((name) => given.has(name));
}

async function insert(tx: Tx, table: string, rows: readonly Row[], batch: number): Promise<void> {
  if (rows.length === 0) return;
  const list = (await columnsOf(tx, table, rows)).map((column) => `"${column}"`).join(', ');
  await inBatches(rows, batch, (some) =>
    execute(
      tx,
      `insert into ${table} (${list}) select ${list} from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [JSON.stringify(some)],
    ),
  );
}

async function inBatches(
  rows: readonly Row[],
  batch: number,
  work: (some: Row[]) => PromiseLike<unknown>,
): Promise<void> {
  for (const some of chunk(rows, batch)) await work(some);
}
