import { call } from './call.js';

/**
 * A monotonic clock that ignores changes of the device's own, and knows its offset from the server's. Reaction times
 * are differences of `performance.now()`; this is for `timestamp`, `startedAt`, `completedAt`.
 */
export class DeviceClock {
  private readonly mark = performance.now();

  /** @param began time on the device's own clock, in milliseconds since 1970 */
  constructor(private began = Date.now()) {}

  private ms(): number {
    return this.began + (performance.now() - this.mark);
  }

  /** The instant as ISO 8601 in UTC. */
  now(): string {
    return new Date(this.ms()).toISOString();
  }

  /**
   * Adopts the service's time, which was read half a round trip ago. Call it before a session, never during one: its
   * times would jump.
   */
  async compare(api: string): Promise<void> {
    const asked = this.ms();
    const { server_time } = await call<{ server_time: string }>(
      `${api}/api/sync/status`,
      {},
      { attempts: 1, firstWaitMs: 0 },
    );
    this.began += Date.parse(server_time) - (asked + this.ms()) / 2;
  }
}
