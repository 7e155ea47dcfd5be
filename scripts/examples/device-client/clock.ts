import { call } from './call.js';

/**
 * A clock that goes on evenly, whatever the device's own is set to meanwhile, and that knows how far it is from the
 * server's. Reaction times are differences of `performance.now()`; this is for `timestamp`, `startedAt`, `completedAt`.
 */
export class DeviceClock {
  private readonly mark = performance.now();

  /** @param began what the device's own clock shows, in milliseconds since 1970 */
  constructor(private began = Date.now()) {}

  private ms(): number {
    return this.began + (performance.now() - this.mark);
  }

  /** The instant as ISO 8601 in UTC. */
  now(): string {
    return new Date(this.ms()).toISOString();
  }

  /**
   * Goes by the service's time from now on, which was read half of the way there and back ago. Called before a session,
   * never in the middle of one: its times would jump.
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
