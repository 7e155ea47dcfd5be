import type { RequestScope } from '../http/state.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { policyOf } from '../../workflows/domain/anchor/facts.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import { policyFaults } from '../../workflows/domain/anchor/policy-check.js';
import { zoneName } from '../../workflows/domain/util/dates.js';
import { PolicyInput, withoutNulls } from '../../workflows/domain/anchor/policy-schema.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { sameJson } from '../../workflows/domain/util/same.js';
import { invalidFields, problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { Type } from '../http/common.schemas.js';
import { check } from '../http/validation/validation.js';
import { findConfig, updateConfig } from '../../db/capture/datacapture-configs.queries.js';
import { policyItems } from '../../workflows/domain/capture/participant.js';
import { insertPolicy, policyInForce } from '../../db/studies/policies.queries.js';
import type { Tx } from '../../db/client/database.js';

/** A policy inside a study's body: the paths of its errors begin at that body. */
const InStudy = Type.Object({
  config: Type.Object({ enrollment_date_policy: Type.Object(PolicyInput.properties, { additionalProperties: false }) }),
});

/**
 * Validates and completes a policy, sent alone or within a study's `config`.
 * @throws 422 naming every fault with its path
 */
export function acceptPolicy(input: unknown, sent: 'alone' | 'in study' = 'alone'): Policy {
  const prefix = sent === 'alone' ? '' : 'config.enrollment_date_policy.';
  if (sent === 'alone') check(PolicyInput, input, 'body');
  else check(InStudy, { config: { enrollment_date_policy: input } }, 'body');
  const policy = completePolicy(withoutNulls(input) as PolicyInput);
  const errors = policyFaults(policy).map((f) => ({
    ...f,
    path: `${prefix}${f.path}`,
    message: `${prefix}${f.message}`,
  }));
  if (errors.length > 0) throw invalidFields(errors);
  const zone = policy.time_precision.study_timezone;
  if (zone !== undefined) policy.time_precision.study_timezone = zoneName(zone);
  return policy;
}

/**
 * `change_id` names the study-reanchoring started by a new version; null if nothing changed, and for a study's first
 * policy.
 */
export interface SavedPolicy {
  policy: Policy;
  policy_version: number;
  change_id: string | null;
}

/**
 * Stores a policy as the study's next version; older ones stay readable. The same policy again is no new version.
 * @param seen the version that the caller has seen
 * @throws 409 STALE if another one is in force meanwhile
 */
export async function savePolicy(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  policy: Policy,
  seen?: number,
): Promise<SavedPolicy> {
  const study = (await policyInForce(tx, studyId, true))!;
  const first = study.policy === null;
  if (seen !== undefined && seen !== study.policy_version) throw problem('STALE');
  if (!first && sameJson(study.policy, policy))
    return { policy, policy_version: study.policy_version, change_id: null };
  const policyVersion = first ? 1 : study.policy_version + 1;
  await readItemsAnew(tx, studyId, study.policy, policy);
  await insertPolicy(tx, { study_id: studyId, policy_version: policyVersion, policy, author_id: actor.id });
  if (!first) {
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action: 'enrollment_policy_changed',
      resource_type: 'study',
      resource_id: studyId,
      metadata: { policy_version: policyVersion },
    });
    await putOutbox(tx, [
      {
        topic: 'study-changed',
        studyId,
        subject: studyId,
        payload: { kind: 'policy', change_id: changeIdOf(policyVersion), actor_user_id: actor.id },
      },
    ]);
  }
  return { policy, policy_version: policyVersion, change_id: first ? null : changeIdOf(policyVersion) };
}

/** The next poll reads all records where the policy reads other items of the enrollment form than before. */
async function readItemsAnew(tx: Tx, studyId: string, before: unknown, after: Policy): Promise<void> {
  const config = await findConfig(tx, studyId);
  if (!config?.enrollment_instrument) return;
  const [named, wanted] = [before, after].map((policy) => policyItems(policy, config.enrollment_instrument!));
  if (wanted!.some((item) => !named!.includes(item))) await updateConfig(tx, studyId, { polled_at: null });
}

const changeIdOf = (policyVersion: number) => `policy-${policyVersion}`;

/** The policy in force; locked, it stays until the transaction ends. @throws 404 */
export async function currentPolicy(tx: Tx, studyId: string, lock = false): Promise<Policy> {
  const study = await policyInForce(tx, studyId, lock);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  return policyOf(study.policy);
}
