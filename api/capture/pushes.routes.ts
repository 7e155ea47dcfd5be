import { listFailures } from '../../db/capture/pushes.queries.js';
import { inStudy } from '../http/access.js';
import { accepted, route } from '../http/route.js';
import {
  AttemptQuery,
  Attempts,
  FailureQuery,
  PushFailures,
  PushRetry,
  PushStarted,
  PushesRetried,
} from './pushes.schemas.js';
import { pushAgain, retryPushes, sessionPushes } from './pushes.service.js';

export const pushRoutes = [
  route({
    method: 'GET',
    path: '/api/sessions/{session_id}/pushes',
    operationId: 'listPushAttempts',
    tag: 'Capture system',
    summary: 'List push attempts of a session, newest first',
    description:
      'A failed attempt says why: `circuit_open`, `connection_error`, `http_error`, `timeout`, ' +
      '`invalid_response` are repeated (`next_attempt_at`), `rejected` (the capture system refuses) and ' +
      '`configuration` (something is missing here) are final.',
    access: inStudy(),
    transaction: 'read',
    query: AttemptQuery,
    responses: { 200: Attempts },
    handle: ({ tx, params, query }) =>
      sessionPushes(tx, params.session_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? '-at',
      }),
  }),
  route({
    method: 'POST',
    path: '/api/sessions/{session_id}/push',
    operationId: 'pushSession',
    tag: 'Capture system',
    summary: 'Push a completed session’s results now',
    description:
      'Tries a failed push again, and a waiting one at once. 409 SESSION_NOT_COMPLETED for a session that is ' +
      'not completed.',
    access: inStudy(),
    transaction: 'change',
    responses: { 202: PushStarted, 409: undefined },
    handle: async ({ tx, audit, actor, context, params }) =>
      accepted(await pushAgain({ tx, audit, actor, context }, params.session_id)),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/push-failures/retry',
    operationId: 'retryPushFailures',
    tag: 'Capture system',
    summary: 'Retry failed pushes of a study',
    description:
      'All that have failed, or those of the named `session_ids`. Failures for want of permission go out by ' +
      'themselves once a saved token works.',
    access: inStudy(),
    transaction: 'change',
    body: PushRetry,
    responses: { 202: PushesRetried },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      accepted(await retryPushes({ tx, audit, actor, context }, params.study_id, body.session_ids)),
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/push-failures',
    operationId: 'listPushFailures',
    tag: 'Capture system',
    summary: 'List failed pushes of a study',
    description: 'Newest failure first; `final=true` those alone that are not tried again by themselves.',
    access: inStudy(),
    transaction: 'read',
    query: FailureQuery,
    responses: { 200: PushFailures },
    handle: ({ tx, params, query }) =>
      listFailures(tx, params.study_id, {
        final: query.final,
        errorType: query.error_type,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? '-failed_at',
      }),
  }),
];
