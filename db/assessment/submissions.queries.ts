import { summarySource } from '../scheduling/effective-status.js';
import { toPlainArray, toTextArray, linesAt } from '../client/sets/text-arrays.js';
import { prepared } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface TaskRow {
  session_id: string;
  task: string;
  study_id: string;
  local_id: string | null;
  module_id: string | null;
  summary: unknown;
  computed_summary: unknown;
  summary_difference: unknown;
  quality_flags: unknown;
  warnings: unknown;
  trial_count: number;
  content_hash: string;
}
const TYPES = {
  session_id: 'uuid',
  task: 'text',
  study_id: 'uuid',
  local_id: 'text',
  module_id: 'uuid',
  summary: 'jsonb',
  computed_summary: 'jsonb',
  summary_difference: 'jsonb',
  quality_flags: 'jsonb',
  warnings: 'jsonb',
  trial_count: 'integer',
  content_hash: 'text',
} as const satisfies Record<keyof TaskRow, string>;
const COLUMNS = Object.keys(TYPES) as (keyof TaskRow)[];
const isJson = (column: keyof TaskRow): boolean => TYPES[column] === 'jsonb';
// The database parses a thousand rows of one JSON document as slowly as it inserts them.
const INSERT = `insert into session_tasks (${COLUMNS.join(', ')}, submitted_at)
  select ${COLUMNS.map((column) => `n.${column}${isJson(column) ? '::jsonb' : ''}`).join(', ')}, now()
  from unnest(${COLUMNS.map((column, i) => (isJson(column) ? linesAt(i + 1) : `$${i + 1}::${TYPES[column]}[]`)).join(
    ', ',
  )}) as n(${COLUMNS.join(', ')})`;

export async function insertTasks(tx: Tx, rows: readonly TaskRow[]): Promise<void> {
  if (rows.length > 0) await insertTaskValues(tx, taskValues(rows));
}

/** Rows as the values of their statement, for `insertTaskValues`. */
export const taskValues = (rows: readonly TaskRow[]): unknown[] =>
  COLUMNS.map((column) => {
    if (isJson(column)) return toTextArray(rows.map((row) => JSON.stringify(row[column])));
    if (TYPES[column] === 'text') return rows.map((row) => row[column]);
    return toPlainArray(rows.map((row) => row[column] as string | number | null));
  });

export const insertTaskValues = (tx: Tx, values: readonly unknown[]): Promise<unknown> => prepared(tx, INSERT, values);

/** The hash of each task's content that these sessions have, by session and task. */
export async function taskHashes(
  tx: Tx,
  sessionIds: readonly string[],
): Promise<{ session_id: string; task: string; content_hash: string; local_id: string | null }[]> {
  return prepared(
    tx,
    'select session_id, task, content_hash, local_id from session_tasks where session_id = any($1::uuid[])',
    [[...sessionIds]],
  );
}

export interface TaskRecord extends Omit<TaskRow, 'session_id' | 'study_id'> {
  summary_source: 'client' | 'computed';
  submitted_at: string;
}

/** The received parts of each task of a session, by name. */
export async function arrivedTasks(
  tx: Tx,
  sessionId: string,
): Promise<{ task: string; trials: number; checksum: string; submitted_at: string }[]> {
  return prepared(
    tx,
    `select task, trial_count as trials, content_hash as checksum, submitted_at from session_tasks where session_id = $1
      order by task`,
    [sessionId],
  );
}

/** The results of each task of a session, by name. */
export async function tasksOfSession(tx: Tx, sessionId: string): Promise<TaskRecord[]> {
  return tx('session_tasks as t')
    .where({ session_id: sessionId })
    .orderBy('task')
    .select(
      'task',
      'local_id',
      'module_id',
      'summary',
      'computed_summary',
      'summary_difference',
      'quality_flags',
      'warnings',
      'trial_count',
      'content_hash',
      'submitted_at',
      tx.raw(`${summarySource('t')} as summary_source`),
    );
}

export async function deleteTask(tx: Tx, sessionId: string, task: string): Promise<void> {
  await tx('session_tasks').where({ session_id: sessionId, task }).delete();
}

interface ModuleListRow {
  tasks: string[];
  names: string[];
  ids: string[];
}
/**
 * A module of another version or battery: how many modules of its task that one has, its number among these, and how
 * many have its name.
 */
export interface OtherModuleRow {
  id: string;
  task: string;
  name: string;
  alike: number;
  number: number;
  namesakes: number;
}
export interface KnownModulesRow extends ModuleListRow {
  /** Forms that only other versions have: of each the nearest version, later ones first. */
  others: OtherModuleRow[];
}
/** Each module of versions of batteries, with what distinguishes it there from others of its task. */
const distinguished = (which: string): string =>
  `select *, count(*) over (partition by battery_id, version, task) as alike,
     row_number() over (partition by battery_id, version, task order by position) as number,
     count(*) over (partition by battery_id, version, name) as namesakes
   from battery_modules where ${which}`;
const OTHER = `jsonb_build_object('id', id, 'task', task, 'name', name, 'alike', alike, 'number', number,
  'namesakes', namesakes)`;

/** Task, name and id of each module of the session's battery version, in order. */
export async function modulesOfSession(tx: Tx, batteryId: number, version: number): Promise<KnownModulesRow> {
  const [modules] = await prepared<KnownModulesRow>(
    tx,
    `with m as (${distinguished('battery_id = $1')}),
       own as (select * from m where version = $2),
       others as (select distinct on (id, task, name) *, abs(version - $2) as away from m
         where (id, task, name) not in (select id, task, name from own)
         order by id, task, name, version > $2 desc, abs(version - $2))
     select coalesce(jsonb_agg(task order by position), '[]') as tasks,
      coalesce(jsonb_agg(name order by position), '[]') as names,
      coalesce(jsonb_agg(id order by position), '[]') as ids,
      (select coalesce(jsonb_agg(${OTHER} order by version > $2 desc, away, id), '[]') from others) as others
      from own`,
    [batteryId, version],
  );
  return modules!;
}

/** The modules of the study's other batteries, each form by the newest version that has it. */
export async function modulesOfStudy(tx: Tx, studyId: string, exceptBattery: number | null): Promise<OtherModuleRow[]> {
  const [found] = await prepared<{ others: OtherModuleRow[] }>(
    tx,
    `with others as (select distinct on (id, task, name) * from (${distinguished('study_id = $1')}) m
         where battery_id is distinct from $2 order by id, task, name, version desc)
     select coalesce(jsonb_agg(${OTHER} order by version desc, id), '[]') as others from others`,
    [studyId, exceptBattery],
  );
  return found!.others;
}
