import type { Tx } from './database.js';

/** Marks on the transaction: who is to be notified after its commit. */
export interface MarkedTransaction extends Tx {
  /** Notify the relay of the outbox. */
  wroteOutbox?: boolean;
  /** Notify the readers of events. */
  wroteEvents?: boolean;
}
