import { Temporal } from 'temporal-polyfill';

/**
 * A cache of results for recurring inputs: a study has a few thousand dates, and parsing one costs more than using it.
 * It is cleared when full, so that it never grows.
 */
function remembered<Of, T>(most: number, work: (input: Of) => T): (input: Of) => T {
  const known = new Map<Of, T>();
  return (input) => {
    let found = known.get(input);
    if (found === undefined) {
      found = work(input);
      if (known.size >= most) known.clear();
      known.set(input, found);
    }
    return found;
  };
}

/** Dates are immutable, so all callers may share one. */
const plain = remembered(5_000, (date: string) => Temporal.PlainDate.from(date, { overflow: 'reject' }));

const EPOCH = Temporal.PlainDate.from('1970-01-01');
const dayNumber = remembered(5_000, (date: string) => EPOCH.until(plain(date), { largestUnit: 'days' }).days);
const dayOf = remembered(20_000, (number: number) => EPOCH.add({ days: number }).toString());

/** Calendar arithmetic on `YYYY-MM-DD`; no `Date`, no zone of the machine. */
export const addDays = (date: string, days: number): string => dayOf(dayNumber(date) + days);

/** Days from `from` to `to`; positive when `to` is later. */
export const daysBetween = (from: string, to: string): number => dayNumber(to) - dayNumber(from);

/** A period in which a time zone keeps one offset from UTC. */
interface Stretch {
  from: number;
  until: number;
  offset: number;
}
const stretches = remembered(600, (_zone: string): Stretch[] => []);

/**
 * The offset of `zone` at `instant`, both in milliseconds. Computing it costs more than the rest of a decision, and it
 * is valid from one clock change to the next: the period is cached.
 */
function offsetAt(zone: string, instant: number): number {
  const known = stretches(zone);
  const found = known.find(({ from, until }) => instant >= from && instant < until);
  if (found) return found.offset;
  const at = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);
  // "previous" is exclusive: a change at this very instant begins the period.
  const from = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous')?.epochMilliseconds ?? -Infinity;
  const until = at.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity;
  const offset = at.offsetNanoseconds / 1e6;
  if (known.length >= 500) known.length = 0;
  known.push({ from, until, offset });
  return offset;
}

const MS_PER_DAY = 86_400_000;

/** Milliseconds since 1970 of an instant's text; cached, since the date of one `now` is computed repeatedly. */
export const epochOf = remembered(1_000, (instant: string) => Temporal.Instant.from(instant).epochMilliseconds);

/** The calendar date of an instant in `zone`. */
export const dateIn = (instant: string, zone: string): string => dateAt(epochOf(instant), zone);

/** The same of an instant in milliseconds since 1970. */
export const dateAt = (instantMs: number, zone: string): string =>
  dayOf(Math.floor((instantMs + offsetAt(zone, instantMs)) / MS_PER_DAY));

/** The latest local date at an instant (milliseconds): a later date is in the future in every time zone. */
export const latestDay = (instantMs: number): string => dateAt(instantMs, 'Pacific/Kiritimati');

/** The instant at which a date begins in `zone`, ISO 8601 UTC: midnight, or the first moment after a skipped one. */
export const startOfDay = (date: string, zone: string): string =>
  plain(date).toZonedDateTime(zone).toInstant().toString();

/** 1 is Monday, 7 is Sunday. */
export const dayOfWeek = (date: string): number => plain(date).dayOfWeek;

/** An earlier date of a person's life, or of a study's fact, has a mistyped year. */
export const FIRST_LIVED_DAY = '1900-01-01';

const FIRST_DAY = '0001-01-01';
/** Whether a computed date is in the years 1 to 9999: others can't be written as `YYYY-MM-DD` and stored. */
export const inCalendar = (date: string): boolean => date >= FIRST_DAY;

/** True for a date of the years 1 to 9999 written as `YYYY-MM-DD` (2023-02-29 is none). */
export function isDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value) || !inCalendar(value)) return false;
  try {
    plain(value);
    return true;
  } catch {
    return false;
  }
}

/**
 * Names whose meaning differs between programs, and their zones of the same name today (the time zone database's own
 * links). PostgreSQL reads the first four as offsets without daylight saving, and does not know the others.
 */
const LINKED: Readonly<Record<string, string>> = {
  CET: 'Europe/Brussels',
  MET: 'Europe/Brussels',
  EET: 'Europe/Athens',
  WET: 'Europe/Lisbon',
  'US/PACIFIC-NEW': 'America/Los_Angeles',
  'CANADA/EAST-SASKATCHEWAN': 'America/Regina',
};

/** True for an IANA time zone name that this platform and the database know. */
export function isZone(value: string): boolean {
  // An offset such as +02:00 has no daylight saving. This platform alone knows the zones of System V.
  if (value.length > 50 || !/^(?!systemv\/)[a-z]/i.test(value)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(value);
    return true;
  } catch {
    return false;
  }
}

/** The areas of the time zone database. */
const AREAS =
  'africa america antarctica arctic asia atlantic australia brazil canada chile etc europe indian mexico pacific ' +
  'systemv us';
const AREA = new RegExp(`^(${AREAS.replaceAll(' ', '|')})/`, 'i');

/**
 * A zone, or what devices show in its place: `Etc/Unknown`, `GMT+02:00`, an abbreviation, a zone newer than this
 * platform's data. A name of an area that does not exist (`Mars/Base`) is a fault of the app.
 */
export const isDeviceZone = (value: string): boolean =>
  isZone(value) || (value.length <= 100 && (!value.includes('/') || AREA.test(value)));

/** Whole years from `birth` to `on`. */
export const yearsBetween = (birth: string, on: string): number =>
  plain(birth).until(plain(on), { largestUnit: 'years' }).years;

export type PartialHandling = 'reject' | 'first_of_month' | 'last_of_month' | 'middle_of_month';

/** The content of a date item: a day, an instant, a month or a year; null: unreadable. */
export interface ReadDate {
  date: string;
  instant: string | null;
  partial: string | null;
  precision: 'date' | 'datetime' | 'partial_month' | 'partial_year';
}

const UNKNOWN = '(?:-(?:UN|UNK|XX|--|\\?\\?))';
const PARTIAL_MONTH = new RegExp(`^(?!0000)(\\d{4})-(\\d{2})${UNKNOWN}?$`, 'i');
const PARTIAL_YEAR = new RegExp(`^(?!0000)(\\d{4})${UNKNOWN}?${UNKNOWN}?$`, 'i');

/**
 * Reads a form's date item. A partial value becomes the day that `handling` defines (middle = the 15th; of a year
 * without month the 15th of June), and keeps its text; `reject` reads it as no date.
 */
export function readDateItem(raw: unknown, zone: string, handling: PartialHandling): ReadDate | null {
  if (typeof raw !== 'string') return null;
  const value = raw.trim();
  if (isDate(value)) return { date: value, instant: null, partial: null, precision: 'date' };
  const instant = readInstant(value, zone);
  if (instant) {
    const date = dateIn(instant, zone);
    // At the ends of the calendar the local day and the instant in UTC may be in different years.
    return isDate(date) && isDate(instant.slice(0, 10))
      ? { date, instant, partial: null, precision: 'datetime' }
      : null;
  }
  if (handling === 'reject') return null;
  const month = PARTIAL_MONTH.exec(value);
  if (month) {
    const partial = `${month[1]}-${month[2]}`;
    const number = Number(month[2]);
    if (number < 1 || number > 12) return null;
    return { date: dayWithin(partial, handling), instant: null, partial, precision: 'partial_month' };
  }
  const year = PARTIAL_YEAR.exec(value);
  if (year) {
    const inYear = { first_of_month: '01', middle_of_month: '06', last_of_month: '12' }[handling];
    return {
      date: dayWithin(`${year[1]}-${inYear}`, handling),
      instant: null,
      partial: year[1]!,
      precision: 'partial_year',
    };
  }
  return null;
}

function dayWithin(yearMonth: string, handling: Exclude<PartialHandling, 'reject'>): string {
  const month = Temporal.PlainYearMonth.from(yearMonth);
  const day = { first_of_month: 1, middle_of_month: 15, last_of_month: month.daysInMonth }[handling];
  return month.toPlainDate({ day }).toString();
}

/** A day and time, maybe with an offset, of which the minutes may be missing, and the name of its zone. */
const DAY_AND_TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}[\d:.,]*)(?:(Z|[+-]\d{2}(?::?\d{2})?)(?:\[[^\]]*\])?)?$/i;

/** An instant from `2026-01-05T10:00Z`, with an offset, or local to `zone` without one; null: invalid. */
function readInstant(value: string, zone: string): string | null {
  const [, day, time, offset] = DAY_AND_TIME.exec(value) ?? [];
  if (day === undefined) return null;
  try {
    return offset === undefined
      ? Temporal.PlainDateTime.from(`${day}T${time}`).toZonedDateTime(zone).toInstant().toString()
      : Temporal.Instant.from(`${day}T${time}${offset}`).toString();
  } catch {
    return null;
  }
}

/** The name of a known time zone in its usual spelling: `europe/berlin` becomes `Europe/Berlin`, `CET` its zone. */
export const zoneName = (zone: string): string =>
  LINKED[zone.toUpperCase()] ?? Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId;
