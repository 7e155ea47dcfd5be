import { Temporal } from 'temporal-polyfill';
import { addDays, dayOfWeek, daysBetween } from '../util/dates.js';

/** The simulated days by number, starting at 0. Dates before and after have numbers, too. */
export class SimulatedDays {
  readonly count: number;
  private readonly dates: string[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly weekdays = new Map<string, number>();

  constructor(
    readonly first: string,
    months: number,
  ) {
    this.count = daysBetween(first, Temporal.PlainDate.from(first).add({ months }).toString());
    for (let day = 0; day < this.count; day++) {
      this.dates.push(day === 0 ? first : addDays(this.dates[day - 1]!, 1));
      this.numbers.set(this.dates[day]!, day);
    }
  }

  get last(): string {
    return this.dates.at(-1)!;
  }
  date(day: number): string {
    return this.dates[day] ?? addDays(this.first, day);
  }

  /** Exact date arithmetic is slow: each date is computed once. */
  number(date: string): number {
    let found = this.numbers.get(date);
    if (found === undefined) this.numbers.set(date, (found = daysBetween(this.first, date)));
    return found;
  }

  /** 1 is Monday. */
  weekday(date: string): number {
    let found = this.weekdays.get(date);
    if (found === undefined) this.weekdays.set(date, (found = dayOfWeek(date)));
    return found;
  }

  /** The calendar months of the simulated time, `YYYY-MM`. */
  months(): string[] {
    return [...new Set(this.dates.map((date) => date.slice(0, 7)))];
  }
}

/** The instant of a local time; one skipped by a clock change moves later by the difference. */
export const instantOf = (date: string, minute: number, zone: string): string =>
  Temporal.PlainDate.from(date)
    .toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 })
    .toZonedDateTime(zone)
    .toInstant()
    .toString();

/** The days between `first` and `last` on which the clocks of `zone` change. */
export function clockChanges(zone: string, first: string, last: string): string[] {
  const found: string[] = [];
  let at = Temporal.PlainDate.from(first).toZonedDateTime({ timeZone: zone }).subtract({ seconds: 1 });
  for (;;) {
    const next = at.getTimeZoneTransition('next');
    if (!next || next.toPlainDate().toString() > last) return found;
    found.push(next.toPlainDate().toString());
    at = next;
  }
}
