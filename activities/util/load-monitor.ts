/**
 * Says whether this process does what somebody waits for: what gives way (workflows of participants for whom nothing
 * waits) then goes slowly. Of several workers each knows its own; it costs time, it breaks nothing.
 */
export class LoadMonitor {
  private until = 0;

  /** Something that somebody waits for is under way, for so many milliseconds from now at least. */
  note(milliseconds: number): void {
    this.until = Math.max(this.until, performance.now() + milliseconds);
  }

  get busy(): boolean {
    return performance.now() < this.until;
  }
}
