/**
 * What is to happen on which simulated day, in the order in which it was put down. What lies beyond the end is let go.
 */
export class Agenda {
  private readonly buckets: (() => void)[][];
  /** The day that is lived through. */
  today = -1;

  constructor(days: number) {
    this.buckets = Array.from({ length: days }, () => []);
  }

  /** Puts something down for a day; what is put down for today or for the past happens today. */
  at(day: number, what: () => void): void {
    this.buckets[Math.max(day, this.today)]?.push(what);
  }

  /** Lives through one day, what comes up meanwhile included. */
  live(day: number): void {
    this.today = day;
    const bucket = this.buckets[day]!;
    for (let i = 0; i < bucket.length; i++) bucket[i]!();
    // What is done is let go: a long study has many.
    this.buckets[day] = [];
  }
}
