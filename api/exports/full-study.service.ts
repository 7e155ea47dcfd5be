import { createHash } from 'node:crypto';
import { auditSigner } from '../../db/audit/audit-signing.js';
import type { AuditSigner } from '../../db/audit/audit-signing.js';
import { nowIso } from '../../db/client/clock.js';
import { isOwnDocument } from '../../db/exports/full-study/claims.js';
import { contentHash } from '../../db/exports/full-study/content.js';
import { FORMAT, FORMAT_VERSION, writeStudyDocument } from '../../db/exports/full-study/document.js';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { ForeignReference } from '../../db/exports/full-study/ids.js';
import { UnreadableDate, loadStudy, studyIsEmpty } from '../../db/exports/full-study/load.js';
import { storedDocument } from '../../db/exports/full-study/stored.js';
import { STUDY_COLUMNS, ofTarget, studyTables } from '../../db/exports/full-study/tables.js';
import { tokenPlace } from '../../db/capture/datacapture-configs.queries.js';
import { IMPORT_ACTION, sealsOf } from '../../db/anchor/decisions.queries.js';
import { updateStudy } from '../../db/studies/studies.queries.js';
import { parseJson } from '../http/body/json.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { Reply } from '../http/route.js';
import { StudyDocument as DocumentSchema } from './full-study.schemas.js';
import { seal } from '../secrets.js';
import type { Dependencies } from '../dependencies.js';
import { check } from '../http/validation/validation.js';
import type { ExportOptions } from './exports.service.js';
import { acceptPolicy } from '../studies/policy.service.js';
import { streamStudy } from './whole-study.js';
import { createStudy, getStudyOrThrow } from '../studies/studies.service.js';
import type { RequestScope } from '../http/state.js';

/** Everything of a study as one JSON document, streamed. @throws 404 */
export const exportFullStudy = (options: ExportOptions, studyId: string): Promise<Reply> =>
  streamStudy(
    options,
    { studyId },
    {
      kind: 'full',
      extension: 'json',
      mediaType: 'application/json',
      write: (tx, at, sink) => writeStudyDocument(tx, studyId, at, sink, signerOf(options.services)),
    },
  );

/** The key of the audit's checkpoints signs documents as well. */
const signerOf = ({ settings }: Dependencies): AuditSigner | undefined =>
  settings.AUDIT_SIGNING_KEY === undefined ? undefined : auditSigner(settings.AUDIT_SIGNING_KEY);

const NOT_VERIFIED = {
  code: 'SIGNATURES_NOT_VERIFIED',
  message: 'The document does not bear this service’s signature: the signatures of its forms are shown as not verified',
};

export interface ImportTarget {
  study_id?: string | undefined;
  study_code?: string | undefined;
  study_name?: string | undefined;
}
const KEYS = ['study_id', 'study_code', 'study_name'] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Loads a document of `exportStudy` into an empty study, or into a new one of the given code and name: new ids, the
 * same content, versions and history with it. All of it commits, or none.
 * @throws 400 another format, 404, 409 STUDY_NOT_EMPTY or STUDY_CODE_TAKEN, 422 no target, or rows that no table takes
 */
export async function importFullStudy(
  change: RequestScope & { services: Dependencies },
  bytes: Buffer,
  named: ImportTarget,
) {
  const { tx, audit, actor, context, services } = change;
  const { document, target } = opened(bytes, named);
  const policy = acceptPolicy(
    (document.study.config as Record<string, unknown> | null)?.enrollment_date_policy ?? {},
    'in study',
  );
  const studyId = await targetStudy(change, target);
  const { study } = document;
  const fields = Object.fromEntries(
    STUDY_COLUMNS.filter((name) => !ofTarget.has(name) && study[name] !== undefined).map((name) => [name, study[name]]),
  );
  await updateStudy(tx, studyId, {
    ...fields,
    datacapture_enabled: false,
    config: { ...(study.config as Record<string, unknown> | undefined), enrollment_date_policy: policy },
  });
  const datacapture = {
    webhook_enabled: false,
    webhook_secret_encrypted: null,
    sync_status: 'pending',
    api_token_encrypted:
      (document.tables.datacapture_configs ?? []).length > 0 ? seal(services, '', tokenPlace(studyId)) : null,
  };
  const importing = { userId: actor.id, verified: isOwnDocument(bytes, document.manifest, signerOf(services)) };
  const { loaded, unknownBatteries } = await loadStudy(tx, studyId, document, { datacapture, importing }).catch(
    (fault: unknown) => {
      if (fault instanceof UnreadableDate)
        throw problem('VALIDATION_FAILED', {
          detail: fault.message,
          errors: [{ path: fault.path, code: 'FORMAT', message: fault.message }],
        });
      throw fault instanceof ForeignReference
        ? problem('FILE_UNREADABLE', { detail: `The document is not whole: ${fault.message}.`, cause: fault })
        : fault;
    },
  );
  const rows = Object.values(loaded).reduce((sum, n) => sum + n, 0);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'study_imported',
    resource_type: 'study',
    resource_id: studyId,
    metadata: {
      rows,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      format_version: document.format_version,
      signed_by_this_service: importing.verified,
    },
  });
  await sealDecisions(change, studyId);
  const { study_code, study_name } = await getStudyOrThrow(tx, studyId);
  return {
    study_id: studyId,
    study_code,
    study_name,
    rows: loaded,
    content_sha256: contentHash(await storedDocument(tx, studyId, nowIso())),
    warnings: [
      ...(importing.verified ? [] : [NOT_VERIFIED]),
      ...warningsOf(study.datacapture_enabled === true, loaded, unknownBatteries),
    ],
  };
}

/**
 * With its new ids no decision is what another chain has sealed: this one seals each as it was loaded, so that a
 * snapshot that is changed afterwards is found here too.
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
            message: `Visits or the event mapping name batteries that the document does not hold (${unknownBatteries.join(', ')}): they have none now`,
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

/** The study that is loaded into, locked. */
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

/**
 * The document, and where it is to go: said beside it, in its own top level, or around it as `{study_id, document}`.
 */
function opened(bytes: Buffer, named: ImportTarget): { document: StudyDocument; target: ImportTarget } {
  const given = parseJson(bytes);
  const outer = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>;
  const inner = (typeof outer.document === 'object' && outer.document !== null ? outer.document : outer) as Record<
    string,
    unknown
  >;
  if (inner.format !== FORMAT)
    throw problem('FILE_UNREADABLE', { detail: `This is not a full export of a study: format is not ${FORMAT}.` });
  if (inner.format_version !== FORMAT_VERSION)
    throw problem('FILE_UNREADABLE', {
      detail: `The document has format_version ${String(inner.format_version)}; ${FORMAT_VERSION} is read here.`,
    });
  check(DocumentSchema, inner, 'body');
  const document = inner as unknown as StudyDocument;
  const strange = Object.keys(document.tables).find((name) => !studyTables.some((table) => table.name === name));
  if (strange !== undefined)
    throw problem('FILE_UNREADABLE', {
      detail: `The document has a table that is not known here: ${strange.slice(0, 60)}.`,
    });
  const target: ImportTarget = {};
  for (const key of KEYS) {
    const said = [named[key], outer[key], inner[key]].filter(
      (value): value is string => typeof value === 'string' && value !== '',
    );
    if (new Set(said.map((value) => (key === 'study_id' ? value.toLowerCase() : value))).size > 1)
      throw problem('CONTEXT_CONFLICT', { detail: `${key} is given twice, and not the same.` });
    if (said[0] !== undefined) target[key] = said[0];
  }
  return { document, target };
}
