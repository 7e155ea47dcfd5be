import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { to as copyTo } from 'pg-copy-streams';
import type { Tx } from '../knex.js';

/** The driver's client and the socket under it. */
interface Connection {
  query: <T>(query: T) => T;
  connection: { stream: { destroy: () => void } };
}

/**
 * Runs a COPY … TO STDOUT of this transaction: the rows never are in memory, and who reads slowly slows the database
 * down. When `through` fails, as it does when the reader goes away, the connection is given up, which ends the
 * statement.
 * @returns the number of rows
 */
export async function copyOut(tx: Tx, sql: string, through: (source: Readable) => Promise<void>): Promise<number> {
  // The server looks for a client that has gone also while it has nothing to send yet.
  await tx.raw(`set local client_connection_check_interval = '2s'`);
  const connection = (await tx.client.acquireConnection()) as Connection;
  const source = connection.query(copyTo(sql));
  try {
    await through(source);
    return source.rowCount;
  } catch (fault) {
    // After the statement's own fault, or its end, the connection is as good as before.
    if (!source.readableEnded && !/^[0-9A-Z]{5}$/.test(String((fault as { code?: unknown }).code)))
      connection.connection.stream.destroy();
    throw fault;
  }
}

/**
 * Lines as the elements of a JSON array: a comma for every line end but the last. A line has no line end within: JSON
 * escapes it.
 */
export function commas(): Transform {
  let open = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = chunk.toString('latin1');
      const ends = text.endsWith('\n');
      const body = (ends ? text.slice(0, -1) : text).replaceAll('\n', ',\n');
      done(null, Buffer.from(open ? `,\n${body}` : body, 'latin1'));
      open = ends;
    },
  });
}

/** Lines of a COPY whose values are of several lines each, with \u0001 around them: the lines alone, counted. */
export function unwrapped(count: (lines: number) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let at = chunk.indexOf(1); at >= 0; at = chunk.indexOf(1, from)) {
        if (at > from) this.push(chunk.subarray(from, at));
        from = at + 1;
      }
      if (from < chunk.length) this.push(chunk.subarray(from));
      let lines = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
      count(lines);
      done();
    },
  });
}
