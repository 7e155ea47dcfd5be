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
  /** Sets what the transaction may see. */
  opening: Statement;
  /** Run in the round trip that opens the transaction, after `opening`. */
  first?: readonly Statement[];
  /** `already`: the opening itself sets the use of cached plans. */
  plans?: 'already' | undefined;
}

/** Sent with the commit. */
export interface Closing {
  statements: readonly (Statement | string)[];
  /** Sent after the commit in the same packet, and waited for as well. */
  after?: string;
}

/** A transaction that has begun. One of `commit` and `rollback` ends it, and releases its connection. */
export interface Begun<Row> {
  tx: Tx;
  /** Of the opening. */
  rows: Row[];
  /** Of each of the first statements. */
  first: unknown[][];
  /** If a closing statement fails, the commit after it rolls back, and the error is thrown. */
  commit: (closing?: Closing) => Promise<void>;
  rollback: () => Promise<void>;
}

/**
 * Begins a transaction on a pooled connection. Begin, opening and first statements are one round trip, and so are
 * closing and commit: each round trip is about a tenth of the processor time of a small request, and the lock of an
 * audit chain, taken by the last statement, does not wait for this process to send the commit.
 */
export async function begin<Row>(database: Database, options: Opening): Promise<Begun<Row>> {
  const connection = await acquire(database);
  let end: (() => void) | undefined;
  const undo = async () => {
    try {
      await rollback(connection);
    } finally {
      end?.();
      await release(database, connection);
    }
  };
  try {
    const { opened, found } = await sendOpening(connection, options);
    const transaction = transactionOn(database, connection);
    end = transaction.end;
    return {
      tx: transaction.tx,
      rows: opened as Row[],
      first: found,
      rollback: undo,
      commit: async (closing = { statements: [] }) => {
        transaction.end();
        try {
          await sendCommit(connection, closing);
        } finally {
          await release(database, connection);
        }
      },
    };
  } catch (fault) {
    // The transaction may have begun: its connection must not return to the pool within it.
    await undo();
    throw fault;
  }
}

async function sendOpening(
  connection: Connection,
  { mode, opening, first = [], plans }: Opening,
): Promise<{ opened: unknown[]; found: unknown[][] }> {
  const start = [BEGIN[mode], configOf(opening)];
  if (plans === 'already' || first.length === 0) {
    const [, opened, ...answers] = await sendAll(connection, [...start, ...first.map(configOf)]);
    return { opened: opened!.rows, found: answers.map(({ rows }) => rows as unknown[]) };
  }
  const { configs, rowsOf } = withSettings(first, 'back');
  const [, opened, ...answers] = await sendAll(connection, [...start, ...configs]);
  return { opened: opened!.rows, found: rowsOf(answers) };
}

async function sendCommit(connection: Connection, { statements, after }: Closing): Promise<void> {
  await sendAll(connection, [
    ...statements.map((statement) => (typeof statement === 'string' ? statement : configOf(statement))),
    'commit',
    ...(after === undefined ? [] : [after]),
  ]);
}
