import type { Socket } from 'node:net';
import type pg from 'pg';
import type { Knex } from 'knex';

/** The driver's connection, as knex' pool hands it out. */
export type Connection = pg.Client;

/** Acquires a connection of a pool, or the one connection of a transaction. */
export const acquire = async (db: Knex): Promise<Connection> => (await db.client.acquireConnection()) as Connection;
/** Releases a connection to its pool. Within a transaction the connection stays with the transaction. */
export const release = async (db: Knex, connection: Connection): Promise<void> => {
  await db.client.releaseConnection(connection);
};

export const socketOf = (connection: Connection): Socket => connection.connection.stream as Socket;

/** Runs `send` and writes everything it sends in one packet. */
export function inOnePacket<T>(connection: Connection, send: () => T): T {
  const socket = socketOf(connection);
  socket.cork();
  try {
    return send();
  } finally {
    socket.uncork();
  }
}

/**
 * Sends statements without waiting for each answer (the driver's pipeline mode). Within a transaction the statements
 * after a failed one fail as well.
 * @throws the first fault, after every statement is answered
 */
export async function sendAll(
  connection: Connection,
  statements: readonly (string | pg.QueryConfig<unknown[]>)[],
): Promise<pg.QueryResult[]> {
  const sent = inOnePacket(connection, () =>
    statements.map((statement) => connection.query<Record<string, unknown>, unknown[]>(statement)),
  );
  const answers: pg.QueryResult[] = [];
  for (const answer of await Promise.allSettled(sent)) {
    if (answer.status === 'rejected') throw answer.reason;
    answers.push(answer.value);
  }
  return answers;
}

const ROLLBACK_MS = 5_000;

/** Ends a failed transaction. A connection that can't roll back is closed: nobody gets it within a transaction. */
export async function rollback(connection: Connection): Promise<void> {
  const close = () => socketOf(connection).destroy();
  const timer = setTimeout(close, ROLLBACK_MS);
  // The caller throws the original error.
  await connection.query('rollback').then(undefined, close);
  clearTimeout(timer);
}
