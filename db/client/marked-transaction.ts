import type { Tx } from './database.js';

/** Marks on the transaction: what waits for its commit is told of it then. */
export interface MarkedTransaction extends Tx {
  /** The relay of the outbox. */
  wroteOutbox?: boolean;
  /** The readers of events. */
  wroteEvents?: boolean;
}
