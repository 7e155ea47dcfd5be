import { raw } from 'objection';
import { Site, Study } from '../models/records.js';
import { orderClause, page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

const COLUMNS = 'id, study_id, site_code, name, timezone, status, created_at, updated_at';

/** @param filter `id`: the one site that the request is narrowed to */
export function listSites(
  tx: Tx,
  studyId: string,
  filter: Page & { status?: string | undefined; id?: string | undefined },
): Promise<Listed<Site>> {
  const found = tx('sites')
    .where('study_id', studyId)
    .modify((q) => {
      if (filter.status) q.where('status', filter.status);
      if (filter.id) q.where('id', filter.id);
    });
  return page(tx, found, COLUMNS, filter, { site_code: 'site_code', name: 'name', created_at: 'created_at' }, 'id');
}

export async function siteById(tx: Tx, id: string, lock = false): Promise<Site | undefined> {
  const found = Site.query(tx).findById(id).select(raw(COLUMNS));
  if (lock) void found.forUpdate();
  return found;
}

export async function siteByCode(tx: Tx, studyId: string, code: string): Promise<Site | undefined> {
  return Site.query(tx).findOne({ study_id: studyId, site_code: code }).select(raw(COLUMNS));
}

export async function insertSite(tx: Tx, site: Partial<Site> & { study_id: string; site_code: string }): Promise<Site> {
  return orderClause(await Site.query(tx).insert(site).returning('*'), COLUMNS);
}

export async function updateSite(tx: Tx, id: string, change: Partial<Site>): Promise<void> {
  if (Object.keys(change).length > 0) await Site.query(tx).findById(id).patch(change);
}

/**
 * For a transaction restricted to sites in the rows' study: only rows of visible participants. Rows without a
 * participant are then left out.
 */
export const OF_SITES = `(study_id <> all ((select app_site_studies())::uuid[]) or participant_id in (select id
  from participants))`;

/**
 * Whether the transaction's site restriction allows writing a participant of this site (as the table's policy does).
 */
export async function siteInReach(tx: Tx, studyId: string, siteId: string | null): Promise<boolean> {
  const rows = await query<{ ok: boolean }>(
    tx,
    'select $1::uuid <> all (app_site_studies()) or coalesce($2::uuid = any (app_sites()), false) as ok',
    [studyId, siteId],
  );
  return rows[0]!.ok;
}

export interface StudyWithSites {
  id: string;
  study_code: string;
  study_name: string;
  sites: { id: string; site_code: string; name: string | null }[];
}

/** The studies in the transaction's scope by their codes, each with its sites. */
export async function studiesWithSites(tx: Tx): Promise<StudyWithSites[]> {
  // Joined, since fetched they would be a second round trip.
  return Study.query(tx)
    .select('studies.id', 'studies.study_code', 'studies.study_name')
    .withGraphJoined('sites(named)')
    .modifiers({
      named: (q) => {
        void q.select('id', 'study_id', 'site_code', 'name');
      },
    })
    .orderBy(['studies.study_code', 'sites.site_code'])
    .castTo<StudyWithSites[]>();
}
