import { studyShownTo } from '../../db/studies/study-face.queries.js';
import { builtInLanguage } from '../../workflows/domain/notifications/built-in.js';
import { publicName } from '../../workflows/domain/notifications/study-face.js';
import { inStudy, staff } from '../http/access.js';
import { route, response } from '../http/route.js';
import { Because, Visit } from './schedules.schemas.js';
import { getParticipantOrThrow as existingParticipant } from '../participants/participants.service.js';
import { visitCalendar } from './visit-calendar.service.js';
import { cancelVisit, reopenVisit } from './visit-states.service.js';

export const visitStateRoutes = [
  route({
    method: 'POST',
    path: '/api/visits/{visit_id}/cancel',
    operationId: 'cancelVisit',
    tag: 'Visits',
    summary: 'Cancel a visit',
    access: staff.participants,
    transaction: 'change',
    description:
      'A cancelled one is answered again; completed and superseded ones are 409 VISIT_CLOSED. It stays ' +
      'cancelled when the schedule is made again, until it is reopened. Of a withdrawn participant 409 ' +
      'PARTICIPANT_WITHDRAWN: the schedule is frozen.',
    body: Because,
    responses: { 200: Visit },
    handle: ({ tx, audit, actor, context, params, body }) =>
      cancelVisit({ tx, audit, actor, context }, params.visit_id, body.reason),
  }),
  route({
    method: 'POST',
    path: '/api/visits/{visit_id}/reopen',
    operationId: 'reopenVisit',
    tag: 'Visits',
    summary: 'Reopen a visit',
    access: staff.participants,
    transaction: 'change',
    description:
      'The visit is then scheduled, open or missed by the calendar of its site or study. One that a later ' +
      'schedule replaced is 409 VISIT_CLOSED, one of a withdrawn participant 409 PARTICIPANT_WITHDRAWN.',
    body: Because,
    responses: { 200: Visit },
    handle: ({ tx, audit, actor, context, params, body }) =>
      reopenVisit({ tx, audit, actor, context }, params.visit_id, body.reason),
  }),
  route({
    method: 'GET',
    path: '/api/participants/{participant_id}/visits.ics',
    operationId: 'getParticipantCalendar',
    tag: 'Visits',
    summary: 'Get a participant’s visits as iCalendar',
    description:
      'The visits as a file, in the participant’s language. Calendar programs send no token: for them there is ' +
      'a secret address (`createCalendarFeed`).',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: response(undefined, { etag: true, mediaTypes: ['text/calendar'] }) },
    handle: async ({ tx, params }) => {
      const { id } = await existingParticipant(tx, params.participant_id);
      const study = (await studyShownTo(tx, id))!;
      const language = builtInLanguage(study.preferred_language, study.default_language);
      return visitCalendar(tx, id, { language, name: publicName(study, study.preferred_language ?? language) });
    },
  }),
];
