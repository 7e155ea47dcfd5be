import { Policy, PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import { inStudy, staff } from '../http/access.js';
import { problem } from '../http/errors.js';
import { IfMatch, reply, route, withContentTag, response } from '../http/route.js';
import {
  Instant,
  Paged,
  Type,
  Uuid,
  importClaims,
  earlierOverrides,
  listOf,
  nullable,
  record,
  WorkStatus,
} from '../http/common.schemas.js';
import type { Static } from '../http/common.schemas.js';
import { withEarlierOverrides } from './earlier-overrides.service.js';
import { longList } from '../http/json/long-list.js';
import { listPolicyVersions, policyVersion, writtenPolicy } from '../../db/studies/policies.queries.js';
import { acceptPolicy, currentPolicy, savePolicy } from './policy.service.js';
import { dryRunFor } from './dry-runs-at-once.js';
import { dryRunPolicy, dryRunOutcomes } from './policy-dry-run.service.js';
import { reanchoring } from './reanchorings.js';

const counts = Type.Object(Object.fromEntries(dryRunOutcomes.map((outcome) => [outcome, Type.Integer()])));
const examples = Type.Partial(
  Type.Object(
    Object.fromEntries(
      [...dryRunOutcomes, 'schedules_regenerated', 'moved_by_earlier_override'].map((kind) => [
        kind,
        Type.Array(Uuid, { maxItems: 20 }),
      ]),
    ),
  ),
);
const DryRun = record('PolicyDryRun', {
  dry_run: Type.Literal(true),
  policy: Policy,
  total: Type.Integer(),
  would_change: Type.Integer(),
  counts,
  schedules_regenerated: Type.Integer(),
  moved_by_earlier_override: Type.Integer({
    description:
      'of them, those whose visits all move since an override with `regenerate_schedule: false` had left them ' +
      'on the former date',
  }),
  examples,
});
/** As saving it is answered. */
const SavedPolicy = record('PolicySaved', { ...Policy.properties, ...earlierOverrides });
/** The answer: with `dry_run=true` the changes that it would make. */
const PolicySet = Type.Unsafe<Static<typeof SavedPolicy> | Static<typeof DryRun>>({
  $id: 'PolicySet',
  anyOf: [SavedPolicy, DryRun],
});
const Reanchoring = record('Reanchoring', {
  change_id: Type.String(),
  status: WorkStatus,
  seen: Type.Integer(),
  total: Type.Integer(),
  moved: Type.Integer(),
  schedules: Type.Integer(),
});
const PolicyVersion = record('PolicyVersion', {
  policy_version: Type.Integer(),
  author_id: nullable(Uuid),
  ...importClaims,
  created_at: Instant,
  policy: Policy,
});
const path = '/api/studies/{study_id}/config/enrollment-policy';
const VERSION = /^[1-9]\d{0,8}$/;

export const policyRoutes = [
  route({
    method: 'GET',
    path,
    operationId: 'getEnrollmentPolicy',
    tag: 'Anchor policy',
    summary: 'Get the current enrollment policy',
    description: 'The policy by which enrollment dates are decided now, with every default filled in.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: response(Policy, { etag: true }) },
    handle: async ({ tx, params }) => withContentTag(await currentPolicy(tx, params.study_id)),
  }),
  route({
    method: 'POST',
    path,
    operationId: 'setEnrollmentPolicy',
    tag: 'Anchor policy',
    summary: 'Set the enrollment policy',
    access: staff.configure,
    transaction: 'change',
    description:
      'What is left out or null has its default. A new version is evaluated for every participant in the ' +
      'background: the header X-Change-Id names the change, whose progress is at ' +
      '/api/studies/{study_id}/reanchorings/{change_id}. With `dry_run=true` nothing is stored and the answer ' +
      'says what would change for how many. Expressions are CEL, with the names and functions of ' +
      '[docs/expressions.md](/docs/expressions); a fault is a 422 that names its path.',
    query: Type.Object({ dry_run: Type.Optional(Type.Boolean({ default: false })) }),
    isTrial: ({ search }) => /^(?:true|1)$/i.test(search.get('dry_run') ?? ''),
    headers: IfMatch,
    body: PolicyInput,
    responses: {
      200: PolicySet,
    },
    handle: async ({ tx, audit, actor, context, params, query, body, assertIfMatch }) => {
      const policy = acceptPolicy(body);
      if (query.dry_run) return dryRunFor(actor, () => dryRunPolicy(tx, params.study_id, policy));
      assertIfMatch({ ...(await currentPolicy(tx, params.study_id, true)) });
      const saved = await savePolicy({ tx, audit, actor, context }, params.study_id, policy);
      if (saved.change_id === null) return reply(200, saved.policy);
      const answer = await withEarlierOverrides(tx, params.study_id, saved.policy);
      return reply(200, answer, { 'X-Change-Id': saved.change_id });
    },
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/reanchorings/{change_id}',
    operationId: 'getReanchoring',
    tag: 'Anchor policy',
    summary: 'Get the progress of a re-anchoring',
    access: inStudy(),
    description: '`pending` until its workflow has started. A finished one is forgotten with its workflow’s history.',
    responses: { 200: Reanchoring },
    handle: ({ services, params }) => reanchoring(services, params.study_id, params.change_id),
  }),
  route({
    method: 'GET',
    path: `${path}/versions`,
    operationId: 'listPolicyVersions',
    tag: 'Anchor policy',
    summary: 'List versions of the enrollment policy, newest first',
    description:
      'Each version that was ever in force, with who set it and when. A decision names the version that it was ' +
      'made by.',
    access: inStudy(),
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(PolicyVersion) },
    handle: async ({ tx, params: { study_id }, query: { skip = 0, limit = 50 } }) =>
      longList(await listPolicyVersions(tx, study_id, { skip, limit }), 'policy', ({ policy_version: version }) =>
        writtenPolicy(tx, study_id, version),
      ),
  }),
  route({
    method: 'GET',
    path: `${path}/versions/{policy_version}`,
    operationId: 'getPolicyVersion',
    tag: 'Anchor policy',
    summary: 'Get a version of the enrollment policy',
    description: 'A version of the policy by its number. 404 where there is no such version.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: response(PolicyVersion, { etag: true }) },
    handle: async ({ tx, params }) => {
      const found = VERSION.test(params.policy_version)
        ? await policyVersion(tx, params.study_id, Number(params.policy_version))
        : undefined;
      if (!found) throw problem('NOT_FOUND', { detail: 'There is no such policy version.' });
      return withContentTag(found);
    },
  }),
];
