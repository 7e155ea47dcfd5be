import { Temporal } from 'temporal-polyfill';

/** A study's rule for one reminder; clock times are HH:MM, in the participant's time zone. */
export interface Rule {
  send_at: string;
  quiet_hours: { from: string; to: string } | null;
}

/** Whether a clock time is within quiet hours; `to` is exclusive. Equal ends: there are none. */
function isQuiet(time: string, quiet: { from: string; to: string } | null): quiet is { from: string; to: string } {
  if (!quiet || quiet.from === quiet.to) return false;
  return quiet.from < quiet.to ? time >= quiet.from && time < quiet.to : time >= quiet.from || time < quiet.to;
}

/**
 * When a message of this day is due: at `send_at`, or if that is quiet, at the end of the quiet hours. The database
 * plans sets by the same rule (`reminder_due`, migration 0103); a property test compares the two.
 * @param date YYYY-MM-DD, local @returns an ISO instant
 */
export function dueAt(date: string, rule: Rule, zone: string): string {
  const day = Temporal.PlainDate.from(date);
  if (!isQuiet(rule.send_at, rule.quiet_hours)) return local(day, rule.send_at, zone);
  const { from, to } = rule.quiet_hours;
  const ends = from > to && rule.send_at >= from ? day.add({ days: 1 }) : day;
  return local(ends, to, zone);
}

/**
 * A local time as an instant, as everywhere in the service and in calendars (RFC 5545): a time skipped by a clock
 * change counts as if the clock had not changed yet; of a repeated time the first one counts.
 */
const local = (day: Temporal.PlainDate, time: string, zone: string): string =>
  day
    .toPlainDateTime(Temporal.PlainTime.from(time))
    .toZonedDateTime(zone, { disambiguation: 'compatible' })
    .toInstant()
    .toString();

/** When quiet hours that include `now` end; null: it is not quiet. */
export function quietUntil(now: string, quiet: Rule['quiet_hours'], zone: string): string | null {
  // Most studies have none, and local times are expensive to compute.
  if (!quiet || quiet.from === quiet.to) return null;
  const here = Temporal.Instant.from(now).toZonedDateTimeISO(zone);
  const time = here.toPlainTime().toString({ smallestUnit: 'minute' });
  if (!isQuiet(time, quiet)) return null;
  const day = quiet.from > quiet.to && time >= quiet.from ? here.toPlainDate().add({ days: 1 }) : here.toPlainDate();
  return local(day, quiet.to, zone);
}
