import type { Tx } from './database.js';

/** A mark on the transaction that something waits for the relay after its commit. */
export interface MarkedTransaction extends Tx {
  wroteOutbox?: boolean;
}
