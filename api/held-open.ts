import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Tx } from '../db/knex.js';
import type { AnyCaller } from './access.js';
import { problem } from './errors.js';
import type { Reply } from './route.js';

/** Each holds a connection of the pool for as long as its client reads: the others are for everybody else. */
const AT_ONCE = 4;
let open = 0;

/**
 * Answers from a transaction that stays open until a streamed body has been read, or given up. A client that does not
 * read for half a minute loses it (db/knex.ts).
 * @throws 503 when four are open already
 */
export async function heldOpen(
  opening: <T>(work: (tx: Tx, actor: AnyCaller) => Promise<T>) => Promise<T>,
  answer: (tx: Tx, actor: AnyCaller) => Promise<Reply>,
): Promise<Reply> {
  if (open >= AT_ONCE)
    throw problem('UNAVAILABLE', {
      detail: 'Too many snapshots and exports are being read: try again.',
      headers: { 'Retry-After': '5' },
    });
  open += 1;
  return new Promise<Reply>((resolve, reject) => {
    opening(async (tx, actor) => {
      const reply = await answer(tx, actor);
      resolve(reply);
      if (!(reply.body instanceof Readable)) return;
      // A stream that breaks off breaks the answer off as well: the client sees that it is not whole.
      await finished(reply.body, { writable: false }).catch(() => undefined);
    })
      .catch(reject)
      .finally(() => {
        open -= 1;
      });
  });
}
