import { acquire, release, rollback, sendAll } from './connection/connection.js';
import { configOf, withSettings } from './query.js';
import type { Statement } from './query.js';
import type { Database } from './database.js';

export type { Statement } from './query.js';

/**
 * A whole read-only transaction in one round trip: begin, `opening`, the statement, commit. As four round trips they
 * cost a small read half of its throughput.
 */
export async function queryInSingleRoundTrip<Row>(
  database: Database,
  opening: Statement,
  statement: Statement,
): Promise<{ opened: unknown[]; rows: Row[] }> {
  const [, opened, found] = await whole(database, [
    'begin transaction read only',
    configOf(opening),
    configOf(statement),
    'commit',
  ]);
  return { opened: opened!.rows, rows: found!.rows as Row[] };
}

/** `queryInSingleRoundTrip` of several statements, as `queryAll` runs them. */
export const queriesInSingleRoundTrip = (
  database: Database,
  opening: Statement,
  statements: readonly Statement[],
): Promise<{ opened: unknown[]; found: unknown[][] }> =>
  allOf(database, 'begin transaction isolation level repeatable read read only', opening, statements);

/**
 * `queriesInSingleRoundTrip` that may also write: all is committed, or nothing, by the time it returns.
 * @param plans `already`: the opening itself sets the use of cached plans
 */
export const writeInSingleRoundTrip = async (
  database: Database,
  opening: Statement,
  statements: readonly Statement[],
  plans?: 'already',
): Promise<unknown[][]> => (await allOf(database, 'begin transaction', opening, statements, plans)).found;

async function allOf(
  database: Database,
  begin: string,
  opening: Statement,
  statements: readonly Statement[],
  plans?: 'already',
): Promise<{ opened: unknown[]; found: unknown[][] }> {
  if (plans === 'already') {
    const [, opened, ...answers] = await whole(database, [
      begin,
      configOf(opening),
      ...statements.map(configOf),
      'commit',
    ]);
    return { opened: opened!.rows, found: answers.slice(0, statements.length).map(({ rows }) => rows as unknown[]) };
  }
  const { configs, rowsOf } = withSettings(statements);
  const [, opened, ...answers] = await whole(database, [begin, configOf(opening), ...configs, 'commit']);
  return { opened: opened!.rows, found: rowsOf(answers) };
}

/** After an error the commit in the same packet has ended the transaction, unless it was not sent at all. */
async function whole(
  database: Database,
  statements: Parameters<typeof sendAll>[1],
): Promise<Awaited<ReturnType<typeof sendAll>>> {
  const connection = await acquire(database);
  try {
    return await sendAll(connection, statements);
  } catch (fault) {
    if (connection.getTransactionStatus() !== 'I') await rollback(connection);
    throw fault;
  } finally {
    await release(database, connection);
  }
}
