import { isUnfiltered } from '../../db/reports/base.queries.js';
import type { ReportScope } from '../../db/reports/base.queries.js';
import type { KeptTally } from '../../db/reports/study.queries.js';
import { changedPortions, portionsOf, sizeAndDates, tallyPortions } from '../../db/reports/tally-portions.queries.js';
import type { PortionTally } from '../../db/reports/tally-portions.queries.js';
import type { ReportVersion } from '../../db/reports/version.queries.js';
import { nowMs } from '../../db/client/clock.js';
import type { Tx } from '../../db/client/database.js';

/** Studies whose counts are kept, and versions of each: a reader may have a snapshot from before the newest. */
const MAX_STUDIES = 20,
  MAX_VERSIONS = 4;
/** Participants of a study from which its counts are kept: those of a smaller one are counted in a few milliseconds. */
const LARGE = 500;
/** The share of portions from which counting all of them, in one pass, is quicker. */
const MANY = 1 / 4;

/** Immutable: readers with other snapshots use it at the same time. */
interface Counts {
  version: number;
  dates: string;
  portions: number;
  /** When all visits were counted. */
  countedAt: number;
  lines: ReadonlyMap<number, string>;
  total: ReadonlyMap<string, number>;
}

/**
 * Keeps how many visits a large study has of each window, status and adherence, and brings the counts up to date when
 * they are asked for. They are kept by portions of participants. The audit records since tell whose visits may have
 * changed; their portions alone are counted again, in the reader's snapshot. A decision writes nothing for this. All
 * visits are counted when a date changes in one of the study's zones, or after a record that is not of one participant.
 */
export class StudyTallies {
  private readonly studies = new Map<string, Counts[]>();

  /**
   * @param compareAfterMs counts as old as this are counted again and compared
   * @param onDifference called if cached counts differed from the visits
   */
  constructor(
    private readonly compareAfterMs: number,
    private readonly onDifference: (study: string) => void,
  ) {}

  /** The counts in the transaction's snapshot; undefined: the question is not about all visits of a large study. */
  async of(
    tx: Tx,
    { version, reach }: ReportVersion,
    asked: ReportScope & { study: string },
  ): Promise<KeptTally | undefined> {
    const counts = await this.counts(tx, { version, reach }, asked);
    return counts && jsonOf(counts);
  }

  /** How many visits have a status on their participant's calendar; undefined as in `of`. */
  async withStatus(tx: Tx, version: ReportVersion, study: string, status: string): Promise<number | undefined> {
    const counts = await this.counts(tx, version, { study });
    if (!counts) return undefined;
    let sum = 0;
    for (const [key, n] of counts.total) if (key.split('|')[2] === status) sum += n;
    return sum;
  }

  private async counts(
    tx: Tx,
    { version, reach }: Pick<ReportVersion, 'version' | 'reach'>,
    asked: ReportScope & { study: string },
  ): Promise<Counts | undefined> {
    if (reach !== '*' || !isUnfiltered(asked)) return undefined;
    const { study } = asked;
    const { is_large, dates } = await sizeAndDates(tx, study, LARGE);
    if (!is_large) return undefined;
    const before = this.studies.get(study)?.find((one) => one.version <= version && one.dates === dates);
    const updated = before && (before.version === version ? before : await this.update(tx, study, before, version));
    const isDue = updated !== undefined && updated.countedAt < nowMs() - this.compareAfterMs;
    const counts = updated && !isDue ? updated : await count(tx, study, { version, dates });
    if (isDue && jsonOf(updated) !== jsonOf(counts)) this.onDifference(study);
    this.keep(study, counts);
    return counts;
  }

  private async update(tx: Tx, study: string, before: Counts, version: number): Promise<Counts | undefined> {
    const { portions } = before;
    const changed = await changedPortions(tx, { study, since: before.version, portions });
    if (!changed || changed.length > Math.max(1, portions * MANY)) return undefined;
    const now = new Map((await tallyPortions(tx, study, portions, changed)).map((one) => [one.portion, one.lines]));
    const lines = new Map(before.lines);
    const total = new Map(before.total);
    for (const portion of changed) {
      add(total, lines.get(portion), -1);
      lines.delete(portion);
      const own = now.get(portion);
      if (own === undefined) continue;
      add(total, own, 1);
      lines.set(portion, own);
    }
    return { ...before, version, lines, total };
  }

  private keep(study: string, counts: Counts): void {
    const others = (this.studies.get(study) ?? []).filter(({ version }) => version !== counts.version);
    this.studies.delete(study);
    this.studies.set(study, [counts, ...others].sort((a, b) => b.version - a.version).slice(0, MAX_VERSIONS));
    if (this.studies.size > MAX_STUDIES) this.studies.delete(this.studies.keys().next().value!);
  }
}

async function count(tx: Tx, study: string, { version, dates }: Pick<Counts, 'version' | 'dates'>): Promise<Counts> {
  const portions = await portionsOf(tx, study);
  const found = await tallyPortions(tx, study, portions);
  const total = new Map<string, number>();
  for (const { lines } of found) add(total, lines, 1);
  return { version, dates, portions, countedAt: nowMs(), lines: linesOf(found), total };
}

const linesOf = (found: readonly PortionTally[]) => new Map(found.map(({ portion, lines }) => [portion, lines]));

/** Adds a portion's lines to a total, or takes them away. */
function add(total: Map<string, number>, lines: string | undefined, sign: 1 | -1): void {
  for (const line of lines?.split('\n') ?? []) {
    const end = line.lastIndexOf('|');
    const key = line.slice(0, end);
    const n = (total.get(key) ?? 0) + sign * Number(line.slice(end + 1));
    if (n === 0) total.delete(key);
    else total.set(key, n);
  }
}

function jsonOf({ total }: Counts): KeptTally {
  const rows = [...total]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, n]) => {
      const [window, event, status, adherence] = key.split('|');
      return {
        visit_window_id: window || null,
        event_definition_id: event || null,
        status,
        adherence: adherence || null,
        n,
      };
    });
  return JSON.stringify(rows);
}
