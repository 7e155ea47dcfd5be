import pg from 'pg';
import { LineReader, lineOf } from './audit-lines.js';
import type { Sealed } from './audit-lines.js';
import { recordHash, recordsAfter } from './audit-records.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** Records that one statement reads: where something is wrong, so many are read to the end for nothing. */
const PART = 20_000;

/** Takes a record; false: no more are wanted. */
export type Take = (record: Sealed) => boolean;
interface Connection {
  query: (query: pg.Query) => unknown;
}

/**
 * Hands over the records of a chain after `seq`, in order, as they come. COPY takes the database less than a query
 * does, it goes on reading while this hashes, and no more of them is held than what has come.
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
        `copy (select ${lineOf(chain)} from audit_log where chain = ${pg.escapeLiteral(chain)} and seq > ${at} and seq <= ${until} order by seq limit ${PART}) to stdout`,
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

/** The same read as rows, in no hurry: how the database writes them as text does not matter here. */
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

/** A query of the driver that answers COPY … TO STDOUT: a message for each line, its end with it. */
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

  /** Called by the driver, which is in the middle of its own work: a fault waits for the end. */
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
