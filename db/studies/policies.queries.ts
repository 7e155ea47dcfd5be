import { raw } from 'objection';
import { EnrollmentPolicy, Study } from '../models/records.js';
import { isLongJson, writtenJson } from '../client/long-json.js';
import { page } from '../client/paging.js';
import type { Listed } from '../client/paging.js';
import type { Tx } from '../client/database.js';

export interface PolicyVersion extends Record<string, unknown> {
  policy_version: number;
  author_id: string | null;
  imported: boolean;
  imported_by: string | null;
  original_users: Record<string, string> | null;
  created_at: string;
  policy: unknown;
}
/** A study's policy; null: none yet. */
export interface PolicyInForce {
  policy_version: number;
  policy: unknown;
}

const IN_FORCE = raw(`policy_version, config->'enrollment_date_policy' as policy`);

/** @param lock prevents changes to the study until the commit */
export async function policyInForce(tx: Tx, studyId: string, lock = false): Promise<PolicyInForce | undefined> {
  const found = Study.query(tx).findById(studyId).select(IN_FORCE);
  if (lock) void found.forNoKeyUpdate();
  return found.castTo<PolicyInForce | undefined>();
}

/** Stores a version and puts it in force. */
export async function insertPolicy(
  tx: Tx,
  version: { study_id: string; policy_version: number; policy: object; author_id: string },
): Promise<void> {
  await Study.query(tx)
    .findById(version.study_id)
    .patch({
      policy_version: version.policy_version,
      config: raw(`jsonb_set(config, '{enrollment_date_policy}', ?::jsonb)`, [JSON.stringify(version.policy)]),
    });
  await EnrollmentPolicy.query(tx).insert(version);
}

/** Versions of a study's policy, newest first; a long policy is null, and read by itself (`writtenPolicy`). */
export async function listPolicyVersions(
  tx: Tx,
  studyId: string,
  { skip, limit }: { skip: number; limit: number },
): Promise<Listed<PolicyVersion>> {
  const found = tx('enrollment_policies').where({ study_id: studyId });
  const select = `policy_version, author_id, created_at, case when ${isLongJson('policy')}
    then null else policy end as policy, imported, imported_by, original_users`;
  const sorts = { policy_version: 'policy_version' };
  return page(tx, found, select, { skip, limit, sort: '-policy_version' }, sorts, 'policy_version');
}

export const writtenPolicy = (tx: Tx, studyId: string, version: number): Promise<Buffer[]> =>
  writtenJson(tx, 'select policy from enrollment_policies where study_id = $1 and policy_version = $2', [
    studyId,
    version,
  ]);

/** A version of a study's policy. */
export async function policyVersion(tx: Tx, studyId: string, version: number): Promise<PolicyVersion | undefined> {
  return Study.relatedQuery('policies', tx)
    .for(studyId)
    .findOne({ policy_version: version })
    .select('policy_version', 'author_id', 'created_at', 'policy', 'imported', 'imported_by', 'original_users')
    .castTo<PolicyVersion | undefined>();
}
