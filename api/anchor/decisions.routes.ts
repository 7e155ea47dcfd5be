import { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { inStudy } from '../http/access.js';
import { route } from '../http/route.js';
import { IsoDate, Json, Type, Uuid, importClaims, nullable, oneOf, record } from '../http/common.schemas.js';
import { decisionBehind, deriveAgain } from './decisions.service.js';

const path = '/api/studies/{study_id}/participants/{participant_id}/anchor-date/decisions/{history_id}';

const Trace = record('DecisionTrace', {
  sources: Type.Array(
    Type.Object({
      type: Type.String(),
      priority: Type.Integer(),
      outcome: oneOf('chosen', 'no_date', 'inactive', 'not_reached', 'error'),
      date: Type.Optional(IsoDate),
      reason: Type.Optional(Type.String()),
    }),
  ),
  validation: Type.Array(Type.Object({ rule: Type.String(), passed: Type.Boolean() })),
  prerequisites: Type.Array(Type.Object({ name: Type.String(), met: Type.Boolean() })),
});
const Taken = record('DecisionTaken', {
  event_type: Type.String(),
  status_before: Type.String(),
  status_after: Type.String(),
  value: nullable(Json),
  previous_date: nullable(IsoDate),
  previous_source_type: nullable(Type.String()),
  delta_days: nullable(Type.Integer()),
  is_override: Type.Boolean(),
});
const Decision = record('AnchorDecision', {
  history_id: Uuid,
  policy_version: Type.Integer(),
  policy: Policy,
  facts: Json,
  command: Json,
  trace: Trace,
  decision: Taken,
  actor_user_id: nullable(Uuid),
  approver_user_id: nullable(Uuid),
  ...importClaims,
});

export const decisionRoutes = [
  route({
    method: 'GET',
    path,
    operationId: 'getAnchorDecision',
    tag: 'Anchor date',
    summary: 'Get the decision behind a history entry',
    access: inStudy(),
    transaction: 'read',
    description: 'The snapshot holds what the policy read and no more; never a name, an address or a birth date.',
    responses: { 200: Decision },
    handle: ({ tx, params }) => decisionBehind(tx, params.participant_id, params.history_id),
  }),
  route({
    method: 'POST',
    path: `${path}/rederive`,
    operationId: 'rederiveAnchorDecision',
    tag: 'Anchor date',
    summary: 'Re-derive a decision from its snapshot',
    access: inStudy(),
    transaction: 'read',
    description:
      'Changes nothing. `differences` names what is not as it was: `decision`, `trace`, or `snapshot` where ' +
      'the stored one is not the one that the audit chain has sealed.',
    responses: {
      200: record('AnchorDecisionRederived', {
        same: Type.Boolean(),
        decision: nullable(Taken),
        differences: Type.Array(oneOf('decision', 'trace', 'snapshot')),
      }),
    },
    handle: ({ tx, params }) => deriveAgain(tx, params.participant_id, params.history_id),
  }),
];
