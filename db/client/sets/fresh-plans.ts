import { execute } from '../query.js';
import type { Tx } from '../database.js';

/**
 * Before a statement that writes thousands of rows: the connection plans its statements again. Trigger functions keep
 * the plan that was made for the rows of their first call, often one or none, whose time grows with the square of the
 * rows: a study's change of 10,000 schedules took 76 s, now 23 s (P6_WINDOW). Planning again takes 20 ms.
 */
export async function forgetPlans(tx: Tx): Promise<void> {
  await execute(tx, 'discard plans');
}
