import k from 'knex';
import type { Knex } from 'knex';
import type { Connection } from './connection/connection.js';
import type { Database, Tx } from './database.js';

const { knex } = k;

/**
 * A knex whose pool is this one connection: its builders, and models bound to it, run in the connection's transaction.
 * After `end` it refuses every statement: a late caller must not write into the next transaction.
 */
export function transactionOn(database: Database, connection: Connection): { tx: Tx; end: () => void } {
  let isOpen = true,
    savepoints = 0;
  const tx = knex({
    client: 'pg',
    version: database.client.version!,
    compileSqlOnError: false,
    log: (database.client.config as Knex.Config).log!,
    connectionPool: poolOf(connection, () => isOpen),
  });
  const savepoint = async <T>(work: (inner: Tx) => Promise<T>): Promise<T> => {
    const name = `savepoint_${(savepoints += 1)}`;
    await connection.query(`savepoint ${name}`);
    try {
      const value = await work(tx as Tx);
      await connection.query(`release savepoint ${name}`);
      return value;
    } catch (fault) {
      await connection.query(`rollback to savepoint ${name}`);
      throw fault;
    }
  };
  // A nested transaction is a savepoint, as in knex' own transactions.
  Object.defineProperties(tx, {
    isTransaction: { value: true },
    savepoint: { value: savepoint },
    transaction: { value: savepoint },
  });
  return {
    tx: tx as Tx,
    end: () => {
      isOpen = false;
    },
  };
}

/** A pool of one connection, with the properties that knex expects. */
const poolOf = (connection: Connection, isOpen: () => boolean) => ({
  acquire: () => ({
    promise: isOpen() ? Promise.resolve(connection) : Promise.reject(new Error('the transaction is over')),
  }),
  release: () => true,
  destroy: () => Promise.resolve(),
  numFree: () => 0,
  numUsed: () => 1,
  numPendingAcquires: () => 0,
});
