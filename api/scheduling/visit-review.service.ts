import type { Static } from 'typebox';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import { visitKey } from '../../db/audit/hashing.js';
import type { ScheduledVisit } from '../../db/models/records.js';
import { readScheduleInputs } from '../../db/scheduling/schedules.queries.js';
import { settleReview } from '../../db/scheduling/visits.queries.js';
import { nextVersion } from '../../workflows/domain/anchor/regeneration.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { Review } from './schedules.schemas.js';
import type { RequestScope } from '../http/state.js';
import { getVisitOrThrow } from './visits.service.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Settles a completed visit that a re-anchoring flagged: it keeps its reporting target, or gets the one of the present
 * plan. The reason is stored with the visit and not in the audit log, which has no free text.
 * @throws 404, 409 NOTHING_TO_REVIEW or STALE, 400 NO_NEW_TARGET
 */
export async function reviewVisit(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  input: Static<typeof Review>,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<ScheduledVisit> {
  // A re-anchoring writes mark and target as it read them under this lock.
  await lockAnchors(tx, [(await getVisitOrThrow(tx, id)).participant_id]);
  const before = await getVisitOrThrow(tx, id, true);
  assertIfMatch({ ...before });
  if (!before.needs_review) throw problem('NOTHING_TO_REVIEW');
  const planned = await targetNow(tx, before);
  const keep = input.keep_target ?? true;
  if (!keep && planned === null) {
    const message = 'keep_target cannot be false: the visit is no longer planned';
    throw problem('RULE_VIOLATED', {
      detail: `${message}.`,
      errors: [{ path: 'keep_target', code: 'NO_NEW_TARGET', message }],
    });
  }
  const reportingTarget = keep ? before.reporting_target_date : planned;
  await settleReview(tx, id, {
    by: actor.id,
    resolution: input.resolution ?? null,
    heldAgainst: planned,
    reportingTarget,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'visit_reviewed',
    resource_type: 'visit',
    resource_id: id,
    metadata: {
      participant_id: before.participant_id,
      keep_target: keep,
      target_date: before.target_date,
      held_against: planned,
      reporting_target_date: reportingTarget,
    },
  });
  return getVisitOrThrow(tx, id);
}

/** The target date of a completed visit under the current version's anchor date; null if it is not planned. */
export async function targetNow(tx: Tx, visit: ScheduledVisit): Promise<string | null> {
  const inputs = (await readScheduleInputs(tx, visit.study_id, [visit.participant_id])).get(visit.participant_id)!;
  if (inputs.current_date === null) return null;
  const { change } = nextVersion(inputs.current_date, inputs, (identity) => visitKey(visit.participant_id, identity));
  return change.completed.find((done) => done.visit.id === visit.id)?.planned?.target_date ?? null;
}
