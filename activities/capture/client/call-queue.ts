import { CaptureFailure } from './failure.js';

/** Calls to one server at a time: more would only wait there. */
const CALLS_OF_SERVER = 8;
/** Calls that wait for one server. Each of them, too, holds a slot of the worker. */
const WAITING_FOR_SERVER = 40;
/** Calls to all servers at a time. The worker has so many slots beside those for work on the database. */
export const CALLS_AT_ONCE = 64;
/** A server that answers none of its calls for this long is not waited for. */
const PATIENCE_MS = 5_000;

interface Server {
  host: string;
  calls: number;
  waiting: number;
  /** When it last answered, or began to be called; milliseconds of the monotonic clock. */
  aliveAt: number;
}
interface Waiting {
  server: Server;
  begin: () => void;
}

const servers = new Map<string, Server>();
/** In order of arrival. */
const queue: Waiting[] = [];
let calls = 0;

/**
 * Makes a call to a capture system in its turn. A server that accepts connections and never answers thus holds few of
 * the worker's slots: the work of other studies goes on.
 * @param until when the caller gives up, milliseconds of the monotonic clock
 * @throws CaptureFailure of the call; `timeout`, `unasked`, if the call is not made as the server does not answer
 */
export async function inTurn<T>(host: string, until: number, call: () => Promise<T>): Promise<T> {
  const server = servers.get(host) ?? { host, calls: 0, waiting: 0, aliveAt: performance.now() };
  servers.set(host, server);
  if (hasRoom(server)) begin(server);
  else await turn(server, until);
  try {
    const answer = await call();
    server.aliveAt = performance.now();
    return answer;
  } catch (failure) {
    // A refusal or a broken answer is a sign of life.
    if (!(failure instanceof CaptureFailure && failure.errorType === 'timeout')) server.aliveAt = performance.now();
    throw failure;
  } finally {
    end(server);
  }
}

const hasRoom = ({ calls: own }: Server): boolean => own < CALLS_OF_SERVER && calls < CALLS_AT_ONCE;

function begin(server: Server): void {
  server.calls += 1;
  calls += 1;
}

function end(server: Server): void {
  server.calls -= 1;
  calls -= 1;
  const next = queue.findIndex((each) => hasRoom(each.server));
  if (next >= 0) queue.splice(next, 1)[0]!.begin();
  forgetIdle(server);
}

function forgetIdle(server: Server): void {
  if (server.calls === 0 && server.waiting === 0) servers.delete(server.host);
}

/** Waits until the call has begun. @throws CaptureFailure `unasked` */
function turn(server: Server, until: number): Promise<void> {
  const leftMs = () => Math.min(until, server.aliveAt + PATIENCE_MS) - performance.now();
  if (server.waiting >= WAITING_FOR_SERVER || leftMs() <= 0) {
    forgetIdle(server);
    return Promise.reject(notMade());
  }
  return new Promise((resolve, reject) => {
    server.waiting += 1;
    const waiting: Waiting = {
      server,
      begin: () => {
        clearTimeout(timer);
        server.waiting -= 1;
        begin(server);
        resolve();
      },
    };
    const look = () => {
      // The server may have answered meanwhile.
      if (leftMs() > 0) {
        timer = setTimeout(look, leftMs());
        return;
      }
      queue.splice(queue.indexOf(waiting), 1);
      server.waiting -= 1;
      forgetIdle(server);
      reject(notMade());
    };
    let timer = setTimeout(look, leftMs());
    queue.push(waiting);
  });
}

const notMade = () =>
  new CaptureFailure('timeout', 'The capture system has not yet answered the calls before this one.', {
    unasked: true,
  });
