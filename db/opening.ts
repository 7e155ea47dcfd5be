import type { Database, Tx } from './knex.js';

/** The driver's connection. Texts go to it directly: knex would take a question mark in a literal for a placeholder. */
interface Connection { query: (text: string) => Promise<{ rows: unknown[] }[]> }
/** As much of knex's transaction as the beginning of one needs. */
interface KnexTransaction {
  begin: (connection: Connection) => Promise<unknown>;
  commit: (connection: Connection, value: unknown) => Promise<unknown>;
  _completed: boolean;
  _resolver: (value: unknown) => void;
}
interface Config { readOnly?: boolean; snapshot?: boolean; opening?: { sql: string; opened: (rows: unknown[]) => void }; closing?: () => string | undefined }
type Transact = (container: unknown, config: Config, outer?: unknown) => KnexTransaction;

/**
 * Lets a pool's transactions begin and end with statements of their own in the same round trips. Each round trip is
 * about a tenth of the processor time of a small request; every transaction here starts by saying what it may see, and
 * the lock of an audit chain, taken by the last statement, does not wait for us to say commit.
 */
export function withOpenings(database: Database): Database {
  const transact = database.client.transaction.bind(database.client) as Transact;
  database.client.transaction = ((container, config, outer) => {
    const transaction = transact(container, config, outer);
    const { opening, closing, readOnly, snapshot } = config;
    // knex calls begin later, when it has a connection.
    if (opening) transaction.begin = (connection) => begin(connection, opening, `${snapshot ? ' isolation level repeatable read' : ''}${readOnly ? ' read only' : ''}`);
    if (closing) {
      const commit = transaction.commit.bind(transaction);
      transaction.commit = (connection, value) => {
        const sql = closing();
        return sql === undefined ? commit(connection, value) : commitWith(transaction, connection, sql, value);
      };
    }
    return transaction;
  }) satisfies Transact;
  return database;
}

async function begin(connection: Connection, { sql, opened }: NonNullable<Config['opening']>, mode: string): Promise<void> {
  try {
    const answers = await connection.query(`begin transaction${mode}; ${sql}`);
    opened(answers.at(-1)!.rows);
  } catch (fault) {
    // The transaction may have begun: its connection must not go back to the pool within it. One that is broken has
    // nothing to roll back, and what is told is the first fault.
    await connection.query('rollback').catch(() => undefined);
    throw fault;
  }
}

/** When it fails knex rolls back, as after any fault of the work itself, and tells that fault. */
async function commitWith(transaction: KnexTransaction, connection: Connection, sql: string, value: unknown): Promise<void> {
  await connection.query(`${sql}; commit`);
  transaction._completed = true;
  transaction._resolver(value);
}

/**
 * A transaction that begins with `sql`; `work` gets the rows that it answers.
 * @param options `sql`: one statement, without parameters: every value in it must have been checked to be harmless.
 * `snapshot`: every statement sees what the first one saw. `closing`: what is run with the commit, asked for when the work is done
 */
export async function openedBy<Row, T>(database: Database, options: { readOnly: boolean; snapshot?: boolean; sql: string; closing?: () => string | undefined }, work: (tx: Tx, rows: Row[]) => Promise<T>): Promise<T> {
  let rows: Row[] = [];
  const config: Config = { ...options, opening: { sql: options.sql, opened: (given) => { rows = given as Row[]; } } };
  return database.transaction((tx) => work(tx, rows), config);
}
