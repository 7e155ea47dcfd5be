import type { Statement } from '../client/one-trip.js';
import { ask, askOfAll, numberOf, question } from './base.queries.js';
import type { ReportScope } from './base.queries.js';
import { tallied } from './tally.queries.js';
import type { Tx } from '../client/database.js';

export type AdherenceCounts = 'early' | 'in_window' | 'late' | 'missed' | 'pending' | 'cancelled';
export interface ReportedVisit {
  id: string;
  participant_id: string;
  participant_code: string;
  site_code: string | null;
  arm: string | null;
  window_code: string | null;
  name: string;
  target_date: string;
  window_open: string;
  window_close: string;
  status: string;
  completed_at: string | null;
  adherence: AdherenceCounts;
  days_off_target: number | null;
}

const COLUMNS = `j.id, j.participant_id, j.participant_code, j.site_code, j.arm,
  coalesce(w.code, e.event_oid) as window_code, j.name, j.target_date, j.window_open, j.window_close,
  j.status, j.completed_at, j.adherence, j.days_off_target`;
const NAMED =
  'left join visit_windows w on w.id = j.visit_window_id left join event_definitions e on e.id = j.event_definition_id';

/** Visits with their adherence, by target date. Superseded rows are left out: another row replaces each. */
export async function reportedVisits(
  tx: Tx,
  asked: ReportScope,
  page: { skip: number; limit: number; adherence?: AdherenceCounts | undefined },
): Promise<{ items: ReportedVisit[]; total: number }> {
  if (page.adherence === undefined) return pageOfAll(tx, asked, { skip: page.skip, limit: page.limit });
  const which = `j.status <> 'superseded' and j.adherence = :adherence`;
  const more = { skip: page.skip, limit: page.limit, adherence: page.adherence };
  const [row] = await askOfAll<{ total: number }>(
    tx,
    asked,
    [],
    `with ${await tallied(tx, asked)} select coalesce(sum(n), 0) as total from tallied j where ${which}`,
    { adherence: page.adherence },
  );
  const items =
    row!.total === 0
      ? []
      : await ask<ReportedVisit>(
          tx,
          asked,
          ['people', 'judged'],
          `
    select ${COLUMNS} from (select * from judged j where ${which} order by target_date, id offset :skip
      limit :limit) j ${NAMED} order by j.target_date, j.id`,
          more,
        );
  return { items, total: row!.total };
}

/** All visits of the scope's participant. */
export const visitsOfOne = (asked: ReportScope): Statement =>
  question(
    asked,
    ['people', 'judged'],
    `select ${COLUMNS} from judged j ${NAMED} where j.status <> 'superseded' order by j.target_date, j.id`,
  );

async function pageOfAll(
  tx: Tx,
  asked: ReportScope,
  page: { skip: number; limit: number },
): Promise<{ items: ReportedVisit[]; total: number }> {
  const [row] = await ask<{ total: number }>(
    tx,
    asked,
    [],
    `select ${numberOf('scheduled_visits', asked, 't.target_date', `and t.status <> 'superseded'`)} as total`,
  );
  const items =
    row!.total === 0
      ? []
      : await ask<ReportedVisit>(
          tx,
          { ...asked, paged: true },
          ['page', 'people', 'judged'],
          `
    select ${COLUMNS} from judged j ${NAMED} order by j.target_date, j.id`,
          page,
        );
  return { items, total: row!.total };
}
