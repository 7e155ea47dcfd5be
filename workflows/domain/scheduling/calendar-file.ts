import { addDays } from '../util/dates.js';

/** A visit as an all-day entry of a calendar; times are ISO instants. */
export interface CalendarEntry {
  visit_key: string;
  name: string;
  target_date: string;
  description: string;
  cancelled: boolean;
  updated_at: string;
  /** Increases with every change. */
  sequence: number;
}

/** The properties of the calendar as a whole. */
export interface CalendarFile {
  name?: string;
  /** Of its texts. */
  language?: string;
  /** How often a program refreshes it (RFC 7986, 5.7). */
  hours?: number;
}

const LINE_OCTETS = 75;

/**
 * Visits as an iCalendar document (RFC 5545). The uid is the visit's key, so that a calendar moves an existing visit
 * instead of adding a second one. It contains no personal data.
 */
export function calendarFile(
  entries: readonly CalendarEntry[],
  { name = 'Study visits', language, hours }: CalendarFile = {},
): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//research-assessment-platform//visits//EN',
    'CALSCALE:GREGORIAN',
    'METHOD:PUBLISH',
    `X-WR-CALNAME:${escaped(name)}`,
    ...(language === undefined ? [] : [`NAME;LANGUAGE=${language}:${escaped(name)}`]),
    ...(hours === undefined ? [] : [`REFRESH-INTERVAL;VALUE=DURATION:PT${hours}H`, `X-PUBLISHED-TTL:PT${hours}H`]),
    ...entries.flatMap(eventOf),
    'END:VCALENDAR',
  ];
  return `${lines.flatMap(folded).join('\r\n')}\r\n`;
}

const LAST_DAY = '9999-12-31';

const eventOf = (entry: CalendarEntry): string[] => [
  'BEGIN:VEVENT',
  `UID:${entry.visit_key}@visits`,
  `DTSTAMP:${utcStamp(entry.updated_at)}`,
  `LAST-MODIFIED:${utcStamp(entry.updated_at)}`,
  `SEQUENCE:${entry.sequence}`,
  `DTSTART;VALUE=DATE:${day(entry.target_date)}`,
  // The day after the last one cannot be written. Without an end, an event takes its day.
  ...(entry.target_date === LAST_DAY ? [] : [`DTEND;VALUE=DATE:${day(addDays(entry.target_date, 1))}`]),
  `SUMMARY:${escaped(entry.name)}`,
  `DESCRIPTION:${escaped(entry.description)}`,
  `STATUS:${entry.cancelled ? 'CANCELLED' : 'CONFIRMED'}`,
  'TRANSP:TRANSPARENT',
  'END:VEVENT',
];

const day = (date: string): string => date.replaceAll('-', '');
const utcStamp = (instant: string): string => `${instant.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
const escaped = (text: string): string => text.replaceAll(/[\\;,]/g, (c) => `\\${c}`).replaceAll(/\r\n|\r|\n/g, '\\n');

/** Lines are folded at 75 octets, never inside a character. */
function folded(line: string): string[] {
  // A UTF-16 unit takes at most three octets.
  if (line.length * 3 <= LINE_OCTETS || (line.length <= LINE_OCTETS && isAscii(line))) return [line];
  const parts: string[] = [];
  let part = '';
  let octets = 0;
  for (const character of line) {
    const size = octetsOf(character.codePointAt(0)!);
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

// eslint-disable-next-line no-control-regex
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);
/** In UTF-8. An encoder for each character took a tenth of a mail's time. */
const octetsOf = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
