import { nowMs } from '../../../db/client/clock.js';
import type { ReportScope } from '../../../db/reports/base.queries.js';
import type { ReportVersion } from '../../../db/reports/version.queries.js';

const MAX_CACHED = 200;
/** Midnights of all time zones fall on quarters of an hour: no local date changes before the next one. */
const QUARTER_MS = 900_000;

interface Entry {
  answer: unknown;
  until: number;
}

/**
 * Caches computed reports until their data change: the version of a study's data is the last audit record of a change,
 * and no change commits without one. Changes of date and expiring sessions have no record: an answer is cached until
 * the next quarter of an hour, or the next session expires.
 */
export class ReportCache {
  private readonly entries = new Map<string, Entry>();

  /**
   * The cached report of this name and question, or a new one. It is shared only among callers who see the same sites.
   * @param version read before the report: after a change between the two the cached answer is newer than its version,
   * never older
   */
  async answer<T>(
    { version, reach, next_expiry }: ReportVersion,
    name: string,
    asked: ReportScope & { study: string },
    compute: () => Promise<T>,
  ): Promise<T> {
    const { study, from, to, site_code, arm } = asked;
    const key = JSON.stringify([study, name, version, reach, from, to, site_code, arm]);
    const now = nowMs();
    const known = this.entries.get(key);
    if (known && known.until > now) return known.answer as T;
    const answer = await compute();
    const quarter = (Math.floor(now / QUARTER_MS) + 1) * QUARTER_MS;
    this.keep(key, { answer, until: next_expiry === null ? quarter : Math.min(quarter, Date.parse(next_expiry)) });
    return answer;
  }

  private keep(key: string, entry: Entry): void {
    this.entries.delete(key);
    this.entries.set(key, entry);
    // The oldest is evicted first; entries of past versions, which nobody requests any more, grow old and go.
    if (this.entries.size > MAX_CACHED) this.entries.delete(this.entries.keys().next().value!);
  }
}
