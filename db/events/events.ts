import { insertInto } from '../client/sets/bulk-insert.js';
import type { Insert } from '../client/sets/bulk-insert.js';
import type { Tx } from '../client/database.js';
import type { MarkedTransaction } from '../client/marked-transaction.js';

export interface EventInput {
  type: string;
  study_id: string;
  participant_id: string | null;
  data: Record<string, unknown>;
}

/**
 * Events for subscribers, as rows to be written with the change that they describe; streams are woken when `tx` has
 * committed.
 */
export function intoEvents(tx: Tx, events: readonly EventInput[]): Insert {
  if (events.length > 0) (tx as MarkedTransaction).wroteEvents = true;
  return insertInto<EventInput>('domain_events', ['type', 'study_id', 'participant_id', 'data'], events);
}
