import { setImmediate as nextTurn } from 'node:timers/promises';
import { socketOf } from './connection.js';
import type { Connection } from './connection.js';
import type { Database } from '../database.js';

/**
 * `looks`: how many checks in a row found it waiting without new bytes. `answered`: bytes sent when its last statement
 * was answered; it is waiting if it has sent more since.
 */
interface Heard {
  bytes: number;
  looks: number;
  answered: number;
}

const LOOK_MS = 1_000;
/** Errors of a new connection to an unreachable server or machine; any other error is an answer: the server refuses. */
const NO_ANSWER = /timeout|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/i;
/** Matches CONNECTION_ERROR (driver-faults.ts). */
const MUTE = 'Connection terminated: the database does not answer';

/**
 * Detects a server that no longer answers: a lost machine, a black-holed connection, a hung server. The server's
 * timeouts can't end a statement then, and the operating system waits a quarter of an hour. A new connection tells this
 * from a slow statement: a live server accepts it.
 */
export class ConnectionWatchdog {
  private readonly heard = new Map<Connection, Heard>();
  private readonly patience: number;
  private asking = false;

  /** @param afterMs a waiting connection may be silent for this long before the server is probed */
  constructor(afterMs: number) {
    this.patience = Math.max(1, Math.ceil(afterMs / LOOK_MS));
  }

  /** Hook of the pool: every connection that it opens is watched. */
  readonly opened = (connection: Connection, done: (fault: Error | null, connection: Connection) => void): void => {
    const socket = socketOf(connection);
    const heard: Heard = { bytes: socket.bytesRead, looks: 0, answered: socket.bytesWritten };
    this.heard.set(connection, heard);
    connection.on('drain', () => {
      heard.answered = socket.bytesWritten;
    });
    connection.on('end', () => {
      this.heard.delete(connection);
    });
    done(null, connection);
  };

  /** Watches for the life of the process, without keeping it alive. */
  start(database: Database): void {
    setInterval(() => {
      if (!this.asking && this.someWait()) void this.ask(database);
    }, LOOK_MS).unref();
  }

  /**
   * Counts checks instead of reading a clock: a process that was itself suspended has received nothing, and does not
   * probe because of it.
   */
  private someWait(): boolean {
    let waits = false;
    for (const [connection, heard] of this.heard) {
      const { bytesRead, bytesWritten } = socketOf(connection);
      heard.looks = bytesWritten > heard.answered && bytesRead === heard.bytes ? heard.looks + 1 : 0;
      heard.bytes = bytesRead;
      waits ||= heard.looks > this.patience;
    }
    return waits;
  }

  private async ask(database: Database): Promise<void> {
    this.asking = true;
    const before = new Map([...this.heard.keys()].map((connection) => [connection, socketOf(connection).bytesRead]));
    try {
      const probe: unknown = await database.client.acquireRawConnection();
      // Nobody waits for its end, and its result does not matter.
      database.client.destroyRawConnection(probe).catch(() => undefined);
      for (const heard of this.heard.values()) heard.looks = 0;
    } catch (fault) {
      const { code, message } = fault as NodeJS.ErrnoException;
      // For a name with several addresses the error has only a code.
      if (NO_ANSWER.test(`${code} ${message}`)) await this.drop(before);
    } finally {
      this.asking = false;
    }
  }

  /** Also drops idle connections: their next user would wait as long. */
  private async drop(before: ReadonlyMap<Connection, number>): Promise<void> {
    // Bytes that arrived while this process was suspended are read before its timers count.
    await nextTurn();
    for (const [connection, bytes] of before) {
      const socket = socketOf(connection);
      if (socket.bytesRead === bytes) socket.destroy(new Error(MUTE));
    }
  }
}
