import type { PassThrough } from 'node:stream';
import { nowIso } from '../../db/client/clock.js';
import type { Tx } from '../../db/client/database.js';
import { writeAsCaller } from '../../db/client/request.js';
import type { Caller, CallerRow } from '../../db/client/request.js';
import { authorizeUser, exporterAccess } from '../http/access.js';
import { auditActor } from '../http/audit-actor.js';
import { attachment, safeName } from '../http/conventions/file-names.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import { getStudyOrThrow } from '../studies/studies.service.js';
import type { ExportOptions } from './exports.service.js';
import { streamAsCaller } from './streamed.js';

/** One format of a study's document. */
export interface StudyFormat {
  /** Part of the file's name. */
  kind: string;
  extension: string;
  mediaType: string;
  /** Of the audit record. */
  metadata?: Record<string, unknown>;
  write: (tx: Tx, instant: string, sink: PassThrough) => Promise<unknown>;
}

/** Streams a study as one document, in one snapshot; recorded in the study's audit log before it begins. @throws 404 */
export async function streamStudy(
  { services, actor, context, gone }: ExportOptions,
  named: { studyId: string; siteId?: string | undefined },
  { kind, extension, mediaType, metadata, write }: StudyFormat,
): Promise<Reply> {
  const { studyId } = named;
  const caller: Caller = { userId: actor.id, ...named };
  const enter = (row: CallerRow | undefined) => authorizeUser(exporterAccess, row, studyId);
  const study = await writeAsCaller(services.database, caller, enter, async ({ tx, audit }) => {
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action: 'study_exported',
      resource_type: 'study',
      resource_id: studyId,
      ...(metadata && { metadata }),
    });
    return getStudyOrThrow(tx, studyId);
  });
  const body = await streamAsCaller({ services, gone }, caller, (tx, sink) => write(tx, nowIso(), sink));
  return reply(200, body, {
    'Content-Type': `${mediaType}; charset=utf-8`,
    'Content-Disposition': attachment([safeName(study.study_code), kind], extension, nowIso()),
  });
}
