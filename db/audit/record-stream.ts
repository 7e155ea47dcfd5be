import pg from 'pg';
import { LineReader, lineOf } from './audit-lines.js';
import type { Sealed } from './audit-lines.js';
import { recordHash, recordsAfter } from './audit-records.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** Records of one statement: at a fault, at most this many are read in vain. */
const PART = 20_000;

/** Takes a record; returns false to stop. */
export type Take = (record: Sealed) => boolean;
interface Connection {
  query: (query: pg.Query) => unknown;
}

/**
 * Streams the records of a chain after `seq`, in order. COPY costs the database less than a query, runs while this
 * process hashes, and buffers only what has arrived.
 */
export async function streamRecords(
  db: Database | Tx,
  chain: string,
  seq: number,
  until: number,
  take: Take,
): Promise<void> {
  const connection = (await db.client.acquireConnection()) as Connection;
  const lines = new LineReader(chain);
  let at = seq,
    found = PART,
    more = true;
  try {
    while (more && found === PART && at < until) {
      found = 0;
      await linesOf(
        connection,
        `copy (select ${lineOf(chain)} from audit_log where chain = ${pg.escapeLiteral(chain)} and seq > ${at}
          and seq <= ${until} order by seq limit ${PART}) to stdout`,
        (line) => {
          if (!more) return;
          const record = lines.record(line);
          found += 1;
          at = record.seq;
          more = take(record);
        },
      );
    }
  } finally {
    // Within a transaction the connection stays with it.
    await db.client.releaseConnection(connection);
  }
}

/** Reads the same as rows, more slowly: independent of how the database writes them as text. */
export async function streamRecordsInPages(
  db: Database | Tx,
  chain: string,
  seq: number,
  until: number,
  take: Take,
): Promise<void> {
  for await (const rows of recordsAfter(db, chain, seq, until)) {
    for (const row of rows)
      if (!take({ seq: row.seq, prev_hash: row.prev_hash, hash: row.hash, content: recordHash(row) })) return;
  }
}

/** A driver query that reads COPY … TO STDOUT: one message for each line, including its line end. */
class Copy extends pg.Query {
  private fault: unknown;
  constructor(
    sql: string,
    private readonly line: (bytes: Buffer) => void,
    done: (fault: unknown) => void,
  ) {
    super(sql, undefined, (fault) => {
      done(fault ?? this.fault);
    });
  }

  /** Called by the driver in the middle of its own work: a fault is kept until the end. */
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    if (this.fault !== undefined) return;
    try {
      this.line(chunk);
    } catch (fault) {
      this.fault = fault;
    }
  }
}

async function linesOf(connection: Connection, sql: string, line: (bytes: Buffer) => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    connection.query(
      new Copy(sql, line, (fault) => {
        if (fault) reject(fault as Error);
        else resolve();
      }),
    );
  });
}
