/**
 * Tells whether this process does work that a user waits for: low-priority work (workflows of participants for whom
 * nothing waits) then runs slowly. Each worker has its own: that only costs time.
 */
export class LoadMonitor {
  private until = 0;

  /** Marks urgent work as running, for at least so many milliseconds from now. */
  note(milliseconds: number): void {
    this.until = Math.max(this.until, performance.now() + milliseconds);
  }

  get busy(): boolean {
    return performance.now() < this.until;
  }
}
