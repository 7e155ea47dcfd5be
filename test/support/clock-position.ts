import { faketime } from './wrong-clock.js';

/**
 * Where the wall clock is when a run of tests begins: it goes on from there. The servers, API and worker, the mail
 * catcher and the tests themselves have it. Temporal's server, a static program, keeps the time that is: what a
 * workflow waits for is a span of time, never an instant of another clock.
 */
export interface ClockPosition {
  name: string;
  /** UTC: a date and time, or the next time of this day. */
  at: string;
}

export const CLOCK_POSITIONS: readonly ClockPosition[] = [
  { name: 'before-midnight', at: '23:58' },
  { name: 'after-midnight', at: '00:02' },
  { name: '29-february', at: '2028-02-29T11:30:00Z' },
  { name: 'end-of-29-february', at: '2028-02-29T23:58:00Z' },
  // An hour is left out, an hour comes twice: it begins two minutes later.
  { name: 'spring-in-berlin', at: '2027-03-28T00:58:00Z' },
  { name: 'autumn-in-berlin', at: '2027-10-31T00:58:00Z' },
  { name: 'spring-in-new-york', at: '2027-03-14T06:58:00Z' },
  { name: 'autumn-in-new-york', at: '2027-11-07T05:58:00Z' },
];

const DAY_MS = 86_400_000;

/**
 * By how many seconds the clock is to be moved: always forwards. While a process waits for input, its signal handlers see
 * the time that is. Where that is ahead of the moved clock, PostgreSQL takes each transaction that waits for its next
 * statement as one that has waited for too long.
 */
export function shiftOf({ at }: ClockPosition, now = Date.now()): number {
  if (at.includes('T')) return Math.round((Date.parse(at) - now) / 1000);
  const today = Date.parse(`${new Date(now).toISOString().slice(0, 10)}T${at}:00Z`);
  return Math.round(((today > now ? today : today + DAY_MS) - now) / 1000);
}

/**
 * What the environment of `npm test` has besides, for a run at this position; everything that it starts inherits it.
 * How long something takes is measured as before.
 * @returns undefined where libfaketime is not installed
 */
export function environmentAt(position: ClockPosition): Record<string, string> | undefined {
  const library = faketime();
  if (library === undefined) return undefined;
  const seconds = shiftOf(position);
  return {
    LD_PRELOAD: library,
    FAKETIME: `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    FAKETIME_DONT_RESET: '1',
  };
}
