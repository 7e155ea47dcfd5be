import type { Tx } from '../knex.js';
import { page } from './paging.js';
import type { Listed, Page } from './paging.js';

export interface EventRecord { id: string; type: string; study_id: string; participant_id: string | null; occurred_at: string; data: Record<string, unknown> }

/** A study's events in the order in which they were written. */
export function listEvents(tx: Tx, studyId: string, filter: Page & { type?: string | undefined; participantId?: string | undefined }): Promise<Listed<EventRecord>> {
  const found = tx('domain_events').where('study_id', studyId).modify((q) => {
    if (filter.type) q.where('type', filter.type);
    if (filter.participantId) q.where('participant_id', filter.participantId);
  });
  return page(tx, found, 'id, type, study_id, participant_id, occurred_at, data', filter, { occurred_at: 'seq' }, 'id');
}
