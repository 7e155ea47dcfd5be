import type { RequestScope } from '../http/state.js';
import { randomUUID } from 'node:crypto';
import { setImmediate as others } from 'node:timers/promises';
import { jsonTexts } from '../util/json-texts.js';
import { findConfig, updateConfig } from '../../db/capture/datacapture-configs.queries.js';
import { requestMissedPushes } from '../../db/capture/push-requests.queries.js';
import { retryDisabledTriggers } from '../../db/capture/webhook-events.queries.js';
import { beforeZoneChange, returnEarly } from '../../db/scheduling/early-visits.js';
import type { Study } from '../../db/models/records.js';
import { keepOutImports } from '../../db/participants/import-lock.queries.js';
import { resumeReminders } from '../../db/notifications/reminders.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import {
  assignStudy,
  deleteStudy,
  insertStudy,
  studyById,
  studyHasData,
  updateStudy,
} from '../../db/studies/studies.queries.js';
import type { StudyLock, StudyRecord } from '../../db/studies/studies.queries.js';
import { isEnded } from '../../db/studies/study-ended.js';
import { isLong } from '../../workflows/domain/util/length.js';
import { brokenRule, invalid, problem } from '../http/errors.js';
import { FIRST_LIVED_DAY } from '../../workflows/domain/util/dates.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { mergePatch } from '../http/conventions/merge-patch.js';
import { auditActor, beforeAndAfter, changedFields } from '../http/audit-actor.js';
import { withEarlierOverrides } from './earlier-overrides.service.js';
import type { WithEarlierOverrides } from './earlier-overrides.service.js';
import { acceptPolicy, savePolicy } from './policy.service.js';
import { acceptStudyFace, changesFace } from './study-face.js';
import { acceptSchedulingMode } from './settings/scheduling-mode.js';
import { acceptNotifications } from './settings/notifications.js';
import { acceptPortalResults } from './settings/portal-results.js';
import { acceptSignatures } from './settings/signatures.js';
import type { Tx } from '../../db/client/database.js';

type Fields = Partial<Omit<StudyRecord, 'id' | 'created_at' | 'updated_at'>>;

/** Fields as given by a client: the capture system may have its earlier name. */
type Given = Omit<Fields, 'integration_mode'> & { integration_mode?: Study['integration_mode'] | 'redcap' | undefined };
const fieldsOf = <G extends Given>({ integration_mode: mode, ...given }: G) => ({
  ...given,
  ...(mode !== undefined && { integration_mode: mode === 'redcap' ? ('datacapture' as const) : mode }),
});

const unique = { studies_study_code_key: 'STUDY_CODE_TAKEN' } as const;
/** The study's fields that an anchor decision reads: a change is evaluated for every participant. */
const READ_BY_ANCHORS = ['start_date', 'timezone', 'consent_mode'];

/** Validates what the service reads of a new configuration; the policy is apart. @throws 422 */
export function acceptConfig(config: Record<string, unknown> | undefined): void {
  acceptSchedulingMode(config);
  acceptNotifications(config);
  acceptPortalResults(config);
  acceptStudyFace(config);
  acceptSignatures(config);
}

/**
 * Creates a study with its first policy version; a creator who is not an admin is assigned to it. @throws 409
 * STUDY_CODE_TAKEN
 */
export async function createStudy(
  { tx, audit, actor, context }: RequestScope,
  asked: Given & { study_code: string; study_name: string },
): Promise<StudyRecord> {
  const given = fieldsOf(asked);
  const id = randomUUID();
  requireNear(given);
  requireOrder(given);
  acceptConfig(given.config);
  const { enrollment_date_policy: policy, ...config } = given.config ?? {};
  await mapConstraintErrors(unique, () => insertStudy(tx, { ...given, id, config }));
  await savePolicy({ tx, audit, actor, context }, id, acceptPolicy(policy ?? {}, 'in study'));
  if (!actor.isAdmin) await assignStudy(tx, actor.id, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: id,
    action: 'study_created',
    resource_type: 'study',
    resource_id: id,
    metadata: { fields: Object.keys(given).sort() },
  });
  return getStudyOrThrow(tx, id);
}

/** Changes a study; `config` is merged. @throws 404, 409 STUDY_CODE_TAKEN, STALE */
export async function changeStudy(
  change: RequestScope,
  id: string,
  asked: Given,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<WithEarlierOverrides<StudyRecord>> {
  const given = fieldsOf(asked);
  const { tx, audit, actor, context } = change;
  await lockReminders(tx, id, given);
  const before = await getStudyOrThrow(tx, id, 'change');
  assertIfMatch({ ...before });
  requireNear(given);
  requireOrder({ start_date: before.start_date, end_date: before.end_date, ...given });
  const { config: patch, ...fields } = given;
  const merged = patch && (mergePatch(before.config, patch) as Record<string, unknown>);
  if (merged && isLong(merged, MAX_CONFIG)) throw tooLong();
  acceptSchedulingMode(merged);
  if (merged && merged.portal_results !== before.config.portal_results) acceptPortalResults(merged);
  if (merged && changesFace(before.config, merged)) acceptStudyFace(merged);
  if (merged && JSON.stringify(merged.signatures) !== JSON.stringify(before.config.signatures))
    acceptSignatures(merged);
  if (merged && JSON.stringify(merged.notifications) !== JSON.stringify(before.config.notifications))
    acceptNotifications(merged);
  const after: Fields = merged
    ? { ...fields, config: { ...merged, enrollment_date_policy: before.config.enrollment_date_policy } }
    : fields;
  const keys = after.config ? changedFields(before.config, after.config) : [];
  const isConfigured = keys.length > 0 || (after.config && !sameNames(before.config, after.config));
  const changed = [...changedFields({ ...before }, fields), ...(isConfigured ? ['config'] : [])].sort();
  if (changed.length > 0) {
    const [config] = isConfigured ? await jsonTexts([after.config]) : [];
    if (config) requireShort(config);
    await mapConstraintErrors(unique, () => updateStudy(tx, id, fields, config));
    audit.record({
      ...auditActor(actor, context),
      study_id: id,
      action: 'study_changed',
      resource_type: 'study',
      resource_id: id,
      metadata: {
        fields: changed,
        ...(keys.length > 0 && { config: keys }),
        ...(given.status && { status: given.status }),
        ...(changed.includes('status') && { status_before: before.status }),
        ...beforeAndAfter({ ...before }, fields, changed, READ_BY_ANCHORS),
        // Whether who signs and approves proves identity is part of what a signature is worth.
        ...(keys.includes('signatures') && {
          signatures: merged?.signatures ?? null,
          signatures_before: before.config.signatures ?? null,
        }),
      },
    });
  }
  let newPolicy = false;
  if (patch && 'enrollment_date_policy' in patch) {
    // Null removes the policy: the default applies.
    const saved = await savePolicy(change, id, acceptPolicy(merged?.enrollment_date_policy ?? {}, 'in study'));
    newPolicy = saved.change_id !== null;
  }
  if (changed.includes('timezone')) await returnEarly({ tx, audit }, auditActor(actor, context), { studyId: id });
  const replans =
    changed.some((field) => READ_BY_ANCHORS.includes(field)) ||
    (merged !== undefined && merged.scheduling_mode !== before.config.scheduling_mode);
  if (replans) {
    await putOutbox(tx, [
      { topic: 'study-changed', studyId: id, subject: id, payload: { kind: 'study', actor_user_id: actor.id } },
    ]);
  }
  if (changed.includes('status') && given.status) await followStatus(tx, id, before.status, given.status);
  if (changed.includes('datacapture_enabled')) {
    await putOutbox(tx, [{ topic: 'datacapture-poll', studyId: id, subject: id }]);
    if (given.datacapture_enabled) {
      await requestMissedPushes(tx, id);
      await retryDisabledTriggers(tx, id);
    }
  }
  const study = await getStudyOrThrow(tx, id);
  return replans || newPolicy ? withEarlierOverrides(tx, id, study) : study;
}

/** Named locks come before rows: a changed zone or message plans the reminders of all the study's visits again. */
async function lockReminders(tx: Tx, id: string, { timezone, config }: Given): Promise<void> {
  if (timezone === undefined && config?.notifications === undefined) return;
  const stored = await getStudyOrThrow(tx, id);
  if (timezone !== undefined && timezone !== stored.timezone) await beforeZoneChange(tx, id);
  else if (config?.notifications !== undefined) await keepOutImports(tx, id);
}

/** What was left undone for the study's former status, and is to do by the new one. */
async function followStatus(tx: Tx, id: string, before: Study['status'], after: Study['status']): Promise<void> {
  if (after === 'active') await resumeReminders(tx, id);
  // Polls have passed over those whom the study did not enroll any more.
  if (isEnded(before) && !isEnded(after) && (await findConfig(tx, id))) await updateConfig(tx, id, { polled_at: null });
}

/** A configuration is read with its study: it has as much as a body may have, however many changes it is made of. */
const MAX_CONFIG = { values: 100_000, letters: 5 * 1024 * 1024 };
const tooLong = () =>
  invalid(
    'config',
    'MAX_TOTAL',
    `would have more than ${MAX_CONFIG.letters} characters or ${MAX_CONFIG.values} values in total`,
  );

function requireShort(config: string): void {
  if (config.length > MAX_CONFIG.letters) throw tooLong();
}

const sameNames = (one: object, other: object): boolean =>
  JSON.stringify(Object.keys(one).sort()) === JSON.stringify(Object.keys(other).sort());

/** Deletes a study without participants. @throws 404, 409 STUDY_NOT_EMPTY, STALE */
export async function removeStudy(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<void> {
  assertIfMatch({ ...(await getStudyOrThrow(tx, id, 'contents')) });
  if (await studyHasData(tx, id)) throw problem('STUDY_NOT_EMPTY');
  await deleteStudy(tx, id);
  await putOutbox(tx, [{ topic: 'datacapture-poll', studyId: id, subject: id }]);
  audit.record({
    ...auditActor(actor, context),
    study_id: id,
    action: 'study_deleted',
    resource_type: 'study',
    resource_id: id,
  });
}

/** Whether a study can be deleted: nobody takes part in it, or ever did. */
export const isStudyEmpty = async (tx: Tx, id: string): Promise<boolean> => !(await studyHasData(tx, id));

export async function getStudyOrThrow(tx: Tx, id: string, lock?: StudyLock): Promise<StudyRecord> {
  const study = await studyById(tx, id, lock);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  // It took long to parse: others come before it is worked on.
  if (isLong(study.config)) await others();
  return study;
}

/** @throws 400 OUT_OF_RANGE for a mistyped year */
function requireNear(given: Fields): void {
  for (const field of ['start_date', 'end_date'] as const)
    if (given[field] && given[field] < FIRST_LIVED_DAY)
      throw brokenRule(field, 'OUT_OF_RANGE', `lies before ${FIRST_LIVED_DAY}`);
}

function requireOrder({ start_date, end_date }: Fields): void {
  if (start_date && end_date && end_date < start_date) {
    throw problem('RULE_VIOLATED', {
      detail: 'end_date lies before start_date.',
      errors: [{ path: 'end_date', code: 'END_BEFORE_START', message: 'end_date lies before start_date' }],
    });
  }
}
