import { listStudies, studyById, writtenConfig } from '../../db/studies/studies.queries.js';
import { inStudy, roles, outsideStudy } from '../http/access.js';
import { created, noContent, route } from '../http/route.js';
import { longList } from '../http/json/long-list.js';
import { Type, listOf, paging, sorting, text } from '../http/common.schemas.js';
import { ChangedStudy, NewStudy, Study, StudyChange, StudyStatus } from './studies.schemas.js';
import { changeStudy, createStudy, removeStudy } from './studies.service.js';

export const studyRoutes = [
  route({
    method: 'GET',
    path: '/api/studies',
    operationId: 'listStudies',
    tag: 'Studies',
    summary: 'List studies',
    description: 'The studies that the caller is assigned to; an admin sees all. `status` and `search` narrow it.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('study_code', 'study_name', 'created_at', 'start_date'),
      status: Type.Optional(StudyStatus),
      search: Type.Optional(text(200)),
    }),
    responses: { 200: listOf(Study) },
    handle: async ({ tx, query, studyId }) =>
      longList(
        await listStudies(tx, {
          ...query,
          studyId,
          skip: query.skip ?? 0,
          limit: query.limit ?? 50,
          sort: query.sort ?? 'created_at',
        }),
        'config',
        ({ id }) => writtenConfig(tx, id),
      ),
  }),
  route({
    method: 'POST',
    path: '/api/studies',
    operationId: 'createStudy',
    tag: 'Studies',
    summary: 'Create a study',
    description:
      'It starts with the default enrollment-date policy unless `config.enrollment_date_policy` gives another. ' +
      'A researcher is assigned to the study that they create.',
    access: outsideStudy(inStudy('researcher')),
    transaction: 'change',
    body: NewStudy,
    responses: { 201: Study },
    handle: async ({ tx, audit, actor, context, body }) =>
      created(await createStudy({ tx, audit, actor, context }, body)),
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}',
    operationId: 'getStudy',
    tag: 'Studies',
    summary: 'Get a study',
    description: 'A study with its configuration. 404 if it does not exist or out of reach.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Study },
    handle: ({ tx, params }) => studyById(tx, params.study_id),
  }),
  route({
    method: 'PATCH',
    path: '/api/studies/{study_id}',
    operationId: 'updateStudy',
    tag: 'Studies',
    summary: 'Change a study; `config` is merged',
    description:
      'Only the fields that are given change; `config` is merged (RFC 7396). What schedules depend on is ' +
      'planned again in the background. A study_code in use is 409 STUDY_CODE_TAKEN.',
    access: inStudy('researcher'),
    transaction: 'change',
    body: StudyChange,
    responses: { 200: ChangedStudy },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeStudy({ tx, audit, actor, context }, params.study_id, body, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: '/api/studies/{study_id}',
    operationId: 'deleteStudy',
    tag: 'Studies',
    summary: 'Delete a study without participants',
    access: roles('admin'),
    transaction: 'change',
    description:
      'For one that was made by mistake: its design is deleted with it, its audit log stays. A study that has ' +
      'participants is 409 STUDY_NOT_EMPTY.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeStudy({ tx, audit, actor, context }, params.study_id, assertIfMatch);
      return noContent();
    },
  }),
];
