const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether the text is an existing calendar date, written `YYYY-MM-DD`. */
export function isCalendarDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= DAYS[month - 1]! + (leap ? 1 : 0);
}

/** The day in a text: the leading `YYYY-MM-DD` of a day and time, or of an instant. Undefined: none. */
export function leadingDay(text: string): string | undefined {
  const day = text.slice(0, 10);
  const fits = /^([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}(:?\d{2})?)?)?$/i.test(text.slice(10));
  return fits && isCalendarDate(day) ? day : undefined;
}

/** Whether the text is a date in a precision that a form mapping may read: day, day and time, month or year. */
export function isDateLike(text: string): boolean {
  if (/^(?!0000)\d{4}$/.test(text)) return true;
  if (/^(?!0000)\d{4}-(0[1-9]|1[0-2])$/.test(text)) return true;
  return isCalendarDate(text.slice(0, 10)) && /^$|^[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(text.slice(10));
}
