import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { problem } from './errors.js';
import type { Reply } from './reply.js';

/** Each holds a connection of the pool for as long as its client reads: the others stay free. */
const MAX_OPEN = 4;
let open = 0;

interface Ending {
  commit: () => Promise<void>;
  rollback: () => Promise<void>;
}

/**
 * Keeps a read-only transaction open until a streamed body was read, or aborted: its `commit` returns when the answer
 * can be sent, which is before the transaction ends. A client that does not read for half a minute loses it
 * (db/client/knex.ts).
 * @param reply the answer, once there is one
 * @throws 503 when four are open already
 */
export async function untilStreamed<T extends Ending>(begin: () => Promise<T>, reply: () => Reply): Promise<T> {
  if (open >= MAX_OPEN)
    throw problem('UNAVAILABLE', {
      detail: 'Too many snapshots and exports are being read: try again.',
      headers: { 'Retry-After': '5' },
    });
  open += 1;
  const free = () => {
    open -= 1;
  };
  const begun = await begin().catch((fault: unknown) => {
    free();
    throw fault;
  });
  return {
    ...begun,
    rollback: () => begun.rollback().finally(free),
    commit: async () => {
      const { body } = reply();
      if (!(body instanceof Readable)) return begun.commit().finally(free);
      // An aborted stream also aborts the answer: the client sees that it is incomplete.
      void finished(body, { writable: false })
        .catch(() => undefined)
        .then(begun.commit)
        // Everything was read, and nothing written: the end of the transaction changes nothing.
        .catch(() => undefined)
        .finally(free);
    },
  };
}
