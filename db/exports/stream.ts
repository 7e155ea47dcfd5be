import { Readable, Transform } from 'node:stream';
import type { Socket } from 'node:net';
import pg from 'pg';
import { acquire, socketOf } from '../client/connection/connection.js';
import type { Tx } from '../client/database.js';
import { faultCode } from '../client/connection/driver-faults.js';

/**
 * Runs a COPY … TO STDOUT of this transaction: rows are streamed, and a slow reader slows the database down. When
 * `through` fails, as when the reader disconnects, the connection is closed, which ends the statement.
 * @returns the number of rows
 */
export async function copyOut(tx: Tx, sql: string, through: (source: Readable) => Promise<void>): Promise<number> {
  // The server detects a disconnected client even while it has nothing to send.
  await tx.raw(`set local client_connection_check_interval = '2s'`);
  const connection = await acquire(tx);
  const { source, rowTotal } = connection.query(new CopyOut(sql, socketOf(connection)));
  try {
    await through(source);
    return await rowTotal;
  } catch (fault) {
    // After the statement's own fault, or its end, the connection is as good as before.
    if (!source.readableEnded && !/^[0-9A-Z]{5}$/.test(faultCode(fault) ?? '')) socketOf(connection).destroy();
    throw fault;
  }
}

const PAGE_BYTES = 65_536;

/** A driver query that reads COPY … TO STDOUT: one message for each row, gathered into pages. */
class CopyOut extends pg.Query {
  readonly source: Readable;
  /** The number of rows. */
  readonly rowTotal: Promise<number>;
  private page: Buffer | undefined;
  private filled = 0;

  constructor(
    sql: string,
    private readonly socket: Socket,
  ) {
    let ended: (fault: Error | null | undefined, result?: pg.QueryResult) => void;
    super(sql, undefined, (fault: Error | null | undefined, result?: pg.QueryResult) => {
      ended(fault, result);
    });
    this.source = new Readable({
      read: () => socket.resume(),
      // Nobody reads the remaining rows.
      destroy: (fault, done) => {
        socket.resume();
        done(fault);
      },
    });
    this.rowTotal = new Promise((resolve) => {
      ended = (fault, result) => {
        this.flush();
        if (fault) this.source.destroy(fault);
        else {
          this.source.push(null);
          resolve(result?.rowCount ?? 0);
        }
        // The source is destroyed; the connection goes on.
        socket.resume();
      };
    });
  }

  /**
   * Called by the driver, which owns the buffer: the bytes are copied. What arrives in one read is passed on as one.
   */
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    if (this.page && this.filled + chunk.length > this.page.length) this.flush();
    if (!this.page) {
      this.page = Buffer.allocUnsafe(Math.max(PAGE_BYTES, chunk.length));
      process.nextTick(() => {
        this.flush();
      });
    }
    this.filled += chunk.copy(this.page, this.filled);
  }

  private flush(): void {
    if (!this.page) return;
    const bytes = this.page.subarray(0, this.filled);
    this.page = undefined;
    this.filled = 0;
    if (!this.source.push(bytes) && !this.source.destroyed) this.socket.pause();
  }
}

/**
 * Turns lines into the elements of a JSON array: a comma for every line end but the last. A line contains no line end:
 * JSON escapes it.
 */
export function commaSeparator(): Transform {
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

/** Unwraps and counts the lines of a COPY whose values have several lines each, between \u0001. */
export function unwrapLines(count: (lines: number) => void): Transform {
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
