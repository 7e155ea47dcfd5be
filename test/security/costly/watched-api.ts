import { Visitor } from '../../console/stage.js';
import { startApi } from '../../support/api-process.js';
import type { ApiProcess } from '../../support/api-process.js';
import { login } from '../../support/http.js';
import type { Http } from '../../support/http.js';
import { countingTurns, longestTurn, turnsDuring } from '../../support/loop-turns.js';
import type { Turns } from '../../support/loop-turns.js';
import { mainThreadMs } from '../../support/main-thread.js';
import { service } from '../../support/service.js';

/** One piece of work keeps the event loop for so long at most, in milliseconds of a usual processor. */
export const MOST_MS = 50;

/** An API process that tells how long it does not answer others. */
export class WatchedApi {
  private constructor(
    private readonly folder: string,
    readonly api: ApiProcess,
    readonly admin: Http,
  ) {}

  /** Undefined where the system does not tell the processor time of a thread. */
  static async start(settings: Record<string, string> = {}): Promise<WatchedApi | undefined> {
    if (mainThreadMs(process.pid) === undefined) return undefined;
    const counting = countingTurns();
    const run = await service();
    const api = await startApi({
      ...counting.settings,
      RATE_LIMIT_PER_MINUTE: '1000000',
      AUTH_RATE_LIMIT_PER_MINUTE: '1000000',
      ...settings,
    });
    return new WatchedApi(counting.folder, api, (await login(api.url, run.admin_email, run.admin_password ?? '')).http);
  }

  /** The administrator in the console. */
  async visitor(): Promise<Visitor> {
    const run = await service();
    return Visitor.of(this.api.url, run.admin_email, run.admin_password ?? '');
  }

  /** Processor time of the event loop's thread so far, milliseconds. */
  usedMs(): number {
    return mainThreadMs(this.api.pid)!;
  }

  turnsDuring(work: () => Promise<unknown>): Promise<Turns> {
    return turnsDuring(this.folder, this.api.pid, work);
  }

  /** The longest turn while `work` goes on, of as many tries as it takes to be below the limit; `again` prepares one. */
  longest(work: () => Promise<unknown>, again?: () => unknown): Promise<number> {
    return longestTurn(this.folder, this.api.pid, work, MOST_MS, again);
  }

  stop(): Promise<number | null> {
    return this.api.stop();
  }
}
