/**
 * Participants whose workflows were sent low-priority messages that a worker has yet to execute. A decision that a user
 * waits for comes after all of them in Temporal's queue, so there are only a few at a time: on a slow machine fewer a
 * second than their pace allows.
 */
export class StartedWork {
  /** Until when each counts: another worker may have executed it, or there was nothing to execute. */
  private readonly until = new Map<string, number>();

  constructor(private readonly patienceMs = 2_000) {}

  begin(participantId: string): void {
    this.until.set(participantId, performance.now() + this.patienceMs);
  }

  end(participantId: string): void {
    this.until.delete(participantId);
  }

  get size(): number {
    const now = performance.now();
    for (const [participant, until] of this.until) if (until <= now) this.until.delete(participant);
    return this.until.size;
  }
}
