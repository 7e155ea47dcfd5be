import type { Tx } from '../knex.js';
import { asLines, linesAt } from '../lines.js';
import { prepared } from '../prepared.js';

/** A raw trial as it is stored and read back. */
export interface StoredTrial { task: string; trial_index: number; rt: number | null; correct: boolean | null; timestamp: string; data?: Record<string, unknown> }
export interface TrialsOf { session_id: string; study_id: string; task: string; trials: readonly { trial_index: number; rt: number | null; correct: boolean | null; timestamp: string; data?: Record<string, unknown> | undefined }[] }

/** Trials of one row: small enough to read back in pieces, large enough that a usual task is a single row. */
export const CHUNK = 1_000;
/** Trials of one statement: bounds the memory of a submission of 50,000. */
const TRIALS = 10_000;

// A value of an array column is text until it is there: arrays of several lengths are no array of arrays.
const INSERT = `insert into raw_trial_chunks (session_id, task, chunk, study_id, trials, trial_index, rt, correct, at, data)
  select n.session_id, n.task, n.chunk, n.study_id, n.trials, n.trial_index::integer[], n.rt::double precision[], n.correct::boolean[], n.at::timestamptz[], nullif(n.data, '')::jsonb
  from unnest($1::uuid[], $2::text[], $3::integer[], $4::uuid[], $5::integer[], ${[6, 7, 8, 9, 10].map(linesAt).join(', ')})
    as n(session_id, task, chunk, study_id, trials, trial_index, rt, correct, at, data)`;

type ChunkRow = readonly [sessionId: string, task: string, chunk: number, studyId: string, trials: number, index: string, rt: string, correct: string, at: string, data: string];

/** Writes trials as columns of values, in the order given: a thousand trials of a task are one row. */
export async function insertTrials(tx: Tx, sets: readonly TrialsOf[]): Promise<void> {
  let rows: ChunkRow[] = [];
  let trials = 0;
  for (const set of sets) {
    for (let from = 0; from < set.trials.length; from += CHUNK) {
      const row = chunkRow(set, from);
      rows.push(row);
      trials += row[4];
      if (trials < TRIALS) continue;
      await insertChunks(tx, rows);
      [rows, trials] = [[], 0];
    }
  }
  if (rows.length > 0) await insertChunks(tx, rows);
}

const insertChunks = (tx: Tx, rows: readonly ChunkRow[]): Promise<unknown> => prepared(tx, INSERT, Array.from({ length: 10 }, (_, column) => {
  const values = rows.map((row) => row[column]!);
  return column < 5 ? values : asLines(values as string[]);
}));

function chunkRow({ session_id, study_id, task, trials: all }: TrialsOf, from: number): ChunkRow {
  const trials = all.slice(from, from + CHUNK);
  const data = trials.some((trial) => trial.data !== undefined) ? JSON.stringify(trials.map((trial) => trial.data ?? null)) : '';
  // Arrays in the text form of PostgreSQL, which reads `null` as its own; no number, boolean or instant holds a comma or a quote.
  let index = '', rt = '', correct = '', at = '', comma = '{';
  for (const trial of trials) {
    index += comma + trial.trial_index;
    rt += comma + trial.rt;
    correct += comma + trial.correct;
    at += comma + trial.timestamp;
    comma = ',';
  }
  return [session_id, task, from / CHUNK, study_id, trials.length, `${index}}`, `${rt}}`, `${correct}}`, `${at}}`, data];
}

export async function deleteTrials(tx: Tx, sessionId: string, task: string): Promise<void> {
  await tx('raw_trial_chunks').where({ session_id: sessionId, task }).delete();
}

export interface TrialCursor { task: string; chunk: number }

/**
 * The next piece of a session's trials after `cursor`, tasks by name, each in the order it was sent; at most a
 * thousand. Undefined at the end.
 */
export async function nextTrials(tx: Tx, sessionId: string, cursor: TrialCursor | null, task?: string): Promise<{ cursor: TrialCursor; trials: StoredTrial[] } | undefined> {
  const { rows } = await tx.raw(
    `select task, chunk, trial_index, rt, correct, to_json(at) as at, data from raw_trial_chunks
     where session_id = ? ${cursor ? 'and (task, chunk) > (?, ?)' : ''} ${task === undefined ? '' : 'and task = ?'} order by task, chunk limit 1`,
    [sessionId, ...(cursor ? [cursor.task, cursor.chunk] : []), ...(task === undefined ? [] : [task])]);
  const row = rows[0] as { task: string; chunk: number; trial_index: number[]; rt: (number | null)[]; correct: (boolean | null)[]; at: string[]; data: (Record<string, unknown> | null)[] | null } | undefined;
  if (!row) return undefined;
  return {
    cursor: { task: row.task, chunk: row.chunk },
    trials: row.trial_index.map((trial_index, i) => ({
      task: row.task, trial_index, rt: row.rt[i]!, correct: row.correct[i]!, timestamp: utc(row.at[i]!), ...(row.data?.[i] && { data: row.data[i] }),
    })),
  };
}

/** '2026-01-05T10:00:00.5+00:00' → '2026-01-05T10:00:00.500Z'. */
function utc(value: string): string {
  const [whole, fraction = ''] = value.replace(/(\+00:00|\+00|Z)$/, '').split('.');
  return `${whole}.${fraction.padEnd(3, '0')}Z`;
}

/** The same as a row a trial, for exports and reports: `select … from (rows of this) x`. Seen in the transaction's scope. */
export const TRIAL_ROWS = `select c.session_id, c.study_id, c.task, c.chunk * ${CHUNK} + t.n as seq, t.trial_index, t.rt, t.correct, t.at, c.data->(t.n - 1)::integer as data
  from raw_trial_chunks c cross join lateral unnest(c.trial_index, c.rt, c.correct, c.at) with ordinality as t(trial_index, rt, correct, at, n)`;
