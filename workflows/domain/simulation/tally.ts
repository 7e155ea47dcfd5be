/** Counts by word, sorted by word: two simulations with the same counts serialize alike. */
export class Counts {
  private readonly counts = new Map<string, number>();
  add(word: string, by = 1): void {
    this.counts.set(word, (this.counts.get(word) ?? 0) + by);
  }
  get(word: string): number {
    return this.counts.get(word) ?? 0;
  }
  sorted(): Record<string, number> {
    return Object.fromEntries([...this.counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Counts during a simulation; values that can be computed from the participants at the end are not here. */
export class Tally {
  evaluations = 0;
  /** Results of evaluations, codes of validation faults and of refused dates, and codes of generation warnings. */
  readonly results = new Counts();
  readonly faults = new Counts();
  readonly refusedByHand = new Counts();
  readonly generationWarnings = new Counts();
  schedulesGenerated = 0;
  readonly overrides = new Counts();
  readonly overrideRefusals = new Counts();
  byReconsent = 0;
  changedWhileProvisional = 0;
  /** Moves of a final date: when, and by how many days. */
  readonly shifts: { day: number; days: number }[] = [];
  visitsMoved = 0;
  completedCarried = 0;
  carriedOffTarget = 0;
}
