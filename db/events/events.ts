import { into } from '../client/sets/bulk-insert.js';
import type { Insert } from '../client/sets/bulk-insert.js';

export interface DomainEvent {
  type: string;
  study_id: string;
  participant_id: string | null;
  data: Record<string, unknown>;
}

/** Events for subscribers, as rows to be written with the change that they tell of (interface, "Events"). */
export const intoEvents = (events: readonly DomainEvent[]): Insert =>
  into<DomainEvent>('domain_events', ['type', 'study_id', 'participant_id', 'data'], events);
