import { FORMER_PATH } from '../http/conventions/deprecation.js';
import { listSyncs } from '../../db/capture/datacapture-syncs.queries.js';
import { inStudy } from '../http/access.js';
import { accepted, response, route, withContentTag } from '../http/route.js';
import * as schema from './datacapture-syncs.schemas.js';
import { startStudySync, syncReport, syncView } from './datacapture-syncs.service.js';

const start = (path: '/api/datacapture/sync/{study_id}' | '/api/redcap/sync/{study_id}') =>
  route({
    method: 'POST',
    path,
    operationId: path === '/api/datacapture/sync/{study_id}' ? 'startCaptureSync' : 'startRedcapSync',
    ...(path === '/api/redcap/sync/{study_id}' && { deprecated: FORMER_PATH }),
    tag: 'Capture system',
    summary:
      path === '/api/datacapture/sync/{study_id}'
        ? 'Start a sync of all capture-system records'
        : 'Start a sync of all capture-system records (former path)',
    description:
      'Each record is treated as its trigger would be. One at a time for a study: where one is running its id ' +
      'is the answer. ' +
      'How far it is: `GET /api/datacapture/syncs/{sync_id}`; its end is in `GET ' +
      '/api/datacapture/status/{study_id}`.',
    access: inStudy('researcher', 'data_manager'),
    transaction: 'change',
    responses: { 202: schema.SyncStarted },
    handle: async ({ params, actor, context, tx, audit }) =>
      accepted(await startStudySync({ tx, audit, actor, context }, params.study_id)),
  });

export const datacaptureSyncRoutes = [
  start('/api/datacapture/sync/{study_id}'),
  start('/api/redcap/sync/{study_id}'),
  route({
    method: 'GET',
    path: '/api/datacapture/syncs/{sync_id}',
    operationId: 'getCaptureSync',
    tag: 'Capture system',
    summary: 'Get the progress and findings of a sync or poll',
    description:
      'Issues, in pages: records that could not be taken (PARTICIPANT_CODE_TAKEN, …), another date for a final ' +
      'anchor (OVERRIDE_REQUIRED), sites that the ' +
      'study does not have (UNKNOWN_SITE) or that a data access group may be several of (AMBIGUOUS_SITE), ' +
      'participants whose record is missing (RECORD_VANISHED; with ' +
      'RECORD_RENAMED where a new record holds the same).',
    access: inStudy(),
    transaction: 'read',
    query: schema.SyncPage,
    responses: { 200: response(schema.SyncReport, { etag: true }) },
    handle: async ({ params, query, actor, tx }) => withContentTag(await syncReport(tx, actor, params.sync_id, query)),
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/datacapture/syncs',
    operationId: 'listCaptureSyncs',
    tag: 'Capture system',
    summary: 'List syncs and polls of a study, newest first',
    description: 'Runs that read the capture system, by hand or by themselves, with what they read and changed.',
    access: inStudy(),
    transaction: 'read',
    query: schema.SyncPage,
    responses: { 200: schema.Syncs },
    handle: async ({ params, query, tx }) => {
      const { items, total } = await listSyncs(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      });
      return { items: items.map(syncView), total };
    },
  }),
];
