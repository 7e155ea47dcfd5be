import { visitStatus } from './effective-status.js';
import { runTogether } from '../client/builders.js';
import type { Tx } from '../client/database.js';

/** Schedule versions of a participant, newest last. */
export async function listVersions(tx: Tx, participantId: string): Promise<unknown[]> {
  return tx('schedule_versions')
    .where({ participant_id: participantId })
    .orderBy('version_number')
    .select(
      'id',
      'version_number',
      'is_current',
      'anchor_date_used',
      'anchor_version',
      'scheduling_mode',
      'status',
      'visits_generated',
      'generation_warnings',
      'superseded_at',
      'supersede_reason',
      'generated_at',
    );
}

export interface VersionInFull {
  id: string;
  version_number: number;
  is_current: boolean;
  anchor_date_used: string;
  status: string;
  visits_generated: number;
  generation_warnings: string[];
  generated_at: string;
  superseded_at: string | null;
  supersede_reason: string | null;
  scheduling_settings: { carried_visit_ids?: string[] };
}

/** The same with the keys for looking up their visits. */
export async function versionsInFull(tx: Tx, participantId: string): Promise<VersionInFull[]> {
  return tx('schedule_versions').where({ participant_id: participantId }).orderBy('version_number').select('*');
}

/** One version in full; undefined: the participant has no such version. */
export async function readVersion(
  tx: Tx,
  participantId: string,
  versionId: string,
): Promise<Record<string, unknown> | undefined> {
  return tx('schedule_versions').where({ participant_id: participantId, id: versionId }).first();
}

/** The status of a visit by the present date in its participant's time zone. */
const TODAY = '(now() at time zone coalesce(t.timezone, s.timezone))::date';
const PRESENT_STATUS = `(select ${visitStatus('scheduled_visits', TODAY, 'p.status')}
  from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id
    where p.id = scheduled_visits.participant_id) as status`;

type WithVisits = Pick<VersionInFull, 'id' | 'scheduling_settings'>;
const carriedBy = ({ scheduling_settings }: WithVisits): string[] => scheduling_settings.carried_visit_ids ?? [];

const visitsOf = (tx: Tx, version: WithVisits) =>
  tx('scheduled_visits')
    .where({ schedule_version_id: version.id })
    .orWhereIn('id', carriedBy(version))
    .orderBy([{ column: 'target_date' }, { column: 'id' }])
    .select('*', tx.raw(PRESENT_STATUS), tx.raw('schedule_version_id is distinct from ? as carried', [version.id]));

/**
 * A version's visits: its own rows, and those that it refers to (`carried`): completed, missed or cancelled under older
 * versions, or scheduled by hand.
 */
export const versionVisits = async (tx: Tx, version: WithVisits): Promise<Record<string, unknown>[]> =>
  visitsOf(tx, version);

/** The visits of both versions. */
export const visitsOfBoth = (tx: Tx, one: WithVisits, other: WithVisits) =>
  runTogether<[Record<string, unknown>, Record<string, unknown>]>(tx, [visitsOf(tx, one), visitsOf(tx, other)]);

/** The visits of a participant's version, if there is one, then those without a version. */
export async function plannedAndOther(
  tx: Tx,
  participantId: string,
  version: WithVisits | undefined,
): Promise<Record<string, unknown>[]> {
  const others = tx('scheduled_visits')
    .where({ participant_id: participantId, schedule_version_id: null })
    .whereNotIn('id', version ? carriedBy(version) : [])
    .orderBy('target_date')
    .select('*', tx.raw(PRESENT_STATUS), tx.raw('false as carried'));
  const asked = version ? [visitsOf(tx, version), others] : [others];
  return (await runTogether<Record<string, unknown>[]>(tx, asked)).flat();
}
