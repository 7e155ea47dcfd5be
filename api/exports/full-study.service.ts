import { auditSigner } from '../../db/audit/audit-signing.js';
import type { AuditSigner } from '../../db/audit/audit-signing.js';
import { nowIso } from '../../db/client/clock.js';
import { writeStudyDocument } from '../../db/exports/full-study/document.js';
import { askedIn, startLoaded, studyIsEmpty } from '../../db/exports/full-study/target.js';
import { tokenPlace } from '../../db/capture/datacapture-configs.queries.js';
import { IMPORT_ACTION, sealsOf } from '../../db/anchor/decisions.queries.js';
import { updateStudy } from '../../db/studies/studies.queries.js';
import { withKeepAlive } from '../../db/client/connection/keep-alive.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { Reply } from '../http/route.js';
import { seal } from '../secrets.js';
import type { Dependencies } from '../dependencies.js';
import type { ExportOptions } from './exports.service.js';
import { acceptPolicy } from '../studies/policy.service.js';
import { streamStudy } from './whole-study.js';
import { namingUnfitRows } from './full-study/unfit-rows.js';
import { withDocument } from './full-study/in-thread.js';
import type { DocumentThread } from './full-study/in-thread.js';
import type { ImportTarget } from './full-study/opened.js';
import { acceptConfig, createStudy, getStudyOrThrow } from '../studies/studies.service.js';
import type { RequestScope } from '../http/state.js';
import { UUID } from '../../db/client/uuid.js';

/** Streams all data of a study as one JSON document. @throws 404 */
export const exportFullStudy = (options: ExportOptions, studyId: string): Promise<Reply> =>
  streamStudy(
    options,
    { studyId },
    {
      kind: 'full',
      extension: 'json',
      mediaType: 'application/json',
      write: (tx, instant, sink) => writeStudyDocument(tx, studyId, instant, sink, signerOf(options.services)),
    },
  );

/** Documents are signed by the key of audit checkpoints. */
const signerOf = ({ settings }: Dependencies): AuditSigner | undefined =>
  settings.AUDIT_SIGNING_KEY === undefined ? undefined : auditSigner(settings.AUDIT_SIGNING_KEY);

const NOT_VERIFIED = {
  code: 'SIGNATURES_NOT_VERIFIED',
  message: 'The document does not bear this service’s signature: the signatures of its forms are shown as not verified',
};

/**
 * Loads a document of `exportStudy` into an empty study, or into a new one of the given code and name: new ids, the
 * same content, including versions and history. All of it commits, or none.
 * @throws 400 another format, 404, 409 STUDY_NOT_EMPTY or STUDY_CODE_TAKEN, 422 no target, or rows that no table takes
 */
export async function importFullStudy(
  change: RequestScope & { services: Dependencies },
  sent: { bytes: Buffer; named: ImportTarget; gone: AbortSignal },
) {
  const signer = signerOf(change.services);
  const key = signer && { keyId: signer.keyId, publicKey: signer.publicKey };
  return withKeepAlive(change.tx, () => withDocument({ ...sent, key }, (document) => importOpened(change, document)));
}

async function importOpened(change: RequestScope & { services: Dependencies }, document: DocumentThread) {
  const { tx, audit, actor, context, services } = change;
  const { study, ...opened } = await document.open();
  const config = (study.config ?? {}) as Record<string, unknown>;
  acceptConfig(config);
  const policy = acceptPolicy(config.enrollment_date_policy ?? {}, 'in study');
  const studyId = await targetStudy(change, opened.target);
  const { datacapture_enabled: captured, ...fields } = study;
  await updateStudy(tx, studyId, {
    ...fields,
    datacapture_enabled: false,
    config: { ...config, enrollment_date_policy: policy },
  });
  const datacapture = {
    webhook_enabled: false,
    webhook_secret_encrypted: null,
    sync_status: 'pending',
    api_token_encrypted: opened.hasDatacapture ? seal(services, '', tokenPlace(studyId)) : null,
  };
  const { loaded, unknownBatteries } = await document.load(namingUnfitRows(askedIn(tx)), {
    studyId,
    userId: actor.id,
    datacapture,
  });
  await startLoaded(tx, studyId);
  const rows = Object.values(loaded).reduce((sum, n) => sum + n, 0);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'study_imported',
    resource_type: 'study',
    resource_id: studyId,
    metadata: {
      rows,
      sha256: opened.sha256,
      format_version: opened.format_version,
      signed_by_this_service: opened.verified,
    },
  });
  await sealDecisions(change, studyId);
  const { study_code, study_name } = await getStudyOrThrow(tx, studyId);
  await writeStudyDocument(tx, studyId, nowIso(), document.stored());
  return {
    study_id: studyId,
    study_code,
    study_name,
    rows: loaded,
    content_sha256: await document.contentHash(),
    warnings: [...(opened.verified ? [] : [NOT_VERIFIED]), ...warningsOf(captured === true, loaded, unknownBatteries)],
  };
}

/**
 * With its new ids no decision matches another chain's seal: this chain seals each one as loaded, so that later changes
 * of a snapshot are detected here too.
 */
async function sealDecisions({ tx, audit, actor, context }: RequestScope, studyId: string): Promise<void> {
  const shared = {
    ...auditActor(actor, context),
    study_id: studyId,
    action: IMPORT_ACTION,
    resource_type: 'participant',
  };
  for (const { participant_id, decision_hashes } of await sealsOf(tx, studyId))
    audit.record({ ...shared, resource_id: participant_id, metadata: { decision_hashes } });
}

function warningsOf(enabled: boolean, loaded: Record<string, number>, unknownBatteries: readonly number[]) {
  return [
    ...(unknownBatteries.length > 0
      ? [
          {
            code: 'UNKNOWN_BATTERY',
            message:
              'Visits or the event mapping name batteries that the document does not hold ' +
              `(${unknownBatteries.join(', ')}): they have none now`,
          },
        ]
      : []),
    ...(loaded.datacapture_configs
      ? [
          {
            code: 'DATACAPTURE_SECRETS_LEFT_OUT',
            message: 'Token and webhook secret of the capture system are not part of a document: set them',
          },
        ]
      : []),
    ...(enabled
      ? [
          {
            code: 'DATACAPTURE_DISABLED',
            message: 'datacapture_enabled is off: two studies must not take the same capture system’s triggers',
          },
        ]
      : []),
  ];
}

/** The target study of the load, locked. */
async function targetStudy(change: RequestScope, { study_id, study_code, study_name }: ImportTarget): Promise<string> {
  if (study_code !== undefined || study_name !== undefined) {
    if (study_id !== undefined)
      throw problem('CONTEXT_CONFLICT', {
        detail: 'Name a study, or study_code and study_name of a new one, not both.',
      });
    const missing = (['study_code', 'study_name'] as const).filter(
      (name) => ({ study_code, study_name })[name] === undefined,
    );
    if (missing.length > 0) throw required(missing, 'is required for a new study');
    if (!['admin', 'researcher'].includes(change.actor.role))
      throw problem('FORBIDDEN', { detail: `The role ${change.actor.role} does not create studies.` });
    return (await createStudy(change, { study_code: study_code!, study_name: study_name! })).id;
  }
  if (study_id === undefined)
    throw required(
      ['study_id'],
      'is required: as a query, X-Study-ID or in the body; or study_code and study_name of a new study',
    );
  if (!UUID.test(study_id))
    throw problem('VALIDATION_FAILED', {
      detail: 'study_id is not a valid uuid',
      errors: [{ path: 'study_id', code: 'FORMAT', message: 'study_id is not a valid uuid' }],
    });
  const { id } = await getStudyOrThrow(change.tx, study_id, 'contents');
  if (!(await studyIsEmpty(change.tx, id)))
    throw problem('STUDY_NOT_EMPTY', {
      detail: 'The study is not empty: a document is loaded into an empty one only.',
    });
  return id;
}

const required = (names: readonly string[], sentence: string) =>
  problem('VALIDATION_FAILED', {
    detail: `${names.join(', ')} ${sentence}`,
    errors: names.map((path) => ({ path, code: 'REQUIRED', message: `${path} ${sentence}` })),
  });
