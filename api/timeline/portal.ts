import { listTimeline, timelineSubject } from '../../db/timeline/timeline.queries.js';
import type { TimelineFilter, TimelineRow } from '../../db/timeline/timeline.queries.js';
import type { ParticipantCaller } from '../http/access.js';
import { problem } from '../http/errors.js';
import { builtInLanguage } from '../../workflows/domain/notifications/built-in.js';
import { visitTitle } from '../../workflows/domain/scheduling/visit-title.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import { timelineWords, wordsForCaregivers } from '../portal/portal-words.js';
import type { Tx } from '../../db/client/database.js';

/** Kinds that concern the participant itself; decisions, schedules and pushes are left out. */
export const portalKinds = ['participant', 'consent', 'visit', 'session', 'reminder'] as const;
export interface PortalTimelineItem {
  at: string;
  kind: (typeof portalKinds)[number];
  title: string;
  data: Record<string, unknown>;
}

const shown: Record<(typeof portalKinds)[number], readonly string[]> = {
  participant: [],
  consent: ['status'],
  visit: ['name', 'status', 'target_date', 'window_open', 'window_close'],
  session: ['status'],
  reminder: ['channel', 'status'],
};

/**
 * A participant's own reduced timeline, in its language or its caregiver's, else the study's. Messages appear when they
 * were sent, not when they are planned or failed. Of a study that has ended nothing is ahead.
 */
export async function portalTimeline(
  tx: Tx,
  { id, preferred_language, caregiver }: Pick<ParticipantCaller, 'id' | 'preferred_language' | 'caregiver'>,
  filter: Omit<TimelineFilter, 'kinds'> & { kinds?: readonly (typeof portalKinds)[number][] | undefined },
): Promise<{ items: PortalTimelineItem[]; total: number }> {
  const subject = await timelineSubject(tx, id);
  if (!subject) throw problem('NOT_FOUND');
  const { items, total } = await listTimeline(tx, subject, {
    ...filter,
    kinds: filter.kinds ?? portalKinds,
    settledOnly: true,
    nothingAhead: subject.study_ended,
  });
  const language = builtInLanguage(caregiver?.preferred_language ?? preferred_language, subject.default_language);
  const words = { ...timelineWords[language], ...(caregiver && wordsForCaregivers[language]) };
  return { total, items: items.map((row) => itemOf(row, words)) };
}

function itemOf({ at, kind: given, what, data }: TimelineRow, words: Record<string, string>): PortalTimelineItem {
  const kind = given as PortalTimelineItem['kind'];
  const title = (words[`${kind} ${what}`] ?? words[kind] ?? kind).replace('{name}', () =>
    isolated(visitTitle(String(data.name ?? ''))),
  );
  return { at, kind, title, data: Object.fromEntries(shown[kind].map((name) => [name, data[name]])) };
}
