import { setImmediate as nextTurn } from 'node:timers/promises';
import { socketOf } from './connection.js';
import type { Connection } from './connection.js';
import type { Database } from './database.js';

/**
 * `looks`: how often in a row it was seen waiting without having heard anything since. `answered`: how much it had sent
 * when the last of its statements was answered; it waits where it has sent more since.
 */
interface Heard {
  bytes: number;
  looks: number;
  answered: number;
}

const LOOK_MS = 1_000;
/**
 * What a new connection says of a server, or of its machine, that is not reached; any other fault is an answer: it
 * refuses.
 */
const NO_ANSWER = /timeout|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/i;
/** `POOL_AWAY` knows it (away.ts). */
const MUTE = 'Connection terminated: the database does not answer';

/**
 * Finds out that the server says nothing more: a machine that is gone, a network that swallows, a server that stands
 * still. No limit of the server's ends a statement then, and the operating system waits for a quarter of an hour. A
 * statement that only takes long is told apart from it by a new connection, which a server that lives takes meanwhile.
 */
export class ConnectionWatchdog {
  private readonly heard = new Map<Connection, Heard>();
  private readonly patience: number;
  private asking = false;

  /**
   * @param afterMs so long nothing is heard on a connection that waits before the server is asked whether it is there
   */
  constructor(afterMs: number) {
    this.patience = Math.max(1, Math.ceil(afterMs / LOOK_MS));
  }

  /** For the pool: every connection that it opens is watched. */
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

  /** Watches for the life of the process, which it does not keep alive. */
  start(database: Database): void {
    setInterval(() => {
      if (!this.asking && this.someWait()) void this.ask(database);
    }, LOOK_MS).unref();
  }

  /**
   * Looks are counted, and no clock is read: a process that itself stood still has heard nothing, and asks nothing by
   * it.
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
      // Nobody waits for its end; how that goes says nothing more.
      database.client.destroyRawConnection(probe).catch(() => undefined);
      for (const heard of this.heard.values()) heard.looks = 0;
    } catch (fault) {
      const { code, message } = fault as NodeJS.ErrnoException;
      // Of a name with several addresses only the code is told.
      if (NO_ANSWER.test(`${code} ${message}`)) await this.drop(before);
    } finally {
      this.asking = false;
    }
  }

  /** Also those that nobody uses at the moment: whoever took one next would wait as long. */
  private async drop(before: ReadonlyMap<Connection, number>): Promise<void> {
    // What came while this process stood still is read before its timers' word is taken.
    await nextTurn();
    for (const [connection, bytes] of before) {
      const socket = socketOf(connection);
      if (socket.bytesRead === bytes) socket.destroy(new Error(MUTE));
    }
  }
}
