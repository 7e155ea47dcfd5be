import { calendarFacts, calendarVisits } from '../../db/scheduling/visits.queries.js';
import type { VisitRecord } from '../../db/scheduling/visits.queries.js';
import { calendarFile } from '../../workflows/domain/scheduling/calendar-file.js';
import type { CalendarEntry } from '../../workflows/domain/scheduling/calendar-file.js';
import type { BuiltInLanguage } from '../../workflows/domain/notifications/built-in.js';
import { visitTitle } from '../../workflows/domain/scheduling/visit-title.js';
import { contentTag } from '../http/conventions/etag.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import type { Tx } from '../../db/client/database.js';

const LOOK_AGAIN_HOURS = 6;
const words: Record<BuiltInLanguage, { window: string; completed: string; missed: string }> = {
  en: { window: 'Can be done from {open} to {close}.', completed: 'Done.', missed: 'Missed.' },
  de: { window: 'Möglich vom {open} bis zum {close}.', completed: 'Erledigt.', missed: 'Versäumt.' },
  es: { window: 'Puede realizarse del {open} al {close}.', completed: 'Hecha.', missed: 'No realizada.' },
  fr: { window: 'Possible du {open} au {close}.', completed: 'Faite.', missed: 'Manquée.' },
};

/**
 * A participant's visits as an iCalendar feed: one all-day event for each visit on its target date, with its window in
 * the description.
 */
export async function visitCalendar(
  tx: Tx,
  participantId: string,
  { language, name }: { language: BuiltInLanguage; name: string },
): Promise<Reply> {
  const visits = await calendarVisits(tx, participantId);
  const facts = await calendarFacts(tx, participantId);
  const file = calendarFile(
    visits.map((visit) => entryOf(visit, facts, words[language])),
    { name, language, hours: LOOK_AGAIN_HOURS },
  );
  return reply(200, file, {
    ETag: contentTag({ file }),
    'Content-Type': 'text/calendar; charset=utf-8',
    'Content-Disposition': 'inline; filename="visits.ics"',
    'Cache-Control': 'private, no-store',
  });
}

/** A withdrawn participant, or an ended study, has no future visits: pending ones appear as cancelled. */
const isCancelled = ({ status }: VisitRecord, over: boolean): boolean =>
  status === 'superseded' || status === 'cancelled' || (over && (status === 'scheduled' || status === 'open'));

const entryOf = (
  visit: VisitRecord,
  { over, sequences }: Awaited<ReturnType<typeof calendarFacts>>,
  say: (typeof words)[BuiltInLanguage],
): CalendarEntry => ({
  visit_key: visit.visit_key,
  name: visitTitle(visit.name),
  target_date: visit.target_date,
  updated_at: visit.updated_at,
  sequence: sequences.get(visit.visit_key) ?? 0,
  description: [
    say.window.replace('{open}', visit.window_open).replace('{close}', visit.window_close),
    ...(visit.status === 'completed' || visit.status === 'missed' ? [say[visit.status]] : []),
  ].join(' '),
  cancelled: isCancelled(visit, over),
});
