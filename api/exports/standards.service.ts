import { nowIso } from '../../db/client/clock.js';
import { standardStudy, standardSubject } from '../../db/exports/standards.queries.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import type { Dependencies } from '../dependencies.js';
import { fhirBundle } from './standards/fhir.js';
import { writeOdm } from './standards/odm/document.js';
import type { ExportOptions } from './exports.service.js';
import { streamStudy } from './whole-study.js';
import type { RequestScope } from '../http/state.js';

/** The system of this service's codes, without a public URL. */
const SYSTEM = 'urn:research-assessment:platform';

/** A study as CDISC ODM, streamed. @throws 404 */
export const exportOdm = (options: ExportOptions, studyId: string): Promise<Reply> =>
  streamStudy(
    options,
    { studyId, siteId: options.siteId },
    {
      kind: 'odm',
      extension: 'xml',
      mediaType: 'application/xml',
      metadata: { format: 'odm' },
      write: (tx, instant, sink) => writeOdm(tx, studyId, instant, sink),
    },
  );

/** A participant as a FHIR R4 bundle; recorded in the study's audit log. @throws 404 */
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
