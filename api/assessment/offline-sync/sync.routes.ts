import { nowIso } from '../../../db/client/clock.js';
import { listConflicts } from '../../../db/assessment/offline-conflicts.queries.js';
import { anyone, inStudy, staff, evenWithdrawn } from '../../http/access.js';
import { route, largeJson } from '../../http/route.js';
import { Type, Uuid, listOf, oneOf, paging, sorting } from '../../http/common.schemas.js';
import {
  AnyResponse,
  AnySession,
  Bulk,
  BulkResult,
  Conflict,
  ConflictReport,
  ConflictType,
  ItemResult,
  Resolve,
  SyncStatus,
  deviceClock,
} from './sync.schemas.js';
import { callerOf, mayWriteSessions, sessionCallers } from '../sessions/sessions-caller.service.js';
import { MAX_SYNC_ITEMS, checkConflicts, countResults, sync } from './sync.service.js';
import { conflictAnswer, resolve } from './sync-conflicts.service.js';

const items =
  'An invalid item refuses no other: `created`, ' +
  '`duplicate`, `conflict` (kept: see the study’s sync-conflicts) or `rejected` with code and message, always ' +
  'with 200. The same again changes nothing. A local id belongs to the participant and, where `deviceId` is ' +
  'given, to that device: two devices’ sessions of one id are two. A session that goes on may change zone, ' +
  'language and device. A response belongs to the session item that it came with: what came with a refused ' +
  'session is kept with its conflict, what came with a rejected one is rejected. One that comes without its ' +
  'session and may be of several is rejected with AMBIGUOUS_SESSION: send the session with it, its `deviceId`, ' +
  'or the server id as `sessionId`. For 30 days after a withdrawal the participant’s own token delivers what ' +
  'was recorded before it; what was later is rejected: PARTICIPANT_WITHDRAWN.';
const deviceTime = (headers: Record<string, unknown>): string | undefined =>
  typeof headers['x-device-time'] === 'string' ? headers['x-device-time'] : undefined;

export const syncRoutes = [
  route({
    method: 'GET',
    path: '/api/sync/status',
    operationId: 'getSyncStatus',
    tag: 'Offline sync',
    summary: 'Check that the service is reachable',
    description:
      'For a device that was off line: the service answers, its clock, and how many items it accepts at once.',
    access: anyone,
    responses: { 200: SyncStatus },
    handle: () => ({ status: 'ok', server_time: nowIso(), max_items: MAX_SYNC_ITEMS }),
  }),
  route({
    method: 'POST',
    path: '/api/sync/sessions',
    operationId: 'syncSession',
    tag: 'Offline sync',
    summary: 'Sync one offline session',
    description: items,
    access: evenWithdrawn(sessionCallers),
    transaction: 'change',
    headers: deviceClock,
    body: largeJson(AnySession, 'body'),
    responses: { 200: ItemResult },
    handle: async ({ tx, audit, actor, context, services, headers, body }) =>
      (
        await sync(
          { tx, audit, caller: callerOf(actor), context, minutes: services.settings.ASSESSMENT_SESSION_MINUTES },
          { sessions: [body], responses: [], deviceTime: deviceTime(headers) },
        )
      )[0],
  }),
  route({
    method: 'POST',
    path: '/api/sync/responses',
    operationId: 'syncResponse',
    tag: 'Offline sync',
    summary: 'Sync one offline response',
    description: items,
    access: evenWithdrawn(sessionCallers),
    transaction: 'change',
    headers: deviceClock,
    body: largeJson(AnyResponse, 'body'),
    responses: { 200: ItemResult },
    handle: async ({ tx, audit, actor, context, services, headers, body }) =>
      (
        await sync(
          { tx, audit, caller: callerOf(actor), context, minutes: services.settings.ASSESSMENT_SESSION_MINUTES },
          { sessions: [], responses: [body], deviceTime: deviceTime(headers) },
        )
      )[0],
  }),
  route({
    method: 'POST',
    path: '/api/sync/bulk',
    operationId: 'syncBulk',
    tag: 'Offline sync',
    summary: 'Sync many offline items',
    access: evenWithdrawn(sessionCallers),
    transaction: 'change',
    description:
      'At most 1,000 items (413). They may refer to each other in any order; `results` come in the order sent, ' +
      `sessions before responses. ${items}`,
    headers: deviceClock,
    body: largeJson(Bulk, ['sessions', 'responses']),
    responses: { 200: BulkResult },
    handle: async ({ tx, audit, actor, context, services, headers, body }) =>
      countResults(
        await sync(
          { tx, audit, caller: callerOf(actor), context, minutes: services.settings.ASSESSMENT_SESSION_MINUTES },
          { sessions: body.sessions ?? [], responses: body.responses ?? [], deviceTime: deviceTime(headers) },
        ),
      ),
  }),
  route({
    method: 'POST',
    path: '/api/sync/check-conflicts',
    operationId: 'checkSyncConflicts',
    tag: 'Offline sync',
    summary: 'Check a sync for conflicts',
    description:
      'Changes nothing. At most 1,000 items (413). Items that a sync would reject are in `rejected`, with ' +
      'code and message; a session that cannot be read while its id is known is a `duplicate_session` besides.',
    access: evenWithdrawn(sessionCallers),
    transaction: 'read',
    body: largeJson(Bulk, ['sessions', 'responses']),
    responses: { 200: ConflictReport },
    handle: ({ tx, actor, body }) =>
      checkConflicts(tx, callerOf(actor), { sessions: body.sessions ?? [], responses: body.responses ?? [] }),
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/sync-conflicts',
    operationId: 'listSyncConflicts',
    tag: 'Offline sync',
    summary: 'List sync conflicts of a study',
    description:
      'What devices sent that does not agree with what the service has; both are kept until somebody decides. ' +
      'Long contents are without trials here (`left_out`): the conflict itself has them.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('detected_at', 'status'),
      status: Type.Optional(oneOf('open', 'resolved')),
      conflict_type: Type.Optional(ConflictType),
      participant_id: Type.Optional(Uuid),
    }),
    responses: { 200: listOf(Conflict) },
    handle: ({ tx, actor, params, query }) =>
      listConflicts(
        tx,
        params.study_id,
        {
          status: query.status,
          conflictType: query.conflict_type,
          participantId: query.participant_id,
          skip: query.skip ?? 0,
          limit: query.limit ?? 50,
          sort: query.sort ?? '-detected_at',
        },
        { writesSessions: mayWriteSessions(actor) },
      ),
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/sync-conflicts/{conflict_id}',
    operationId: 'getSyncConflict',
    tag: 'Offline sync',
    summary: 'Get a sync conflict',
    description: 'What the device sent and what the service has, side by side. 404 where there is no such conflict.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Conflict },
    handle: ({ tx, actor, params }) =>
      conflictAnswer(tx, params.study_id, params.conflict_id, { writesSessions: mayWriteSessions(actor) }),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/sync-conflicts/{conflict_id}/resolve',
    operationId: 'resolveSyncConflict',
    tag: 'Offline sync',
    summary: 'Resolve a sync conflict',
    access: staff.participants,
    transaction: 'change',
    description:
      '`server` leaves the server’s side (a session that was stored along with it is set aside), `local` puts the ' +
      'device’s in its place (the visit follows: one that it no longer completes is to do again), `both` keeps ' +
      'the device’s beside it, with the responses that came with it. What gives way stays in the conflict. ' +
      'Once: 409 CONFLICT_RESOLVED after. A session that the resolution of another of its conflicts has set aside ' +
      'stays so: then only `server` is taken (409 CONFLICT).',
    body: Resolve,
    responses: { 200: Conflict },
    handle: async ({ tx, audit, actor, context, params, body }) => {
      await resolve({ tx, audit, actor, context }, params.study_id, params.conflict_id, body);
      return conflictAnswer(tx, params.study_id, params.conflict_id, { writesSessions: true });
    },
  }),
];
