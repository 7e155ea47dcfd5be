import { nowMs } from '../../../db/client/clock.js';
import type { ReportScope } from '../../../db/reports/base.queries.js';
import type { ReportVersion } from '../../../db/reports/version.queries.js';

const MAX_CACHED = 200;
/** Midnights of all zones fall on quarters of an hour: until the next one nobody's calendar turns. */
const QUARTER_MS = 900_000;

interface Entry {
  answer: unknown;
  until: number;
}

/**
 * Reports as they were computed, until what they are made of changes: the version of a study's data is the last audit
 * record of a change, which no change can do without. What a calendar or a session's end changes has no record: an
 * answer is kept until the next quarter of an hour, or the next session runs out.
 */
export class ReportCache {
  private readonly entries = new Map<string, Entry>();

  /**
   * The report by this name under this question: kept, or computed now. It is only given to who sees the same sites.
   * @param version read before the report: a change between the two makes the kept answer newer than its version, never
   * older
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
    // The oldest goes first; what nobody can ask for any more, its version being past, grows old by itself.
    if (this.entries.size > MAX_CACHED) this.entries.delete(this.entries.keys().next().value!);
  }
}
