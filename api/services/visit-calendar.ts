import type { Tx } from '../../db/knex.js';
import { listVisits } from '../../db/queries/visits.js';
import type { VisitRecord } from '../../db/queries/visits.js';
import { addDays } from '../../workflows/domain/dates.js';
import { reply } from '../route.js';
import type { Reply } from '../route.js';

const MOST = 500;
const LINE_OCTETS = 75;

/**
 * A participant's visits as an iCalendar feed (RFC 5545): one all-day event a visit on its target date, its window in
 * the description. The uid is the visit's key, so that a re-anchored visit moves in the subscriber's calendar instead
 * of standing there twice. Nothing of the person is in it.
 */
export async function visitCalendar(tx: Tx, participantId: string): Promise<Reply> {
  const { items } = await listVisits(tx, { participantId, skip: 0, limit: MOST, sort: 'target_date' });
  const newest = new Map<string, VisitRecord>();
  for (const visit of items) {
    const known = newest.get(visit.visit_key);
    // Of one visit the row that counts; where all of them are closed, the last that was.
    if (!known || rank(visit) > rank(known) || (rank(visit) === rank(known) && visit.updated_at > known.updated_at)) newest.set(visit.visit_key, visit);
  }
  const lines = [
    'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//research-assessment-platform//visits//EN', 'CALSCALE:GREGORIAN', 'METHOD:PUBLISH', 'X-WR-CALNAME:Study visits',
    ...[...newest.values()].flatMap(eventOf), 'END:VCALENDAR',
  ];
  return reply(200, `${lines.flatMap(folded).join('\r\n')}\r\n`, { 'Content-Type': 'text/calendar; charset=utf-8', 'Content-Disposition': 'inline; filename="visits.ics"', 'Cache-Control': 'private, no-cache' });
}

const rank = (visit: VisitRecord): number => (visit.status === 'superseded' ? 0 : visit.status === 'cancelled' ? 1 : 2);

function eventOf(visit: VisitRecord): string[] {
  const gone = visit.status === 'superseded' || visit.status === 'cancelled';
  return [
    'BEGIN:VEVENT', `UID:${visit.visit_key}@visits`, `DTSTAMP:${instant(visit.updated_at)}`, `LAST-MODIFIED:${instant(visit.updated_at)}`,
    // Grows with every change, as the uid's readers expect.
    `SEQUENCE:${Math.floor(Date.parse(visit.updated_at) / 1000) - Math.floor(Date.parse(visit.created_at) / 1000)}`,
    `DTSTART;VALUE=DATE:${day(visit.target_date)}`, `DTEND;VALUE=DATE:${day(addDays(visit.target_date, 1))}`, `SUMMARY:${escaped(visit.name)}`,
    `DESCRIPTION:${escaped(`Can be done from ${visit.window_open} to ${visit.window_close}. ${visit.status === 'completed' ? 'Done.' : visit.status === 'missed' ? 'Missed.' : ''}`.trim())}`,
    `STATUS:${gone ? 'CANCELLED' : 'CONFIRMED'}`, 'TRANSP:TRANSPARENT', 'END:VEVENT',
  ];
}

const day = (date: string): string => date.replaceAll('-', '');
const instant = (at: string): string => `${at.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
const escaped = (text: string): string => text.replaceAll(/[\\;,]/g, (c) => `\\${c}`).replaceAll(/\r\n|\r|\n/g, '\\n');

/** Lines are folded at 75 octets, never inside a character. */
function folded(line: string): string[] {
  const parts: string[] = [];
  let part = '';
  let octets = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (octets + size > LINE_OCTETS) {
      parts.push(part);
      part = ' ';
      octets = 1;
    }
    part += character;
    octets += size;
  }
  return [...parts, part];
}
