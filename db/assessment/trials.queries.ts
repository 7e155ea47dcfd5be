import { booleans, doubles, instants, integers } from '../client/sets/binary-arrays.js';
import { toPlainArray, toTextArray, linesAt } from '../client/sets/text-arrays.js';
import { prepared } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** A raw trial as stored and read back. */
export interface StoredTrial {
  task: string;
  trial_index: number;
  rt: number | null;
  correct: boolean | null;
  timestamp: string;
  data?: Record<string, unknown>;
  practice?: boolean;
}
interface Trial {
  trial_index: number;
  rt: number | null;
  correct: boolean | null;
  timestamp: string;
  data?: Record<string, unknown> | null | undefined;
  practice?: boolean | null | undefined;
}
/** Trials of a task; `at`: milliseconds since 1970 of each; `data`: the JSON of each one's, or null. */
export interface TrialsOf {
  session_id: string;
  study_id: string;
  task: string;
  trials: readonly Trial[];
  at: readonly number[];
  data: readonly (string | null)[];
  /** Every instant is one in whole milliseconds: `at` is its whole value. */
  whole: boolean;
}

/** Trials in one row: few enough to read back in pieces, many enough that a usual task is a single row. */
export const CHUNK = 1_000;
/** Trials in one statement, and characters of their data: limits the memory of a submission of 50,000. */
const TRIALS = 10_000,
  LETTERS = 1024 * 1024;

// Each column's values are one array, from which a row takes its slice.
const INSERT = `insert into raw_trial_chunks (session_id, task, chunk, study_id, trials, trial_index, rt, correct, at,
  data, practice)
  select n.session_id, n.task, n.chunk, n.study_id, n.trials,
    ${['integer', 'double precision', 'boolean', 'timestamptz']
      .map((type, i) => `($${i + 8}::${type}[])[n.first:n.first + n.trials - 1]`)
      .join(', ')},
    nullif(n.data, '')::jsonb,
    case when n.practised then ($12::boolean[])[n.first:n.first + n.trials - 1] end
  from unnest($1::uuid[], $2::text[], $3::integer[], $4::uuid[], $5::integer[], $6::integer[], $13::boolean[],
    ${linesAt(7)}) as n(session_id, task, chunk, study_id, trials, first, practised, data)`;

/**
 * An instant in whole milliseconds, of a year that both calendars write alike: its milliseconds are its whole value.
 */
const USUAL = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/;

/** Writes trials as columns of values, in the order given: a thousand trials of a task are one row. */
export async function insertTrials(tx: Tx, sets: readonly TrialsOf[]): Promise<void> {
  for (const values of trialInserts(sets)) await insertChunks(tx, values);
}

/** The values of each statement that writes these trials, for `insertChunks`. */
export function* trialInserts(sets: readonly TrialsOf[]): Generator<unknown[]> {
  let rows: Chunk[] = [];
  let trials = 0,
    letters = 0;
  for (const set of sets) {
    for (let from = 0; from < set.trials.length; from += CHUNK) {
      rows.push({ set, from, first: trials + 1, trials: Math.min(CHUNK, set.trials.length - from) });
      trials += rows.at(-1)!.trials;
      for (const text of set.data.slice(from, from + CHUNK)) letters += text?.length ?? 0;
      if (trials < TRIALS && letters < LETTERS) continue;
      yield valuesOf(rows);
      [rows, trials, letters] = [[], 0, 0];
    }
  }
  if (rows.length > 0) yield valuesOf(rows);
}

export const insertChunks = (tx: Tx, values: readonly unknown[]): Promise<unknown> => prepared(tx, INSERT, values);

/** A slice of a set; in a statement's arrays it begins at `first`, counted from 1. */
interface Chunk {
  set: TrialsOf;
  from: number;
  first: number;
  trials: number;
}

function valuesOf(rows: readonly Chunk[]): unknown[] {
  // One list after the other: the engine flattens a list of lists ten times as slowly.
  const all: Trial[] = [];
  for (const { set, from, trials } of rows) for (let i = from; i < from + trials; i++) all.push(set.trials[i]!);
  const data = rows.map(({ set, from, trials }) => {
    const texts = set.data.slice(from, from + trials);
    return texts.some((text) => text !== null) ? `[${texts.map((text) => text ?? 'null').join(',')}]` : '';
  });
  const practised = rows.map(({ first, trials }) => {
    for (let i = first - 1; i < first - 1 + trials; i++) if (all[i]!.practice != null) return true;
    return false;
  });
  return [
    toPlainArray(rows.map(({ set }) => set.session_id)),
    rows.map(({ set }) => set.task),
    toPlainArray(rows.map(({ from }) => from / CHUNK)),
    toPlainArray(rows.map(({ set }) => set.study_id)),
    toPlainArray(rows.map(({ trials }) => trials)),
    toPlainArray(rows.map(({ first }) => first)),
    toTextArray(data),
    integers(all.map(({ trial_index }) => trial_index)),
    doubles(all.map(({ rt }) => rt)),
    booleans(all.map(({ correct }) => correct)),
    instantsOf(all, rows),
    // Read of rows with practice alone.
    booleans(practised.includes(true) ? all.map(({ practice }) => practice ?? false) : []),
    practised,
  ];
}

/**
 * Instants finer than a millisecond, or in another notation, are parsed by the database: no instant has a comma or
 * quote.
 */
function instantsOf(all: readonly Trial[], rows: readonly Chunk[]): Buffer | string {
  if (!rows.every(({ set }) => set.whole) && !all.every(({ timestamp }) => USUAL.test(timestamp)))
    return `{${all.map(({ timestamp }) => timestamp).join(',')}}`;
  const at: number[] = [];
  for (const { set, from, trials } of rows) for (let i = from; i < from + trials; i++) at.push(set.at[i]!);
  return instants(at);
}

export async function deleteTrials(tx: Tx, sessionId: string, task: string): Promise<void> {
  await tx('raw_trial_chunks').where({ session_id: sessionId, task }).delete();
}

export interface TrialCursor {
  task: string;
  chunk: number;
}

/**
 * The next page of a session's trials after `cursor`: tasks by name, each in the order it was sent, at most a thousand.
 * Undefined at the end.
 */
export async function nextTrials(
  tx: Tx,
  sessionId: string,
  cursor: TrialCursor | null,
  task?: string,
): Promise<{ cursor: TrialCursor; trials: StoredTrial[] } | undefined> {
  const found = tx('raw_trial_chunks')
    .where({ session_id: sessionId, ...(task !== undefined && { task }) })
    .orderBy(['task', 'chunk']);
  if (cursor) void found.whereRaw('(task, chunk) > (?, ?)', [cursor.task, cursor.chunk]);
  const row = (await found.first(
    'task',
    'chunk',
    'trial_index',
    'rt',
    'correct',
    tx.raw('to_json(at) as at'),
    'data',
    'practice',
  )) as
    | {
        task: string;
        chunk: number;
        trial_index: number[];
        rt: (number | null)[];
        correct: (boolean | null)[];
        at: string[];
        data: (Record<string, unknown> | null)[] | null;
        practice: boolean[] | null;
      }
    | undefined;
  if (!row) return undefined;
  return {
    cursor: { task: row.task, chunk: row.chunk },
    trials: row.trial_index.map((trial_index, i) => ({
      task: row.task,
      trial_index,
      rt: row.rt[i]!,
      correct: row.correct[i]!,
      timestamp: utc(row.at[i]!),
      ...(row.data?.[i] && { data: row.data[i] }),
      ...(row.practice?.[i] && { practice: true }),
    })),
  };
}

/** '2026-01-05T10:00:00.5+00:00' → '2026-01-05T10:00:00.500Z'. */
function utc(value: string): string {
  const [whole, fraction = ''] = value.replace(/(\+00:00|\+00|Z)$/, '').split('.');
  return `${whole}.${fraction.padEnd(3, '0')}Z`;
}

/**
 * The same with one row for each trial, for exports and reports: `select … from (rows of this) x`, in the transaction's
 * scope.
 */
export const TRIAL_ROWS = `select c.session_id, c.study_id, c.task, c.chunk * ${CHUNK} + t.n as seq, t.trial_index,
  t.rt, t.correct, t.at, c.data->(t.n - 1)::integer as data, coalesce(c.practice[t.n], false) as practice
  from raw_trial_chunks c cross join lateral unnest(c.trial_index, c.rt, c.correct, c.at)
    with ordinality as t(trial_index, rt, correct, at, n)`;
