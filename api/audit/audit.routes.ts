import { nowIso } from '../../db/client/clock.js';
import { attachment } from '../http/conventions/file-names.js';
import { anyone, roles, studyAsFilter } from '../http/access.js';
import { publicUrl } from '../public-url.js';
import { accepted, created, reply, route, withContentTag, response } from '../http/route.js';
import {
  AuditRecord,
  Checkpoint,
  ConsistencyProof,
  InclusionProof,
  NewAuditRecord,
  NewCheckpoints,
  PublicKey,
  Verdict,
  Verification,
  VerificationAccepted,
} from './audit.schemas.js';
import { Moment, Type, Uuid, listOf, oneOf, paging, since, text } from '../http/common.schemas.js';
import {
  auditRecords,
  checkpointNow,
  checkpoints,
  consistencyProof,
  exportAudit,
  inclusionProof,
  signer,
  verify,
} from './audit.service.js';
import { recordAction } from './audit-actions.service.js';
import { orderVerification, verification } from './audit-verifications.service.js';

/** A deleted study’s chain stays: its id is a filter and need not be an existing study’s. */
const admin = { tag: 'Audit', access: studyAsFilter(roles('admin')) } as const;
const ofStudy = Type.Object({ study_id: Type.Optional(Uuid) });

export const auditRoutes = [
  route({
    ...admin,
    method: 'GET',
    path: '/api/audit',
    operationId: 'listAuditRecords',
    summary: 'List audit records, newest first',
    description:
      'Answers who did what, when and to which record, of the studies that the caller sees. The filters narrow ' +
      'it; the records themselves never change.',
    transaction: 'read',
    query: Type.Object({
      ...paging,
      study_id: Type.Optional(Uuid),
      user_id: Type.Optional(Uuid),
      action: Type.Optional(text(100)),
      resource_type: Type.Optional(text(60)),
      resource_id: Type.Optional(text(200)),
      request_id: Type.Optional(text(36)),
      from: Type.Optional(since),
      to: Type.Optional({ ...Moment, description: 'until this instant, inclusive; a date: until its end (UTC)' }),
    }),
    responses: { 200: listOf(AuditRecord) },
    handle: ({ tx, query, studyId }) =>
      auditRecords(tx, { ...query, study_id: studyId, skip: query.skip ?? 0, limit: query.limit ?? 50 }),
  }),
  route({
    ...admin,
    method: 'POST',
    path: '/api/audit/records',
    operationId: 'recordComplianceAction',
    summary: 'Record a compliance action',
    description:
      'For what is done outside the service and belongs into its chain, such as the sign-off of a cut-over. ' +
      '`action` is one of those that the deployment names (COMPLIANCE_ACTIONS), another is 400 UNKNOWN_ACTION. ' +
      'With a study it goes into that study’s chain, else into the service’s own. Write nothing personal ' +
      'into it: a record is never changed or removed.',
    body: NewAuditRecord,
    responses: { 201: AuditRecord, 400: undefined },
    handle: async ({ services, actor, context, body, studyId }) =>
      created(await recordAction(services, actor, context, { ...body, study_id: body.study_id ?? studyId })),
  }),
  route({
    ...admin,
    method: 'GET',
    path: '/api/audit/verify',
    operationId: 'verifyAudit',
    summary: 'Verify audit chains against their checkpoints',
    description:
      'Calculates every hash again and compares it with the checkpoints. `valid` is false where something was ' +
      'changed; `first_bad_id` names the first record that does not hold. Large logs take long: start a ' +
      'verification in the background instead.',
    query: ofStudy,
    responses: { 200: Verdict },
    handle: ({ services, studyId }) => verify(services, studyId),
  }),
  route({
    ...admin,
    method: 'POST',
    path: '/api/audit-verifications',
    operationId: 'startAuditVerification',
    summary: 'Start an audit verification in the background',
    transaction: 'change',
    description:
      'As `GET /api/audit/verify`, in parts and with progress: for logs that take longer than a request may. ' +
      'Each part sees its chain at one instant, with the records that were added meanwhile.',
    body: NewCheckpoints,
    responses: { 202: VerificationAccepted },
    handle: async ({ tx, audit, actor, context, services, body, studyId }) => {
      const study = body.study_id?.toLowerCase() ?? studyId;
      const ordered = await orderVerification({ tx, audit, actor, context }, study);
      return accepted({ ...ordered, status_url: publicUrl(services.settings, ordered.status_url) });
    },
  }),
  route({
    ...admin,
    method: 'GET',
    path: '/api/audit-verifications/{verification_id}',
    operationId: 'getAuditVerification',
    summary: 'Get the progress and result of an audit verification',
    description:
      'Says how far the verification is and, once it is completed, whether the chains hold, or the first ' +
      'record that does not. 404 where there is no such verification.',
    transaction: 'read',
    responses: { 200: response(Verification, { etag: true }) },
    handle: async ({ tx, params }) => withContentTag(await verification(tx, params.verification_id)),
  }),
  route({
    ...admin,
    method: 'GET',
    path: '/api/audit/checkpoints',
    operationId: 'listAuditCheckpoints',
    summary: 'List signed audit checkpoints, newest first',
    description:
      'Each signs the head of a chain at an instant. Keep them outside of the service: what is changed later ' +
      'does not fit them.',
    transaction: 'read',
    query: Type.Object({ ...paging, study_id: Type.Optional(Uuid) }),
    responses: { 200: listOf(Checkpoint) },
    handle: ({ tx, query, studyId }) => checkpoints(tx, studyId, { skip: query.skip ?? 0, limit: query.limit ?? 50 }),
  }),
  route({
    ...admin,
    method: 'POST',
    path: '/api/audit/checkpoints',
    operationId: 'createAuditCheckpoints',
    summary: 'Create signed audit checkpoints now',
    description:
      'Answers the checkpoints that were made: none of a chain that did not grow. A chain that is not what its ' +
      'last checkpoint stated is not signed: 409 AUDIT_BROKEN names the record.',
    body: NewCheckpoints,
    responses: { 201: listOf(Checkpoint), 409: undefined },
    handle: async ({ services, actor, context, body, studyId }) =>
      created(await checkpointNow(services, actor, context, body.study_id?.toLowerCase() ?? studyId)),
  }),
  route({
    ...admin,
    method: 'GET',
    path: '/api/audit/checkpoints/{id}/consistency',
    operationId: 'getCheckpointConsistencyProof',
    summary: 'Get a consistency proof between two checkpoints',
    description:
      'Proves that the later of two checkpoints continues the earlier one (`from`): nothing before it was ' +
      'changed. 400 where the two are of different chains.',
    transaction: 'read',
    query: Type.Object({ from: Uuid }),
    responses: { 200: ConsistencyProof, 400: undefined },
    handle: ({ tx, params, query }) => consistencyProof(tx, params.id, query.from),
  }),
  route({
    ...admin,
    method: 'GET',
    path: '/api/audit/export',
    operationId: 'exportAudit',
    summary: 'Export audit records and checkpoints as NDJSON',
    description:
      'Each record and checkpoint on a line of its own, as it was sealed; without `study_id` those of every ' +
      'chain. `npm run audit:verify-export -- export.ndjson --key public.pem` checks the file without the ' +
      'service.',
    query: ofStudy,
    responses: { 200: response(undefined, { mediaTypes: ['application/x-ndjson'] }) },
    handle: async ({ services, actor, context, studyId }) =>
      reply(200, await exportAudit(services, actor, context, studyId), {
        'Content-Type': 'application/x-ndjson',
        'Content-Disposition': attachment(['audit', studyId ?? 'all'], 'ndjson', nowIso()),
      }),
  }),
  route({
    method: 'GET',
    path: '/api/audit/public-key',
    operationId: 'getAuditPublicKey',
    tag: 'Audit',
    summary: 'Get the public key of the checkpoints',
    description:
      'The Ed25519 key that signs checkpoints, with its id; `format=pem` as a file. Compare it with one that ' +
      'you had before. 503 where no key is set.',
    access: anyone,
    query: Type.Object({ format: Type.Optional(oneOf('json', 'pem')) }),
    responses: { 200: response(PublicKey, { mediaTypes: ['application/x-pem-file'] }), 503: undefined },
    handle: ({ services, query }) => {
      const { keyId, publicKey } = signer(services);
      return query.format === 'pem'
        ? reply(200, publicKey, { 'Content-Type': 'application/x-pem-file' })
        : { algorithm: 'Ed25519', key_id: keyId, public_key: publicKey };
    },
  }),
  route({
    ...admin,
    method: 'GET',
    path: '/api/audit/{record}/proof',
    operationId: 'getAuditInclusionProof',
    summary: 'Get an inclusion proof of an audit record',
    transaction: 'read',
    description:
      '`record` is chain/seq (the slash written %2F), or a seq in the chain of the study in context, else in ' +
      'the service’s own. Without `checkpoint` the newest that covers it; 409 NOT_CHECKPOINTED when none does.',
    query: Type.Object({ study_id: Type.Optional(Uuid), checkpoint: Type.Optional(Uuid) }),
    responses: { 200: InclusionProof, 409: undefined },
    handle: ({ tx, params, query, studyId }) => inclusionProof(tx, params.record, studyId, query.checkpoint),
  }),
];
