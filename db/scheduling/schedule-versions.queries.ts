import { visitStatus } from './effective-status.js';
import type { Tx } from '../client/database.js';

/** Schedule versions of a participant, newest last (interface, "Schedule version", summary). */
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

/** The same with what their visits are found by. */
export async function versionsInFull(tx: Tx, participantId: string): Promise<VersionInFull[]> {
  return tx('schedule_versions').where({ participant_id: participantId }).orderBy('version_number').select('*');
}

/** One version in full; undefined where the participant has no such version. */
export async function readVersion(
  tx: Tx,
  participantId: string,
  versionId: string,
): Promise<Record<string, unknown> | undefined> {
  return tx('schedule_versions').where({ participant_id: participantId, id: versionId }).first();
}

/** The status of a visit by the present date of its participant's site or study. */
const PRESENT_STATUS = `(select ${visitStatus('scheduled_visits', '(now() at time zone coalesce(t.timezone, s.timezone))::date', 'p.status')}
  from participants p join studies s on s.id = p.study_id left join sites t on t.id = p.site_id where p.id = scheduled_visits.participant_id) as status`;

/**
 * A version's visits: its own rows, and those that it refers to (`carried`): completed, missed or cancelled under older
 * versions, or scheduled by hand.
 */
export async function versionVisits(
  tx: Tx,
  version: { id: string; scheduling_settings: { carried_visit_ids?: string[] } },
): Promise<Record<string, unknown>[]> {
  const carried = version.scheduling_settings.carried_visit_ids ?? [];
  return tx('scheduled_visits')
    .where({ schedule_version_id: version.id })
    .orWhereIn('id', carried)
    .orderBy([{ column: 'target_date' }, { column: 'id' }])
    .select('*', tx.raw(PRESENT_STATUS), tx.raw('schedule_version_id is distinct from ? as carried', [version.id]));
}

/** Visits of a participant that belong to no schedule version, without those that one refers to. */
export function unscheduledVisits(
  tx: Tx,
  participantId: string,
  without: readonly string[],
): Promise<Record<string, unknown>[]> {
  return tx('scheduled_visits')
    .where({ participant_id: participantId, schedule_version_id: null })
    .whereNotIn('id', without)
    .orderBy('target_date')
    .select('*', tx.raw(PRESENT_STATUS), tx.raw('false as carried'));
}
