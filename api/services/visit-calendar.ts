import type { Tx } from '../../db/knex.js';
import { calendarFacts, listVisits } from '../../db/queries/visits.js';
import type { VisitRecord } from '../../db/queries/visits.js';
import { calendarFile } from '../../workflows/domain/calendar-file.js';
import type { CalendarEntry } from '../../workflows/domain/calendar-file.js';
import { reply } from '../route.js';
import type { Reply } from '../route.js';

const MOST = 500;

/**
 * A participant's visits as an iCalendar feed: one all-day event a visit on its target date, its window in the
 * description.
 */
export async function visitCalendar(tx: Tx, participantId: string): Promise<Reply> {
  const { items } = await listVisits(tx, { participantId, skip: 0, limit: MOST, sort: 'target_date' });
  const facts = await calendarFacts(tx, participantId);
  const newest = new Map<string, VisitRecord>();
  for (const visit of items) {
    const known = newest.get(visit.visit_key);
    // Of one visit the row that counts; where all of them are closed, the last that was.
    if (!known || rank(visit) > rank(known) || (rank(visit) === rank(known) && visit.updated_at > known.updated_at))
      newest.set(visit.visit_key, visit);
  }
  return reply(200, calendarFile([...newest.values()].map((visit) => entryOf(visit, facts))), {
    'Content-Type': 'text/calendar; charset=utf-8',
    'Content-Disposition': 'inline; filename="visits.ics"',
    'Cache-Control': 'private, no-cache',
  });
}

const rank = (visit: VisitRecord): number => (visit.status === 'superseded' ? 0 : visit.status === 'cancelled' ? 1 : 2);

/** Who has withdrawn has no visits ahead: those that were still to be done are cancelled. */
const isCancelled = ({ status }: VisitRecord, withdrawn: boolean): boolean =>
  status === 'superseded' || status === 'cancelled' || (withdrawn && (status === 'scheduled' || status === 'open'));

const entryOf = (
  visit: VisitRecord,
  { withdrawn, sequences }: Awaited<ReturnType<typeof calendarFacts>>,
): CalendarEntry => ({
  visit_key: visit.visit_key,
  name: visit.name,
  target_date: visit.target_date,
  updated_at: visit.updated_at,
  sequence: sequences.get(visit.visit_key) ?? 0,
  description:
    `Can be done from ${visit.window_open} to ${visit.window_close}. ${visit.status === 'completed' ? 'Done.' : visit.status === 'missed' ? 'Missed.' : ''}`.trim(),
  cancelled: isCancelled(visit, withdrawn),
});
