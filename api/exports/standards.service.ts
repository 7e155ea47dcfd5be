import { PassThrough } from 'node:stream';
import { nowIso } from '../../db/client/clock.js';
import { standardStudy, standardSubject } from '../../db/exports/standards.queries.js';
import { writeAsCaller, readAsCaller } from '../../db/client/request.js';
import type { Caller, CallerRow } from '../../db/client/request.js';
import { withFileLimits } from '../../db/client/transaction.js';
import { authorizeUser, exporters } from '../http/access.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import type { Dependencies } from '../dependencies.js';
import { fhirBundle } from './standards/fhir.js';
import { writeOdm } from './standards/odm/document.js';
import { attachment, safeName } from '../http/conventions/file-names.js';
import type { ExportOptions } from './exports.service.js';
import { streamed } from './streamed.js';
import { getStudyOrThrow } from '../studies/studies.service.js';
import type { RequestScope } from '../http/request-scope.js';

/** Where codes of ours are from, for who has no address of us. */
const SYSTEM = 'urn:research-assessment:platform';

/** A study as CDISC ODM, streamed, of one moment; told in the study's audit before it begins. @throws 404 */
export async function exportOdm({ services, actor, context, siteId }: ExportOptions, studyId: string): Promise<Reply> {
  const caller: Caller = { userId: actor.id, studyId, siteId };
  const enter = (row: CallerRow | undefined) => authorizeUser(exporters, row, studyId);
  const study = await writeAsCaller(services.database, caller, enter, async ({ tx, audit }) => {
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action: 'study_exported',
      resource_type: 'study',
      resource_id: studyId,
      metadata: { format: 'odm' },
    });
    return getStudyOrThrow(tx, studyId);
  });
  const sink = new PassThrough();
  const body = streamed(services, sink, () =>
    readAsCaller(
      services.database,
      caller,
      enter,
      async (tx) => {
        await withFileLimits(tx);
        return writeOdm(tx, studyId, nowIso(), sink);
      },
      ),
  );
  return reply(200, body, {
    'Content-Type': 'application/xml; charset=utf-8',
    'Content-Disposition': attachment([safeName(study.study_code), 'odm'], 'xml', nowIso()),
  });
}

/** A participant as a FHIR R4 bundle; told in the study's audit. @throws 404 */
export async function exportFhir(
  { tx, audit, actor, context }: RequestScope,
  { PUBLIC_URL }: Dependencies['settings'],
  studyId: string,
  participantId: string,
): Promise<Reply> {
  const [study, subject] = [await standardStudy(tx, studyId), await standardSubject(tx, studyId, participantId)];
  if (!study || !subject) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'participant_data_exported',
    resource_type: 'participant',
    resource_id: participantId,
    metadata: { format: 'fhir' },
  });
  const bundle = fhirBundle(study, subject, PUBLIC_URL?.replace(/\/+$/, '') ?? SYSTEM, nowIso());
  return reply(200, JSON.stringify(bundle), { 'Content-Type': 'application/fhir+json; charset=utf-8' });
}
