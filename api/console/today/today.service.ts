import { stringify } from 'csv-stringify/sync';
import { chosenNames } from '../../../db/console/chosen-names.queries.js';
import type { ChosenNames } from '../../../db/console/chosen-names.queries.js';
import { DAY_GROUPS, visitsOfDay } from '../../../db/console/today.queries.js';
import type { DayFacet, DayFilter, DayGroup, DayVisit } from '../../../db/console/today.queries.js';
import { csvText } from '../../../db/exports/formula-text.js';
import type { Tx } from '../../../db/client/database.js';
import { lastPage } from '../routing/last-page.js';
import type { Words } from '../words/words.js';

export const PAGE_SIZE = 50;
/** The most visits in a file. */
export const FILE_ROWS = 10_000;

export interface TodayFilter extends Omit<DayFilter, 'limit'> {
  group: DayGroup;
}
export interface Today {
  items: DayVisit[];
  facets: DayFacet[];
  /** The number of each group within study and site. */
  totals: Record<DayGroup, number>;
  filter: TodayFilter;
  /** What it is narrowed to. */
  chosen: ChosenNames;
}

/** The visits of a day, by group. */
export async function loadToday(tx: Tx, filter: TodayFilter, limit = PAGE_SIZE): Promise<Today> {
  const { items, facets } = await visitsOfDay(tx, filter.group, { ...filter, limit });
  const here = facets.filter(
    (one) => (!filter.studyId || one.study_id === filter.studyId) && (!filter.siteId || one.site_id === filter.siteId),
  );
  const totals = Object.fromEntries(
    DAY_GROUPS.map((group) => [group, here.reduce((sum, one) => sum + one[group], 0)]),
  ) as Record<DayGroup, number>;
  const skip = lastPage(totals[filter.group], limit);
  // The last visit of the last page was done: the page before it is the last one.
  if (filter.skip > skip) return loadToday(tx, { ...filter, skip }, limit);
  const chosen = await chosenNames(tx, facets, { study: filter.studyId, site: filter.siteId });
  return { items, facets, totals, filter, chosen };
}

/** Visits as a CSV file with a header line. No cell is run as a formula. */
export function visitsFile({ today: { columns } }: Words, items: readonly DayVisit[]): string {
  const lines = items.map((visit) => [
    visit.study_code,
    visit.site_code ?? '',
    visit.participant_code,
    visit.name,
    visit.target_date,
    visit.window_open,
    visit.window_close,
    visit.zone,
  ]);
  const names = [
    columns.study,
    columns.site,
    columns.participant,
    columns.visit,
    columns.target,
    columns.open,
    columns.close,
    columns.zone,
  ];
  return stringify([names, ...lines].map((cells) => cells.map(csvText)));
}
