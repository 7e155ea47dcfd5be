import { transactionOn } from './bound-knex.js';
import { acquire, release, rollback, sendAll } from './connection/connection.js';
import type { Connection } from './connection/connection.js';
import { configOf, withSettings } from './query.js';
import type { Statement } from './query.js';
import type { Database } from './database.js';
import type { Tx } from './database.js';

const BEGIN = {
  write: 'begin transaction',
  // All statements see one snapshot: no commit comes between two of them.
  read: 'begin transaction isolation level repeatable read read only',
  trial: 'begin transaction isolation level repeatable read',
};

export interface Opening {
  mode: keyof typeof BEGIN;
  /** Sets what the transaction may see; `work` gets its rows. */
  opening: Statement;
  /** Run in the round trip that opens the transaction, after `opening`. `work` gets the rows of each. */
  first?: readonly Statement[];
  /** `already`: the opening itself sets the use of cached plans. */
  plans?: 'already' | undefined;
  /** Called when the work is done. */
  beforeCommit?: () => Closing;
}

/** Sent with the commit. */
export interface Closing {
  statements: readonly (Statement | string)[];
  /** Sent after the commit in the same packet, and waited for as well. */
  after?: string;
}

/**
 * Runs `work` in a transaction on a pooled connection. Begin, opening and first statements are one round trip, and so
 * are closing and commit: each round trip is about a tenth of the processor time of a small request, and the lock of an
 * audit chain, taken by the last statement, does not wait for this process to send the commit.
 */
export async function beginWith<Row, T>(
  database: Database,
  options: Opening,
  work: (tx: Tx, rows: Row[], first: unknown[][]) => Promise<T>,
): Promise<T> {
  const connection = await acquire(database);
  try {
    const { opened, found } = await begin(connection, options);
    const { tx, end } = transactionOn(database, connection);
    let value: T, closing: Closing;
    try {
      value = await work(tx, opened as Row[], found);
      closing = options.beforeCommit?.() ?? { statements: [] };
    } catch (fault) {
      await rollback(connection);
      throw fault;
    } finally {
      end();
    }
    // If a closing statement fails, the commit after it rolls back, and the error is thrown.
    await sendAll(connection, [
      ...closing.statements.map((statement) => (typeof statement === 'string' ? statement : configOf(statement))),
      'commit',
      ...(closing.after === undefined ? [] : [closing.after]),
    ]);
    return value;
  } finally {
    await release(database, connection);
  }
}

async function begin(
  connection: Connection,
  { mode, opening, first = [], plans }: Opening,
): Promise<{ opened: unknown[]; found: unknown[][] }> {
  try {
    const start = [BEGIN[mode], configOf(opening)];
    if (plans === 'already' || first.length === 0) {
      const [, opened, ...answers] = await sendAll(connection, [...start, ...first.map(configOf)]);
      return { opened: opened!.rows, found: answers.map(({ rows }) => rows as unknown[]) };
    }
    const { configs, rowsOf } = withSettings(first, 'back');
    const [, opened, ...answers] = await sendAll(connection, [...start, ...configs]);
    return { opened: opened!.rows, found: rowsOf(answers) };
  } catch (fault) {
    // The transaction may have begun: its connection must not return to the pool within it.
    await rollback(connection);
    throw fault;
  }
}
