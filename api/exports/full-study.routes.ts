import { requireKnownParts } from '../http/body/upload.js';
import { exporterAccess } from '../http/access.js';
import { created, route, upload } from '../http/route.js';
import { StudyDocument, StudyLoaded, StudyTarget } from './full-study.schemas.js';
import { exportFullStudy, importFullStudy } from './full-study.service.js';

const tag = 'Exports';

export const fullStudyRoutes = [
  route({
    method: 'GET',
    path: '/api/exports/studies/{study_id}/full',
    operationId: 'exportFullStudy',
    tag,
    summary: 'Export a whole study as JSON',
    access: exporterAccess,
    responses: { 200: StudyDocument },
    description:
      'Everything of the study at one moment, streamed: versions and history too, secrets not. `POST ' +
      '/api/studies/import/full` loads it. The audit records in it are to be read: a chain is not loaded into ' +
      'another.',
    handle: ({ services, actor, context, studyId, params, disconnected }) =>
      exportFullStudy({ services, actor, context, studyId, siteId: undefined, gone: disconnected() }, params.study_id),
  }),
  route({
    method: 'POST',
    path: '/api/studies/import/full',
    operationId: 'importFullStudy',
    tag,
    summary: 'Import a full study export',
    access: exporterAccess,
    transaction: 'change',
    body: upload('application/json'),
    description:
      'Into the empty study of `study_id` or X-Study-ID (409 STUDY_NOT_EMPTY), or with `study_code` and ' +
      '`study_name` into a new one (admin, researcher). New ids, the same content, versions and history; ' +
      '`content_sha256` says what the content is, whatever its ids. ' +
      'The document is the body, or the part `file` of a form, up to MAX_UPLOAD_BYTES; the target is said by ' +
      'query, header, a part of the form, or a key beside or within the document.',
    query: StudyTarget,
    responses: { 201: StudyLoaded, 403: undefined },
    handle: async ({ tx, audit, actor, context, services, raw, parts, query, studyId, disconnected }) => {
      requireKnownParts(parts, Object.keys(StudyTarget.properties));
      return created(
        await importFullStudy(
          { tx, audit, actor, context, services },
          {
            bytes: raw,
            named: {
              study_id: studyId ?? parts.study_id,
              study_code: query.study_code ?? parts.study_code,
              study_name: query.study_name ?? parts.study_name,
            },
            gone: disconnected(),
          },
        ),
      );
    },
  }),
];
