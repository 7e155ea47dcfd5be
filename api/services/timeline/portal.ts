import type { Tx } from '../../../db/knex.js';
import { listTimeline, timelineSubject } from '../../../db/queries/timeline.js';
import type { TimelineFilter, TimelineRow } from '../../../db/queries/timeline.js';
import type { Participant } from '../../access.js';
import { problem } from '../../errors.js';
import { languageOf, timelineWords } from '../portal-words.js';
import type { PortalLanguage } from '../portal-words.js';

/** What concerns the participant itself; how dates are decided, schedules are made and results travel does not. */
export const portalKinds = ['participant', 'consent', 'visit', 'session', 'reminder'] as const;
export interface PortalTimelineItem { at: string; kind: typeof portalKinds[number]; title: string; data: Record<string, unknown> }

const shown: Record<typeof portalKinds[number], readonly string[]> = {
  participant: [], consent: ['status'], visit: ['name', 'status', 'target_date', 'window_open', 'window_close'], session: ['status'], reminder: ['channel', 'status'],
};

/** A participant's own timeline, reduced. Messages stand in it when they were sent, not when they are planned or failed. */
export async function portalTimeline(tx: Tx, { id, preferred_language }: Pick<Participant, 'id' | 'preferred_language'>, filter: Omit<TimelineFilter, 'kinds'> & { kinds?: readonly typeof portalKinds[number][] | undefined }): Promise<{ items: PortalTimelineItem[]; total: number }> {
  const subject = await timelineSubject(tx, id);
  if (!subject) throw problem('NOT_FOUND');
  const { items, total } = await listTimeline(tx, subject, { ...filter, kinds: filter.kinds ?? portalKinds, settledOnly: true });
  const language = languageOf(preferred_language);
  return { total, items: items.map((row) => itemOf(row, language)) };
}

function itemOf({ at, kind: given, what, data }: TimelineRow, language: PortalLanguage): PortalTimelineItem {
  const kind = given as PortalTimelineItem['kind'];
  const words = timelineWords[language];
  const title = (words[`${kind} ${what}`] ?? words[kind] ?? kind).replace('{name}', String(data.name ?? ''));
  return { at, kind, title, data: Object.fromEntries(shown[kind].map((name) => [name, data[name]])) };
}
