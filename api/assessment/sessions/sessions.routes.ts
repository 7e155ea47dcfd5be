import { nowIso } from '../../../db/client/clock.js';
import { listSessions } from '../../../db/assessment/sessions.queries.js';
import { arrivedTasks, tasksOfSession } from '../../../db/assessment/submissions.queries.js';
import { anyone, inStudy } from '../../http/access.js';
import { created, route, withContentTag, response, largeJson } from '../../http/route.js';
import {
  SoughtCode,
  IsoDate,
  Type,
  Uuid,
  listOf,
  oneOf,
  paging,
  sorting,
  text,
  record,
} from '../../http/common.schemas.js';
import {
  End,
  Ended,
  Session,
  SessionDetails,
  SessionState,
  SessionStatus,
  Start,
  Started,
  Submission,
  Submitted,
  Trial,
} from './sessions.schemas.js';
import { getSessionOrThrow, sessionDetails, shownTo, startSession } from './sessions.service.js';
import { callerOf, sessionCallers, studyOf } from './sessions-caller.service.js';
import { requireNamed } from '../../http/security/session-credential.js';
import { endAssessmentSession } from './sessions-end.service.js';
import { submit } from './sessions-submit.service.js';
import { streamTrials } from './sessions-trials.service.js';

const credential =
  'No bearer token: the session id in the header `X-Session-ID` is the credential (unknown or missing 401, ' +
  'expired 401 SESSION_EXPIRED, other than in the body 400). It is looked at before the body; an Idempotency-Key ' +
  'is the session’s own.';

const named =
  'While a session is active its id is a credential: who may not start sessions sees `id` null, and knows the ' +
  'session by its `public_id`, which is accepted here as well.';

const sessionHeader = Type.Object({ 'x-session-id': Type.Optional(Type.String({ description: 'the session id' })) });

export const sessionRoutes = [
  route({
    method: 'POST',
    path: '/api/session/start',
    operationId: 'startSession',
    tag: 'Sessions',
    summary: 'Start an assessment session',
    access: sessionCallers,
    transaction: 'change',
    body: Start,
    responses: { 201: Started },
    description:
      '`participant_id` and `site_id` may be id or code; a code needs the study. Without `visit_id` the ' +
      'participant’s one open visit is used, if there is exactly one. A completed visit 409 VISIT_COMPLETED; ' +
      'another site than the caller is assigned to 403 SITE_NOT_ASSIGNED; outside its window staff get the ' +
      'warning OUTSIDE_WINDOW, a participant 409 VISIT_NOT_OPEN. So it is in a study that has ended or is ' +
      'paused: staff get the warning STUDY_ENDED or STUDY_PAUSED. Repeat a start whose answer was lost under its ' +
      'Idempotency-Key: a start without one is a new session.',
    handle: async ({ tx, audit, actor, context, services, studyId, body }) =>
      created(
        await startSession(
          { tx, audit, caller: callerOf(actor), context, minutes: services.settings.ASSESSMENT_SESSION_MINUTES },
          studyOf(actor, studyId),
          body,
        ),
      ),
  }),
  route({
    method: 'POST',
    path: '/api/session/end',
    operationId: 'endSession',
    tag: 'Sessions',
    summary: 'End a session and complete its visit',
    access: anyone,
    transaction: 'session',
    description:
      `${credential} Ending twice answers the same. A visit that another session has completed meanwhile stays that ` +
      `one’s: the warning VISIT_COMPLETED, and a conflict \`visit_already_completed\` in the study’s sync conflicts.`,
    headers: sessionHeader,
    body: End,
    responses: { 200: Ended, 400: undefined, 401: undefined, 409: undefined, 503: undefined },
    handle: ({ tx, audit, session, body, context }) => {
      requireNamed(session, body.session_id);
      return endAssessmentSession({ tx, audit }, session, context);
    },
  }),
  route({
    method: 'GET',
    path: '/api/session/state',
    operationId: 'getSessionState',
    tag: 'Sessions',
    summary: 'Get what has been received of a session',
    access: anyone,
    transaction: 'session',
    description:
      'The session id in the header `X-Session-ID` is the credential (unknown or missing 401). An expired or ' +
      'ended session answers, too: its `status` says so.',
    headers: sessionHeader,
    responses: { 200: SessionState, 401: undefined, 503: undefined },
    handle: async ({ tx, session }) => ({
      session_id: session.id,
      status: session.status,
      expires_at: session.expires_at,
      completed_at: session.completed_at,
      visit_id: session.visit_id,
      server_time: nowIso(),
      tasks: await arrivedTasks(tx, session.id),
    }),
  }),
  route({
    method: 'POST',
    path: '/api/submit',
    operationId: 'submitResults',
    tag: 'Sessions',
    summary: 'Submit task summaries and raw trials',
    access: anyone,
    transaction: 'session',
    description:
      `${credential} A submission is stored whole or not at all, at most 50,000 trials. Tasks may come in several ` +
      `submissions; the same again is \`duplicate\`, other data for a task 409 TASK_CONFLICT, anything new after ` +
      `the end 409 SESSION_ENDED, unless it began before the end: its request did, or all of its trials were ` +
      `recorded before. The same rule holds for \`/api/sync/responses\` and \`/api/sync/bulk\`; here, by the ` +
      `session’s id alone, only until \`expiresAt\` of its start. A task that the ` +
      `battery has in several modules is distinguished by \`module_id\`; without it there is a warning ` +
      `TASK_IN_SEVERAL_MODULES. Implausible values and trials out of order are kept and reported.`,
    headers: sessionHeader,
    body: largeJson(Submission),
    responses: { 200: Submitted, 400: undefined, 401: undefined, 409: undefined, 503: undefined },
    handle: ({ tx, audit, session, body, context }) => {
      requireNamed(session, body.session_id);
      return submit({ tx, audit }, session, context, body);
    },
  }),
  route({
    method: 'GET',
    path: '/api/sessions',
    operationId: 'listSessions',
    tag: 'Sessions',
    summary: 'List sessions',
    access: inStudy(),
    transaction: 'read',
    description: `\`from\` and \`to\` are inclusive dates of the start (UTC). ${named}`,
    query: Type.Object({
      ...paging,
      sort: sorting('started_at', 'completed_at', 'created_at', 'status'),
      study_id: Type.Optional(Uuid),
      participant_id: Type.Optional(Uuid),
      visit_id: Type.Optional(Uuid),
      status: Type.Optional(SessionStatus),
      source: Type.Optional(oneOf('online', 'offline')),
      sync_status: Type.Optional(oneOf('pending', 'synced', 'failed')),
      battery_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
      participant_code: Type.Optional(SoughtCode),
      site_code: Type.Optional(SoughtCode),
      from: Type.Optional(IsoDate),
      to: Type.Optional(IsoDate),
    }),
    responses: { 200: listOf(Session) },
    handle: async ({ tx, query, studyId, actor }) => {
      const { items, total } = await listSessions(tx, {
        studyId,
        participantId: query.participant_id,
        participantCode: query.participant_code,
        visitId: query.visit_id,
        status: query.status,
        source: query.source,
        syncStatus: query.sync_status,
        batteryId: query.battery_id,
        siteCode: query.site_code,
        from: query.from,
        to: query.to,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? '-started_at',
      });
      return { items: items.map((session) => shownTo(actor, session)), total };
    },
  }),
  route({
    method: 'GET',
    path: '/api/sessions/{session_id}',
    operationId: 'getSession',
    tag: 'Sessions',
    summary: 'Get a session with its task results',
    description: named,
    access: inStudy(),
    transaction: 'read',
    responses: { 200: response(SessionDetails, { etag: true }) },
    // Results of its tasks arrive without a change of the session's own row.
    handle: async ({ tx, params, actor }) =>
      withContentTag({ ...(await sessionDetails(tx, params.session_id, actor)) }),
  }),
  route({
    method: 'GET',
    path: '/api/sessions/{session_id}/trials',
    operationId: 'streamTrials',
    tag: 'Sessions',
    summary: 'Stream the raw trials of a session',
    access: inStudy(),
    transaction: 'read',
    description:
      'Tasks by name, the trials of each in the order that they were sent; all of them where no `limit` is ' +
      'given. `format=ndjson`: a trial a line.',
    query: Type.Object({
      skip: paging.skip,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'how many at most; default: all' })),
      task: Type.Optional(text(64, 1)),
      format: Type.Optional(oneOf('json', 'ndjson')),
    }),
    responses: {
      200: response(record('SessionTrials', { session_id: Uuid, total: Type.Integer(), items: Type.Array(Trial) }), {
        mediaTypes: ['application/x-ndjson'],
      }),
    },
    handle: async ({ tx, params, query, services, actor }) => {
      const session = await getSessionOrThrow(tx, params.session_id);
      const tasks = (await tasksOfSession(tx, session.id)).filter(
        ({ task }) => query.task === undefined || task === query.task,
      );
      return streamTrials(services.database, session, {
        ...query,
        shown: shownTo(actor, session).id ?? session.public_id,
        total: tasks.reduce((sum, task) => sum + task.trial_count, 0),
      });
    },
  }),
];
