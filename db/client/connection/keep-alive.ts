import { execute } from '../query.js';
import type { Tx } from '../database.js';

/** The database ends a transaction that is idle for half a minute (knex.ts). */
const ASK_EVERY_MS = 10_000;

/**
 * Runs work without queries within a transaction, longer than a transaction may be idle.
 * @throws what `work` throws, or the database's error when the transaction is lost meanwhile
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
