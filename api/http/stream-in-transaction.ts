import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { problem } from './errors.js';
import type { Reply } from './route.js';

/** Each holds a connection of the pool for as long as its client reads: the others stay free. */
const MAX_OPEN = 4;
let open = 0;

/**
 * Answers from a transaction that stays open until a streamed body was read, or aborted. A client that does not read
 * for half a minute loses it (db/client/knex.ts).
 * @param transaction calls `streamed` with the answer as its last step, and waits for it before it ends
 * @returns when the answer can be sent, which is before the transaction ends
 * @throws 503 when four are open already
 */
export async function streamInTransaction(
  transaction: (streamed: (reply: Reply) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (open >= MAX_OPEN)
    throw problem('UNAVAILABLE', {
      detail: 'Too many snapshots and exports are being read: try again.',
      headers: { 'Retry-After': '5' },
    });
  open += 1;
  return new Promise<void>((resolve, reject) => {
    transaction(async ({ body }) => {
      resolve();
      if (!(body instanceof Readable)) return;
      // An aborted stream also aborts the answer: the client sees that it is incomplete.
      await finished(body, { writable: false }).catch(() => undefined);
    })
      .catch(reject)
      .finally(() => {
        open -= 1;
      });
  });
}
