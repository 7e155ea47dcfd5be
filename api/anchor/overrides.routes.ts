import { listRequests } from '../../db/anchor/override-requests.queries.js';
import { inStudy, withNote, auditedRefusals } from '../http/access.js';
import { route } from '../http/route.js';
import { OverrideApplied, OverrideDenied, OverrideRequest, OverrideStatus } from './anchor.schemas.js';
import {
  Instant,
  Paged,
  Type,
  Uuid,
  listOf,
  nullable,
  oneOf,
  paging,
  text,
  input,
  record,
} from '../http/common.schemas.js';
import { Reauthentication, asksAgain, signerFields } from '../identity/reauthentication.schemas.js';
import { currentAnchor } from './anchors.service.js';
import { decideOnOverride } from './override-decisions.service.js';
import { authorizeOrRecord } from './approval-authorizations.service.js';
import { proofIn } from '../identity/reauthentication.service.js';
import { currentVersion } from '../scheduling/schedule-versions.service.js';

const path = '/api/studies/{study_id}/participants/{participant_id}/anchor-date/override-requests';
const approver = withNote(inStudy(), 'and the policy’s override_approver_roles, but not who asked');

const decide = (decision: 'approve' | 'deny') =>
  route({
    method: 'POST',
    path: `${path}/{override_request_id}/${decision}`,
    operationId: decision === 'approve' ? 'approveOverride' : 'denyOverride',
    tag: 'Anchor date',
    summary: decision === 'approve' ? 'Approve an override' : 'Deny an override',
    access: auditedRefusals(approver, 'override_decision_refused'),
    description:
      (decision === 'approve'
        ? 'The requested date is applied at once, and visits are planned by it. '
        : 'The date stays as it is. A denial needs a reason. ') +
      `The requester cannot decide (403 SELF_APPROVAL); what is no longer pending is 409. A refused decision is an ` +
      `audit record. ${asksAgain}`,
    headers: Reauthentication,
    body: input(decision === 'approve' ? 'OverrideApprove' : 'OverrideDeny', {
      reason: Type.Optional(nullable(text(2000))),
      ...signerFields,
      ...(decision === 'approve' && { preview_hash: Type.Optional(text(64)) }),
    }),
    responses: { 200: decision === 'approve' ? OverrideApplied : OverrideDenied, 401: undefined, 409: undefined },
    handle: async ({ params, body: given, headers, credential, actor, context, services, requestKey }) => {
      const outcome = await decideOnOverride(
        services,
        { actor, context, requestKey },
        {
          studyId: params.study_id,
          participantId: params.participant_id,
          requestId: params.override_request_id,
          decision,
          reason: given?.reason ?? null,
          previewHash: (given as { preview_hash?: string } | undefined)?.preview_hash ?? null,
          proof: proofIn(headers, given, credential),
          meaning: given?.meaning,
        },
      );
      const anchor = await currentAnchor(services, params.study_id, params.participant_id);
      if (decision === 'deny') return { status: 'denied', override_request_id: params.override_request_id, anchor };
      return {
        status: 'applied',
        override_request_id: params.override_request_id,
        anchor,
        impact: outcome.impact,
        warnings: outcome.warnings,
        schedule_version: await currentVersion(services, params.study_id, params.participant_id),
      };
    },
  });

export const overrideRoutes = [
  route({
    method: 'GET',
    path,
    operationId: 'listOverrideRequests',
    tag: 'Anchor date',
    summary: 'List override requests of a participant, newest first',
    description: 'The request, who made it, the effect on each visit, and the decision.',
    access: inStudy(),
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(OverrideRequest) },
    handle: ({ tx, params, query }) =>
      listRequests(tx, {
        study_id: params.study_id,
        participant_id: params.participant_id,
        newestFirst: true,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      }),
  }),
  decide('approve'),
  decide('deny'),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/approvals',
    operationId: 'listStudyApprovals',
    tag: 'Anchor date',
    summary: 'List override requests of a study, oldest first',
    description: 'With the effect on each visit. `status=pending` lists what waits for an approver.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ ...paging, status: Type.Optional(OverrideStatus) }),
    responses: { 200: listOf(OverrideRequest) },
    handle: ({ tx, params, query }) =>
      listRequests(tx, {
        study_id: params.study_id,
        status: query.status,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      }),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/approvals/{override_request_id}/authorization',
    operationId: 'authorizeDecision',
    tag: 'Anchor date',
    summary: 'Issue an authorization to send a decision as a Temporal signal',
    access: auditedRefusals(approver, 'override_decision_refused'),
    transaction: 'change',
    // The answer is a credential, which is stored nowhere.
    idempotencyKey: false,
    description:
      'Good for five minutes, once, and for exactly this decision: the signal `overrideDecision` bears the ' +
      `same \`decision\`, \`reason\` and \`preview_hash\`, \`actor_user_id\` and \`authorization\`. ${asksAgain}`,
    headers: Reauthentication,
    body: input('DecisionAuthorizationCreate', {
      decision: oneOf('approve', 'deny'),
      reason: Type.Optional(nullable(text(2000))),
      ...signerFields,
      preview_hash: Type.Optional(text(64)),
    }),
    responses: {
      200: record('DecisionAuthorization', {
        authorization: Type.String(),
        approver_user_id: Uuid,
        expires_at: Instant,
      }),
      400: undefined,
      401: undefined,
      409: undefined,
    },
    handle: ({ services, tx, audit, actor, context, params, headers, credential, body: given }) =>
      authorizeOrRecord(services, { tx, audit, actor, context }, params.study_id, params.override_request_id, {
        decision: given.decision,
        reason: given.reason,
        preview_hash: given.preview_hash,
        meaning: given.meaning,
        proof: proofIn(headers, given, credential),
      }),
  }),
  route({
    method: 'GET',
    path: '/api/approvals',
    operationId: 'listApprovals',
    tag: 'Anchor date',
    summary: 'List override requests across studies, oldest first',
    access: inStudy(),
    transaction: 'read',
    description:
      'In all studies that the caller sees, with the effect on each visit. `status=pending` lists what waits for ' +
      'an approver; a study context narrows the list.',
    query: Type.Object({
      ...paging,
      study_id: Type.Optional(Uuid),
      status: Type.Optional(OverrideStatus),
    }),
    responses: { 200: listOf(OverrideRequest) },
    handle: ({ tx, studyId, query }) =>
      listRequests(tx, {
        study_id: studyId,
        status: query.status,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      }),
  }),
];
