import { execute } from './query.js';
import type { Tx } from './database.js';

/** The database ends a transaction that asks for nothing for half a minute (knex.ts). */
const ASK_EVERY_MS = 10_000;

/**
 * Waits within a transaction for what asks the database nothing and may take longer than one may stand idle.
 * @throws what `work` throws, or what the database says when the transaction is lost meanwhile
 */
export async function withKeepAlive<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  let asked: Promise<void> | undefined;
  let every: NodeJS.Timeout | undefined;
  const lost = new Promise<never>((_, reject) => {
    every = setInterval(() => {
      asked ??= execute(tx, 'select 1').then(() => {
        asked = undefined;
      }, reject);
    }, ASK_EVERY_MS);
  });
  try {
    return await Promise.race([work(), lost]);
  } finally {
    clearInterval(every);
    await asked;
  }
}
