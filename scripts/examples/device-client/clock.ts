import { call } from './call.js';
import type { Patience } from './call.js';

/**
 * A clock that goes on evenly, whatever the device's own is set to meanwhile, and that knows how far it is from the
 * server's. Reaction times are differences of `performance.now()`; this is for `timestamp`, `startedAt`, `completedAt`.
 */
export class DeviceClock {
  private readonly began: number;
  private readonly mark = performance.now();
  private offsetMs = 0;

  /** @param wallClock what the device's own clock shows, in milliseconds since 1970 */
  constructor(wallClock: () => number = Date.now) {
    this.began = wallClock();
  }

  /** The instant as ISO 8601 in UTC. */
  now(): string {
    return new Date(this.began + (performance.now() - this.mark) + this.offsetMs).toISOString();
  }

  /**
   * Asks the service for its time and goes by it from now on; half of the way there and back is added. Called before a
   * session, never in the middle of one: its times would jump.
   */
  async compare(api: string, patience: Patience): Promise<void> {
    let asked = '';
    let sentAt = 0;
    const { server_time } = await call<{ server_time: string }>(
      api,
      {
        method: 'GET',
        path: '/api/sync/status',
        headers: () => {
          asked = this.now();
          sentAt = performance.now();
          return {};
        },
      },
      patience,
    );
    const halfWay = (performance.now() - sentAt) / 2;
    this.offsetMs += Date.parse(server_time) + halfWay - (Date.parse(asked) + 2 * halfWay);
  }
}
