import { epochOf } from '../util/dates.js';
import { AHEAD_MS } from './quality.js';

/** A remark on a session's times or its device; it changes nothing: all results are kept. */
export interface SessionRemark {
  code: 'CLOCK_SET_BACK' | 'CLOCK_AHEAD' | 'CLOCK_BEHIND' | 'UNKNOWN_TIMEZONE' | 'UNKNOWN_LANGUAGE';
  message: string;
}
/** A session's start and end, in milliseconds since 1970. */
export interface SessionTimes {
  started_ms: number;
  completed_ms: number | null;
}
/** A time further ahead is more than a slightly wrong clock. */
const MAX_AHEAD_MS = 24 * 3_600_000;

/** A participant may be entered after a first session, but hardly a year after it. */
const BEFORE_ENTRY_MS = 365 * 24 * 3_600_000;
/** The reference times of a session: the server's clock, and when the participant was entered. */
export interface SessionClock {
  now: number;
  entered: number;
}

/** Times of a session that a correct device clock cannot show. */
export function timeFlags({ started_ms, completed_ms }: SessionTimes, { now, entered }: SessionClock): SessionRemark[] {
  const flags: SessionRemark[] = [];
  if (completed_ms !== null && completed_ms < started_ms)
    flags.push({
      code: 'CLOCK_SET_BACK',
      message: 'completedAt is before startedAt: the clock was set back meanwhile',
    });
  if (Math.max(started_ms, completed_ms ?? started_ms) > now + AHEAD_MS)
    flags.push({ code: 'CLOCK_AHEAD', message: 'startedAt or completedAt is ahead of the server’s clock' });
  if (started_ms < entered - BEFORE_ENTRY_MS)
    flags.push({ code: 'CLOCK_BEHIND', message: 'startedAt lies more than a year before the participant was entered' });
  return flags;
}

/** A setting of a device that may have no meaning here. */
export type DeviceSetting = 'timezone' | 'language';

/** The participant's own zone and language count instead. */
export const settingFlags = (unknown: readonly DeviceSetting[] = []): SessionRemark[] =>
  unknown.map((name) =>
    name === 'timezone'
      ? {
          code: 'UNKNOWN_TIMEZONE',
          message: 'timezone is not an IANA time zone: the time zone of the site or study applies',
        }
      : {
          code: 'UNKNOWN_LANGUAGE',
          message: 'language is not a BCP 47 tag: the participant’s preferred language applies',
        },
  );

/**
 * When a session counts as ended: at its end or, if that is impossible, at its start; if that is impossible too, at its
 * arrival.
 * @param entered no session is expected more than a year before
 */
export function countedEnd(
  { started_ms, completed_ms }: SessionTimes,
  { now, entered = -Infinity }: Pick<SessionClock, 'now'> & Partial<SessionClock>,
): number {
  const possible = (at: number) => at <= now + MAX_AHEAD_MS && at >= entered - BEFORE_ENTRY_MS;
  if (!possible(started_ms)) return completed_ms !== null && possible(completed_ms) ? completed_ms : now;
  return completed_ms !== null && completed_ms >= started_ms && possible(completed_ms) ? completed_ms : started_ms;
}

/** A session's start, and by how much its device says that its clock is ahead; both in milliseconds. */
export interface DeviceStart {
  started_ms: number;
  ahead_ms?: number;
}

/** Whether a session starts later than its device's clock can have shown. */
export const startsInFuture = ({ started_ms, ahead_ms = 0 }: DeviceStart, now: number): boolean =>
  started_ms - ahead_ms > now + MAX_AHEAD_MS;

/**
 * The start by whose date the visit of a session is found that names none; null: nothing tells the date. A start that
 * lies ahead when it arrives was shown by a clock that is ahead: it must not complete a visit that is yet to come.
 */
export function datedStart(start: DeviceStart, now: number): number | null {
  const { started_ms, ahead_ms = 0 } = start;
  if (started_ms <= now + AHEAD_MS) return started_ms;
  return startsInFuture(start, now) ? null : started_ms - ahead_ms;
}

/**
 * From when on sessions of a participant are expected: the visits of a study that is entered afterwards lie before its
 * participants were entered.
 */
export const enteredFor = (entered: number, visit: { window_open: string } | null): number =>
  visit === null ? entered : Math.min(entered, epochOf(`${visit.window_open}T00:00:00Z`));

/** The expiry of a session. A start that is far ahead must not keep it open until then. */
export const expiryOf = (startedMs: number, lastsMs: number, now: number): number =>
  Math.min(startedMs, now + MAX_AHEAD_MS) + lastsMs;
