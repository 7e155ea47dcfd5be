import { listTimeline, timelineSubject } from '../../db/timeline/timeline.queries.js';
import type { TimelineFilter, TimelineRow, TimelineSubject } from '../../db/timeline/timeline.queries.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';
import { linksOf } from './links.js';
import type { Links } from './links.js';
import { titleOf } from './titles.js';
import type { Tx } from '../../db/client/database.js';

export interface TimelineItem {
  at: string;
  kind: TimelineRow['kind'];
  title: string;
  data: Record<string, unknown>;
  links: Links;
}
/** The most entries of an image: more would not be visible. */
const MAX_DRAWN = 2_000;

/**
 * A participant's past and planned events, oldest first.
 * @param known the participant, if the caller has read it
 * @throws 404
 */
export async function timeline(
  tx: Tx,
  services: Dependencies,
  participantId: string,
  filter: TimelineFilter,
  known?: TimelineSubject,
): Promise<{ subject: TimelineSubject; items: TimelineItem[]; total: number }> {
  const subject = known ?? (await timelineSubject(tx, participantId));
  if (!subject) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  const { items, total } = await listTimeline(tx, subject, filter);
  const of = { studyId: subject.study_id, participantId };
  return {
    subject,
    total,
    items: items.map((row) => ({
      at: row.at,
      kind: row.kind,
      title: titleOf(row),
      data: { id: row.id, what: row.what, planned: row.planned, ...row.data },
      links: linksOf(row, of, services.settings),
    })),
  };
}

/** The same for an image or page: complete, without paging. */
export const wholeTimeline = (
  tx: Tx,
  services: Dependencies,
  participantId: string,
  filter: Omit<TimelineFilter, 'skip' | 'limit'>,
) => timeline(tx, services, participantId, { ...filter, skip: 0, limit: MAX_DRAWN });
