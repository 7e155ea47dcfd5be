import type pg from 'pg';
import { acquire, release, sendAll } from './connection/connection.js';
import type { Database } from './database.js';
import type { Tx } from './database.js';

/** A parameter of a statement; the driver serializes it. */
export type Value = string | number | boolean | null | readonly string[];

/**
 * One statement with `$1, $2 …` for its values. Its text is constant, never made from values.
 * `customPlan`: the database plans it for its actual values each time.
 */
export interface Statement {
  sql: string;
  values: readonly Value[];
  customPlan?: boolean;
}

/** A name for each text, for the life of the process: every connection parses and plans it once. */
const names = new Map<string, string>();
function nameOf(text: string): string {
  let name = names.get(text);
  if (!name) names.set(text, (name = `s${names.size + 1}`));
  return name;
}

/** A statement in the driver's form. */
export const configOf = ({ sql, values, customPlan }: Statement): pg.QueryConfig<unknown[]> => ({
  text: sql,
  values: values as unknown[],
  ...(!customPlan && { name: nameOf(sql) }),
});

/**
 * Runs a statement, with `$1, $2 …` for its values. The database plans it for its actual values.
 * @returns its rows
 */
export const query = async <Row>(db: Database | Tx, sql: string, values: readonly unknown[] = []): Promise<Row[]> =>
  (await run(db, { text: sql, values: values as unknown[] })).rows as Row[];

/** Runs a statement as `query` does. @returns how many rows it wrote */
export const execute = async (db: Database | Tx, sql: string, values: readonly unknown[] = []): Promise<number> =>
  (await run(db, { text: sql, values: values as unknown[] })).rowCount ?? 0;

/**
 * Runs a statement that each connection plans once. For statements of the hot paths: planning under row-level security
 * costs as much as running them (listing a page of participants 0.8 of 1.6 ms, accepting a trigger three quarters).
 * `sql` must be one of a fixed set: it is cached.
 */
export const prepared = async <Row>(db: Database | Tx, sql: string, values: readonly unknown[]): Promise<Row[]> =>
  (await run(db, { name: nameOf(sql), text: sql, values: values as unknown[] })).rows as Row[];

async function run(db: Database | Tx, config: pg.QueryConfig<unknown[]>): Promise<pg.QueryResult> {
  const connection = await acquire(db);
  try {
    return await connection.query<Record<string, unknown>, unknown[]>(config);
  } finally {
    await release(db, connection);
  }
}

const PLANS_OF_BEFORE = `select set_config('plan_cache_mode', 'force_generic_plan', true),
  set_config('max_parallel_workers_per_gather', '1', true)`;
const FEW_HELPERS = `select set_config('max_parallel_workers_per_gather', '1', true)`;
/** Null resets to the session's setting. */
const AS_USUAL = `select set_config('plan_cache_mode', null, true), set_config('max_parallel_workers_per_gather', null,
  true)`;

/**
 * Runs several statements in one round trip of an open transaction. For statements that run faster than they are
 * planned: only these use cached plans from the first time on (see transaction.ts). Each has at most one parallel
 * worker: with two, a table scan takes longer on two processors, and leaves none to others on three.
 */
export async function queryAll<Rows extends readonly unknown[]>(
  tx: Tx,
  statements: { [K in keyof Rows]: Statement },
): Promise<{ [K in keyof Rows]: Rows[K][] }> {
  const { configs, rowsOf } = withSettings(statements as readonly Statement[], 'back');
  return rowsOf(await sendAll(await acquire(tx), configs)) as { [K in keyof Rows]: Rows[K][] };
}

/** `queryAll` in a transaction that sets the planning of its statements itself (`withStudyScope`, `one`). */
export async function queryAllAsPlanned(tx: Tx, statements: readonly Statement[]): Promise<unknown[][]> {
  return (await sendAll(await acquire(tx), statements.map(configOf))).map(({ rows }) => rows);
}

/**
 * Statements preceded by the settings of `queryAll`, in the driver's form; `rowsOf` finds their rows. `back`: the
 * transaction continues without these settings.
 */
export function withSettings(
  statements: readonly Statement[],
  after?: 'back',
): {
  configs: pg.QueryConfig<unknown[]>[];
  rowsOf: (answers: readonly pg.QueryResult[]) => unknown[][];
} {
  const settings = statements.some(({ customPlan }) => customPlan) ? FEW_HELPERS : PLANS_OF_BEFORE;
  return {
    configs: [prepare(settings), ...statements.map(configOf), ...(after ? [prepare(AS_USUAL)] : [])],
    rowsOf: (answers) => answers.slice(1, 1 + statements.length).map(({ rows }) => rows as unknown[]),
  };
}

const prepare = (sql: string) => configOf({ sql, values: [] });
