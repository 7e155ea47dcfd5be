/** The actions of each simulated day, in the order of their scheduling. Actions beyond the end are dropped. */
export class Agenda {
  private readonly buckets: (() => void)[][];
  /** The current day. */
  today = -1;

  constructor(days: number) {
    this.buckets = Array.from({ length: days }, () => []);
  }

  /** Schedules an action for a day; today and past days mean today. */
  at(day: number, what: () => void): void {
    this.buckets[Math.max(day, this.today)]?.push(what);
  }

  /** Runs one day, including actions added meanwhile. */
  live(day: number): void {
    this.today = day;
    const bucket = this.buckets[day]!;
    for (let i = 0; i < bucket.length; i++) bucket[i]!();
    // Frees the finished day: a long study has many.
    this.buckets[day] = [];
  }
}
