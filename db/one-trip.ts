import type { Database, Tx } from './knex.js';
import { nameOf } from './prepared.js';

/**
 * One statement with `$1, $2 …` for its values; its text is one of a fixed set, never made from values. `anew`: it is
 * planned for its very values each time.
 */
export interface Statement {
  sql: string;
  values: readonly (string | number | null)[];
  anew?: boolean;
}

/**
 * What a transaction begins with, which says what may be seen: a text without parameters, or a statement that the
 * connection plans once.
 */
export type Opening = string | Statement;

/** The driver's connection. */
export interface Connection {
  query(text: string): Promise<{ rows: unknown[] }[]>;
  escapeLiteral(value: string): string;
}

/**
 * A whole read-only transaction in one round trip: begin, `opening`, the statement, commit. As four round trips they
 * cost a small read half of its throughput.
 */
export const readOnce = <Row>(
  database: Database,
  opening: Opening,
  statement: Statement,
): Promise<{ opened: unknown[]; rows: Row[] }> =>
  withConnection(database, async (connection) => {
    const [open, execute] = [await textOf(connection, opening), await execution(connection, statement)];
    const [, opened, found] = await inOne(connection, `begin transaction read only; ${open}; ${execute}; commit`);
    return { opened: opened!.rows, rows: found!.rows as Row[] };
  });

/** `readOnce` of several statements, as `together` runs them. */
export const readTogether = (
  database: Database,
  opening: Opening,
  statements: readonly Statement[],
): Promise<{ opened: unknown[]; found: unknown[][] }> =>
  whole(database, 'begin transaction read only', opening, statements);

/** `readTogether` that may write as well: what is committed or not, all of it, with the answer. */
export const writeTogether = async (
  database: Database,
  opening: Opening,
  statements: readonly Statement[],
): Promise<unknown[][]> => (await whole(database, 'begin transaction', opening, statements)).found;

const whole = (
  database: Database,
  begin: string,
  opening: Opening,
  statements: readonly Statement[],
): Promise<{ opened: unknown[]; found: unknown[][] }> =>
  withConnection(database, async (connection) => {
    const { sql, rowsOf } = await planned(connection, statements);
    const answers = await inOne(connection, `${begin}; ${await textOf(connection, opening)}; ${sql}; commit`);
    return { opened: answers[1]!.rows, found: rowsOf(answers.slice(0, -1)) };
  });

async function withConnection<T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = (await database.client.acquireConnection()) as Connection;
  try {
    return await work(connection);
  } finally {
    await database.client.releaseConnection(connection);
  }
}

/**
 * The rows of several statements, in one round trip of a transaction that is open. For what is sooner run than planned:
 * the plans of before are used from the first time on (see transaction.ts), by these alone. One of them has one helper
 * at most: with two, what runs through a table takes longer on two processors, and leaves none to others on three.
 */
export async function together<Rows extends readonly unknown[]>(
  tx: Tx,
  statements: { [K in keyof Rows]: Statement },
): Promise<{ [K in keyof Rows]: Rows[K][] }> {
  // The transaction's own connection, which stays with it.
  const connection = (await tx.client.acquireConnection()) as Connection;
  const { sql, rowsOf } = await planned(connection, statements as readonly Statement[]);
  return rowsOf(await connection.query(sql)) as { [K in keyof Rows]: Rows[K][] };
}

/** `together` in a transaction that is planned once as a whole (`inScope`, `one`), and stays so. */
export async function inOneTrip(tx: Tx, statements: readonly Statement[]): Promise<unknown[][]> {
  const connection = (await tx.client.acquireConnection()) as Connection;
  const { sql, rowsOf } = await planned(connection, statements, 'already');
  const answer: unknown = await connection.query(sql);
  // The driver gives a list of answers, or the one.
  return rowsOf([answer].flat() as { rows: unknown[] }[]);
}

const SETTINGS = { plan_cache_mode: 'force_generic_plan', max_parallel_workers_per_gather: '1' };
const set = Object.entries(SETTINGS).map(([name, value]) => `set local ${name} = ${value}`);
const unset = Object.keys(SETTINGS).map((name) => `set local ${name} to default`);

/**
 * Statements as one text for a transaction that is open, or that the same text opens; `rowsOf` finds their rows where
 * theirs are the last answers. `plans`: `already` where the transaction has said that plans of before are used.
 */
export async function planned(
  connection: Connection,
  statements: readonly Statement[],
  plans: 'here' | 'already' = 'here',
): Promise<{ sql: string; rowsOf: (answers: readonly { rows: unknown[] }[]) => unknown[][] }> {
  const executes: string[] = [];
  for (const statement of statements) executes.push(await execution(connection, statement));
  const [before, after] = plans === 'here' ? [set, unset] : [[], []];
  return {
    sql: [...before, ...executes, ...after].join('; '),
    rowsOf: (answers) =>
      answers
        .slice(answers.length - after.length - executes.length, answers.length - after.length)
        .map(({ rows }) => rows),
  };
}

const prepared = new WeakMap<Connection, Map<string, string>>();

export const textOf = async (connection: Connection, opening: Opening): Promise<string> =>
  typeof opening === 'string' ? opening : execution(connection, opening);

/**
 * `execute …` of a statement that this connection plans at its first use, or its text; the driver escapes the values.
 */
async function execution(connection: Connection, { sql, values, anew }: Statement): Promise<string> {
  const given = values.map((value) => (typeof value === 'string' ? connection.escapeLiteral(value) : String(value)));
  if (anew) return sql.replaceAll(/\$(\d+)/g, (_, place: string) => given[Number(place) - 1]!);
  let known = prepared.get(connection);
  if (!known) prepared.set(connection, (known = new Map()));
  let name = known.get(sql);
  if (!name) {
    // Not the names of `prepared`: the connection keeps both in one place.
    name = `once_${nameOf(sql)}`;
    await connection.query(`prepare ${name} as ${sql}`);
    known.set(sql, name);
  }
  return `execute ${name}${given.length > 0 ? `(${given.join(', ')})` : ''}`;
}

async function inOne(connection: Connection, text: string): Promise<{ rows: unknown[] }[]> {
  try {
    return await connection.query(text);
  } catch (fault) {
    // It has begun and not ended: the connection must not go back to the pool so. One that is broken has nothing to
    // roll back, and what is told is the first fault.
    await connection.query('rollback').catch(() => undefined);
    throw fault;
  }
}
