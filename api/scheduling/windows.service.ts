import { putOutbox } from '../../db/outbox/outbox.js';
import type { VisitWindow } from '../../db/models/records.js';
import {
  batteryIsOf,
  deleteWindow,
  insertWindow,
  updateWindow,
  windowById,
  windowHasCompletedVisits,
} from '../../db/scheduling/windows.queries.js';
import { findConfig } from '../../db/capture/datacapture-configs.queries.js';
import { presentName } from '../../workflows/domain/capture/known-events.js';
import { brokenRule, invalid, problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor, beforeAndAfter, changedFields } from '../http/audit-actor.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import type { WithEarlierOverrides } from '../studies/earlier-overrides.service.js';
import { getStudyOrThrow as existingStudy } from '../studies/studies.service.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

type Fields = Partial<
  Pick<
    VisitWindow,
    | 'code'
    | 'name'
    | 'battery_id'
    | 'target_day'
    | 'window_before'
    | 'window_after'
    | 'is_baseline'
    | 'datacapture_event'
    | 'sort_order'
  >
>;
const unique = { visit_windows_study_id_code_key: 'WINDOW_CODE_TAKEN' } as const;

/**
 * Adds a window to the study named by body or context. @throws 400 two studies, 404, 409 WINDOW_CODE_TAKEN, 422 no
 * study, 400 an unknown battery
 */
export async function createWindow(
  change: RequestScope,
  contextStudy: string | undefined,
  input: Fields & { code: string; study_id?: string },
  changeId?: string,
): Promise<VisitWindow> {
  const { tx, audit, actor, context } = change;
  const { study_id, ...fields } = input;
  if (study_id && contextStudy && study_id.toLowerCase() !== contextStudy) throw problem('CONTEXT_CONFLICT');
  const studyId = study_id ?? contextStudy;
  if (!studyId) throw invalid('study_id', 'REQUIRED', 'is required: in the body, as X-Study-ID or as a query');
  await existingStudy(tx, studyId);
  await requireBattery(tx, fields.battery_id, studyId);
  const values = await withPresentEvent(tx, studyId, fields);
  const window = await mapConstraintErrors(unique, () => insertWindow(tx, { ...values, study_id: studyId }));
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'visit_window_created',
    resource_type: 'visit_window',
    resource_id: window.id,
    metadata: { code: window.code, target_day: window.target_day },
  });
  await regenerate(change, studyId, isBaselineOfEvent(window) ? 'baseline' : 'windows', changeId);
  return window;
}

/**
 * The answer tells of visits that move although an override had left them.
 * @throws 404, 409 WINDOW_CODE_TAKEN or STALE, 400 an unknown battery
 */
export async function changeWindow(
  change: RequestScope,
  id: string,
  given: Fields,
  assertIfMatch: (record: Record<string, unknown>) => void,
  changeId?: string,
): Promise<WithEarlierOverrides<VisitWindow>> {
  const { tx, audit, actor, context } = change;
  const before = await getWindowOrThrow(tx, id, true);
  assertIfMatch({ ...before });
  await requireBattery(tx, given.battery_id, before.study_id);
  const input = await withPresentEvent(tx, before.study_id, given);
  const fields = changedFields({ ...before }, input);
  if (fields.length === 0) return before;
  await mapConstraintErrors(unique, () => updateWindow(tx, id, input));
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'visit_window_changed',
    resource_type: 'visit_window',
    resource_id: id,
    metadata: { fields, ...beforeAndAfter({ ...before }, input, fields, fields) },
  });
  const window = await getWindowOrThrow(tx, id);
  const marks = fields.includes('is_baseline') || (fields.includes('datacapture_event') && isBaselineOfEvent(window));
  await regenerate(change, before.study_id, marks ? 'baseline' : 'windows', changeId);
  return withEarlierOverrides(tx, before.study_id, window);
}

/** Deletes a window from the plan. @throws 404, 409 WINDOW_IN_USE once a visit of it was completed, STALE */
export async function removeWindow(
  change: RequestScope,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
  changeId?: string,
): Promise<void> {
  const { tx, audit, actor, context } = change;
  const before = await getWindowOrThrow(tx, id, true);
  assertIfMatch({ ...before });
  if ((await windowHasCompletedVisits(tx, id)) || !(await deleteWindow(tx, id)))
    throw problem('WINDOW_IN_USE', { detail: 'A visit of this window was completed: the window cannot be deleted.' });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'visit_window_deleted',
    resource_type: 'visit_window',
    resource_id: id,
    metadata: { code: before.code },
  });
  await regenerate(change, before.study_id, 'windows', changeId);
}

export async function getWindowOrThrow(tx: Tx, id: string, lock = false): Promise<VisitWindow> {
  const window = await windowById(tx, id, lock);
  if (!window) throw problem('NOT_FOUND', { detail: 'There is no such visit window.' });
  return window;
}

/** Visits that the mapping planned for its event, completed ones too, are of the baseline from now on. */
const isBaselineOfEvent = ({ is_baseline, datacapture_event }: VisitWindow): boolean =>
  is_baseline && datacapture_event !== null;

/**
 * Checks every participant's schedule again; unchanged ones get no new version. Anchors also depend on the baseline
 * window: `baseline` re-evaluates them. `changeId`: the id of the change, for requesting its progress.
 */
async function regenerate(
  { tx, actor }: RequestScope,
  studyId: string,
  kind: 'windows' | 'baseline',
  changeId?: string,
): Promise<void> {
  await putOutbox(tx, [
    {
      topic: 'study-changed',
      studyId,
      subject: studyId,
      payload: { kind, actor_user_id: actor.id, ...(changeId && { change_id: changeId }) },
    },
  ]);
}

/**
 * Fields with the present name of the capture system's event: a former one, as a file or another system has it after a
 * rename there, means the same event. Results under it would be refused.
 */
export async function withPresentEvent<F extends { datacapture_event?: string | null | undefined }>(
  tx: Tx,
  studyId: string,
  fields: F,
): Promise<F> {
  if (!fields.datacapture_event) return fields;
  const known = (await findConfig(tx, studyId))?.known_events ?? {};
  return { ...fields, datacapture_event: presentName(known, fields.datacapture_event) };
}

/** @throws 400 UNKNOWN_BATTERY */
export async function requireBattery(tx: Tx, batteryId: number | null | undefined, studyId: string): Promise<void> {
  if (batteryId && !(await batteryIsOf(tx, batteryId, studyId)))
    throw brokenRule('battery_id', 'UNKNOWN_BATTERY', 'is not a battery of the study');
}
