import type { Tx } from '../client/database.js';
import { query } from '../client/query.js';

/** What a page is narrowed to, in words; null: nothing, or nothing that the caller sees. */
export interface ChosenNames {
  study_code: string | null;
  site_code: string | null;
}
interface Entry {
  study_id: string | null;
  study_code: string | null;
  site_id: string | null;
  site_code: string | null;
}

/**
 * The codes of a chosen study and site. A page's own counts have them, but for those in which nothing is left: a
 * choice that is missing from its list looks as if everything was shown.
 */
export async function chosenNames(
  tx: Tx,
  facets: readonly Entry[],
  { study, site }: { study?: string | undefined; site?: string | undefined },
): Promise<ChosenNames> {
  const ofStudy = study && facets.find(({ study_id }) => study_id === study)?.study_code;
  const ofSite = site && facets.find(({ site_id }) => site_id === site)?.site_code;
  if ((ofStudy || !study) && (ofSite || !site)) return { study_code: ofStudy || null, site_code: ofSite || null };
  const [names] = await query<ChosenNames>(
    tx,
    `select (select study_code from studies where id = $1) as study_code,
       (select site_code from sites where id = $2) as site_code`,
    [study ?? null, site ?? null],
  );
  return names!;
}
