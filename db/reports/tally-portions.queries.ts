import type { Tx } from '../client/database.js';
import { ask, askOfAll } from './base.queries.js';
import { tallied } from './tally.queries.js';
import { CHANGED_SINCE } from './version.queries.js';

/** Participants in a portion, about: as many are counted again when one of them changes. */
const IN_A_PORTION = 200;
const MAX_PORTIONS = 1_024;

/** A portion's visits: a line for each window, status and adherence, and how many there are. */
export interface PortionTally {
  portion: number;
  lines: string;
}

/** A power of two. */
export async function portionsOf(tx: Tx, study: string): Promise<number> {
  const [row] = await ask<{ participants: number }>(
    tx,
    { study },
    [],
    'select count(*)::integer as participants from participants where study_id = :study',
  );
  return Math.min(MAX_PORTIONS, 2 ** Math.ceil(Math.log2(Math.max(1, row!.participants / IN_A_PORTION))));
}

const portionOf =
  (portions: number) =>
  (participant: string): string =>
    `(uuid_hash(${participant}) & ${portions - 1})`;

/** The visits of a study by portion, window, status and adherence. @param of only these portions */
export async function tallyPortions(
  tx: Tx,
  study: string,
  portions: number,
  of?: readonly number[],
): Promise<PortionTally[]> {
  if (of?.length === 0) return [];
  const portion = portionOf(portions);
  const counted = await tallied(tx, { study }, { by: ['window'], portion, of });
  return askOfAll<PortionTally>(
    tx,
    { study },
    [],
    `with ${counted}
    select portion, string_agg(line || '|' || n, E'\\n') as lines from (
      select portion, concat_ws('|', coalesce(visit_window_id::text, ''), coalesce(event_definition_id::text, ''),
        status, coalesce(adherence, '')) as line, sum(n) as n
      from tallied group by portion, visit_window_id, event_definition_id, status, adherence) x
    group by portion`,
  );
}

/** The portions whose visits may have changed since a version of the study; undefined: any of them. */
export async function changedPortions(
  tx: Tx,
  { study, since, portions }: { study: string; since: number; portions: number },
): Promise<number[] | undefined> {
  const rows = await ask<{ portion: number | null }>(
    tx,
    { study },
    [],
    `select distinct case when c.participant_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then ${portionOf(portions)('c.participant_id::uuid')} end as portion
    from (${CHANGED_SINCE}) c`,
    { since },
  );
  const changed = rows.map(({ portion }) => portion);
  return changed.includes(null) ? undefined : (changed as number[]);
}

/** Whether a study has at least as many participants, and the date in each of its zones, by which a status goes. */
export async function sizeAndDates(
  tx: Tx,
  study: string,
  participants: number,
): Promise<{ is_large: boolean; dates: string }> {
  const [row] = await ask<{ is_large: boolean; dates: string }>(
    tx,
    { study },
    [],
    `select (select count(*) = :participants from (
        select from participants where study_id = :study limit :participants) p) as is_large,
      (select string_agg(zone || (now() at time zone zone)::date, ' ' order by zone) from (
        select timezone as zone from studies where id = :study
        union select timezone from sites where study_id = :study and timezone is not null) z) as dates`,
    { participants },
  );
  return row!;
}
