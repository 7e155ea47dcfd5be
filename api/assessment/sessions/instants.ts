/** An instant in UTC with milliseconds, as programs write it. */
const USUAL = /^[1-9]\d{3}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** The last day that was parsed: trials come by the thousand, most of one day. */
let day = '';
let dayMs = NaN;

/** Whether an instant is in that form: without a letter that JSON escapes, and in whole milliseconds. */
export const isUsual = (instant: string): boolean => USUAL.test(instant);

/** Milliseconds since 1970 of an instant in the usual form, as `Date.parse` returns them, in a third of its time. */
export function millisecondsOf(instant: string): number {
  const date = instant.slice(0, 10);
  if (date !== day) {
    day = date;
    dayMs = Date.parse(`${date}T00:00:00.000Z`);
  }
  const digit = (at: number) => instant.charCodeAt(at) - 48;
  const pair = (at: number) => digit(at) * 10 + digit(at + 1);
  const seconds = (pair(11) * 60 + pair(14)) * 60 + pair(17);
  return dayMs + seconds * 1_000 + pair(20) * 10 + digit(22);
}
