import { CAPTURE_DEFAULTS } from './batteries.js';
import { asClaimed } from './claims.js';
import type { ImportClaim } from './claims.js';
import type { StudyDocument } from './document.js';
import { NewIds } from './ids.js';
import { studyTables } from './tables.js';
import type { Value } from '../../client/query.js';

type Row = Record<string, unknown>;
const BATCH = 500;
/** Characters of rows in one statement: small enough to be sent quickly. */
const BATCH_LETTERS = 1024 * 1024;
/** Runs a statement. @returns its rows */
export type Ask = <Found>(sql: string, values: readonly Value[]) => Promise<Found[]>;
/** A date or instant that no column can store. */
export class UnreadableDate extends Error {
  constructor(readonly path: string) {
    super(`${path} is not within the years 0001 to 9999`);
  }
}
/** A value that this service has no column for: the document is of a newer release, and the value would be lost. */
export class UnknownColumn extends Error {}

/**
 * Loads a document's rows into an empty study, with new ids. The workflows of its participants are started afterwards.
 * The work between two statements is long: it runs in its own thread.
 * @param values of the capture system's configuration, in place of the secrets that are not exported; and the importer
 * @returns the number of rows of each table, and named batteries that are not in the document
 * @throws UnreadableDate, UnknownColumn, ForeignReference
 */
export async function loadStudyDocument(
  ask: Ask,
  studyId: string,
  document: StudyDocument,
  values: { datacapture: Row; importing: ImportClaim },
): Promise<{ loaded: Record<string, number>; unknownBatteries: readonly number[] }> {
  // The document contains the history of visits (0018-exports).
  await ask(`select set_config('app.loading_study', $1, true)`, [studyId]);
  await requireColumns(ask, document);
  await requireYears(ask, document);
  const ids = new NewIds(document, studyId);
  const people = await knownUsers(ask, document);
  const kept = new Set((document.tables.notifications ?? []).map(({ dedupe_key }) => dedupe_key));
  const loaded: Record<string, number> = {};
  await ask('delete from enrollment_policies where study_id = $1', [studyId]);
  for (const { name, batch = BATCH, without = [] } of studyTables) {
    // Columns that exports leave out are not imported.
    const brought = ids
      .rowsOf(name)
      .map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !without.includes(column))));
    const rows = brought.map((row) =>
      settled(studyId, name, asClaimed(name, row, values.importing), people, values.datacapture, kept),
    );
    loaded[name] = rows.length;
    if (name === 'batteries') {
      await loadBatteries(ask, rows, ids, document);
      await loadCaptureDefaults(ask, studyId, ids, document);
    } else if (name === 'visit_states')
      await inBatches(rows, batch, (some) => ask('select load_visit_states($1::jsonb)', [some]));
    else {
      // The database plans reminders with the visits; the document has the actual ones.
      if (name === 'notifications') await ask('delete from notifications where study_id = $1', [studyId]);
      await insert(ask, name, rows, batch);
    }
  }
  await ask(`select set_config('app.loading_study', '', true)`, []);
  return { loaded, unknownBatteries: ids.unknownBatteries };
}

/** Columns that the database computes or numbers itself are known too: it gives them new values. */
async function requireColumns(ask: Ask, { study, tables }: StudyDocument): Promise<void> {
  const known = await ask<{ table: string; columns: string[] }>(
    `select c.relname as table, array_agg(a.attname::text) as columns from pg_attribute a
      join pg_class c on c.oid = a.attrelid
     where a.attrelid = any ($1::text[]::regclass[]) and a.attnum > 0 and not a.attisdropped group by 1`,
    [['studies', ...studyTables.map(({ name }) => name)]],
  );
  for (const { table, columns } of known) {
    const names = new Set(columns);
    for (const row of table === 'studies' ? [study as Row] : (tables[table] ?? []))
      for (const [name, value] of Object.entries(row))
        if (value !== null && !names.has(name))
          throw new UnknownColumn(`${table === 'studies' ? 'study' : `tables.${table}`}.${name.slice(0, 60)}`);
  }
}

/** The database has no year 0, and its error would not name the row. */
async function requireYears(ask: Ask, { tables }: StudyDocument): Promise<void> {
  const rows = await ask<{ table: string; columns: string[] }>(
    `select c.relname as table, array_agg(a.attname::text) as columns from pg_attribute a
      join pg_class c on c.oid = a.attrelid
     where a.attrelid = any ($1::text[]::regclass[]) and a.attnum > 0
       and a.atttypid = any ('{date,date[],timestamptz,timestamptz[]}'::regtype[]) group by 1`,
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

/** Mandatory references to users. */
const USER_COLUMNS = ['confirmed_by_id', 'waiver_approved_by_id', 'signed_by_id', 'author_id', 'user_id'];

/** The document's users that exist here. */
async function knownUsers(ask: Ask, { tables }: StudyDocument): Promise<Set<string>> {
  const named = new Set(
    Object.values(tables).flatMap((rows) =>
      rows.flatMap((row) => USER_COLUMNS.flatMap((column) => (typeof row[column] === 'string' ? [row[column]] : []))),
    ),
  );
  const rows = await ask<{ id: string }>('select id from users where id = any($1::uuid[])', [[...named]]);
  return new Set(rows.map(({ id }) => id));
}

/** A row as stored here: pending work is not done again, and users of another service become null. */
function settled(
  studyId: string,
  table: string,
  row: Row,
  people: ReadonlySet<string>,
  datacapture: Row,
  keys: ReadonlySet<unknown>,
): Row {
  const users = Object.fromEntries(
    USER_COLUMNS.filter((column) => typeof row[column] === 'string' && !people.has(row[column])).map((column) => [
      column,
      null,
    ]),
  );
  const own = { ...row, ...users, study_id: studyId };
  if (table === 'notifications') {
    // A reminder stays planned; a message whose process ran elsewhere is not sent from here. A dedupe key that is
    // already taken becomes null.
    return {
      ...own,
      ...(keys.has(row.dedupe_key) && { dedupe_key: null }),
      ...(row.status === 'pending' && row.visit_key == null && { status: 'cancelled', reason: 'study_imported' }),
    };
  }
  if (table === 'webhook_events' && (row.status === 'received' || row.status === 'processing'))
    return { ...own, status: 'failed', error: 'NOT_PROCESSED_BEFORE_EXPORT' };
  if (table === 'datacapture_configs') return { ...own, ...datacapture };
  return own;
}

async function loadBatteries(ask: Ask, rows: readonly Row[], ids: NewIds, { tables }: StudyDocument): Promise<void> {
  await insert(
    ask,
    'batteries',
    rows.map(({ id: _id, ...row }) => row),
    BATCH,
  );
  for (const { id, code } of tables.batteries ?? []) {
    const [made] = await ask<{ id: number }>('select id from batteries where study_id = $1 and code = $2', [
      String(rows[0]!.study_id),
      String(code),
    ]);
    ids.battery(Number(id), made!.id);
  }
}

/** The configuration was stored with the document's batteries: here these numbers are another study's. */
async function loadCaptureDefaults(ask: Ask, studyId: string, ids: NewIds, { study }: StudyDocument): Promise<void> {
  const defaults = (study.config as Row | undefined)?.[CAPTURE_DEFAULTS];
  if (typeof defaults !== 'object' || defaults === null || Array.isArray(defaults)) return;
  await ask('update studies set config = jsonb_set(config, array[$2], $3::jsonb) where id = $1', [
    studyId,
    CAPTURE_DEFAULTS,
    JSON.stringify(ids.withLoadedBatteries(defaults as Row)),
  ]);
}

/** Columns that rows of this table may set: existing ones that the database does not number itself. */
async function columnsOf(ask: Ask, table: string, rows: readonly Row[]): Promise<string[]> {
  const found = await ask<{ attname: string }>(
    `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
      and attidentity <> 'a' and attgenerated = ''`,
    [table],
  );
  const given = new Set(rows.flatMap((row) => Object.keys(row)));
  return found.map(({ attname }) => attname).filter((name) => given.has(name));
}

async function insert(ask: Ask, table: string, rows: readonly Row[], batch: number): Promise<void> {
  if (rows.length === 0) return;
  const list = (await columnsOf(ask, table, rows)).map((column) => `"${column}"`).join(', ');
  await inBatches(rows, batch, (some) =>
    ask(`insert into ${table} (${list}) select ${list} from jsonb_populate_recordset(null::${table}, $1::jsonb)`, [
      some,
    ]),
  );
}

/** Processes so many rows at a time, as JSON, or fewer if they are long. */
async function inBatches(
  rows: readonly Row[],
  batch: number,
  work: (some: string) => PromiseLike<unknown>,
): Promise<void> {
  let texts: string[] = [],
    letters = 0;
  const flush = async () => {
    if (texts.length > 0) await work(`[${texts.join(',')}]`);
    texts = [];
    letters = 0;
  };
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (texts.length === batch || letters + text.length > BATCH_LETTERS) await flush();
    texts.push(text);
    letters += text.length;
  }
  await flush();
}
