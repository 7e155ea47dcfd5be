import { visitKey } from '../../db/audit/hashing.js';
import type { Tx } from '../../db/client/database.js';
import { readScheduleInputs } from '../../db/scheduling/schedules.queries.js';
import { statusToday } from '../../db/scheduling/visit-statuses.queries.js';
import type { VisitRecord } from '../../db/scheduling/visits.queries.js';
import { plannedVisit } from '../../workflows/domain/anchor/regeneration.js';
import { contentByHand, daysByHand } from '../../workflows/domain/scheduling/schedule.js';

/**
 * The fields of a visit that is to do again: nothing of a completion, the dates that the schedule has for it now, and
 * the status by date. A completed or cancelled visit kept its former dates while the schedule moved. The anchor of its
 * participant is locked.
 */
export async function toDoAgain(
  tx: Tx,
  visit: VisitRecord,
): Promise<Partial<VisitRecord> & Pick<VisitRecord, 'status'>> {
  const planned = visit.schedule_version_id === null ? {} : await asPlanned(tx, visit);
  return {
    ...planned,
    status: await statusToday(tx, { ...visit, ...planned }),
    completed_at: null,
    session_id: null,
    data_sync_status: null,
    synced_at: null,
    // Another anchor was compared with its completion.
    ...(visit.status === 'completed' && { needs_review: false, reporting_target_date: null }),
  };
}

/** The present dates of a visit in its participant's schedule; empty if it is no longer planned. */
async function asPlanned(tx: Tx, visit: VisitRecord): Promise<Partial<VisitRecord>> {
  const inputs = (await readScheduleInputs(tx, visit.study_id, [visit.participant_id])).get(visit.participant_id)!;
  const planned = plannedVisit(inputs, (identity) => visitKey(visit.participant_id, identity), visit.visit_key);
  if (!planned) return {};
  const { name, battery_id, datacapture_event, is_baseline, target_date, window_open, window_close } = planned;
  const asIs = {
    name,
    battery_id,
    datacapture_event,
    is_baseline,
    target_date,
    window_open,
    window_close,
    moved_from: null,
    changed_from: null,
  };
  return { ...asIs, ...daysByHand(visit, planned), ...contentByHand(visit, planned) };
}
