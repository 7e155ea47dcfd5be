import { feedsOf } from '../../db/scheduling/calendar-feeds.queries.js';
import { anyone, portal, staff, outsideStudy } from '../http/access.js';
import { noContent, reply, route, response } from '../http/route.js';
import { Instant, Paged, Type, Uuid, listOf, nullable, pageOf, text, named } from '../http/common.schemas.js';
import { listFeeds, openFeed, readFeed, readOwnFeed, revokeFeed, revokeOwnFeed } from './calendar-feeds.service.js';
import { getParticipantOrThrow } from '../participants/participants.service.js';

const CalendarFeed = named(
  'CalendarFeed',
  Type.Object(
    {
      id: Uuid,
      participant_id: Uuid,
      caregiver_id: nullable({ ...Uuid, description: 'whose feed it is; null: the participant’s own' }),
      url: Type.String({ description: 'secret: anyone who has it sees the participant’s visits' }),
      created_at: Instant,
    },
    { additionalProperties: false },
  ),
);
const staffPath = '/api/participants/{participant_id}/calendar-feeds';
const ownPath = '/api/portal/calendar-feed';
const own = { tag: 'Portal', access: outsideStudy(portal) } as const;

export const calendarFeedRoutes = [
  route({
    method: 'GET',
    path: '/api/calendar/visits.ics',
    operationId: 'getCalendarFeedByToken',
    tag: 'Portal',
    summary: 'Get a calendar feed by its secret address',
    access: anyone,
    description:
      'In the language of the participant, or of the caregiver whose feed it is. It has an ETag, and says how ' +
      'often to look again (REFRESH-INTERVAL). After a withdrawal what was still to be done is CANCELLED. A ' +
      'revoked address is 404.',
    query: Type.Object({ token: text(400, 1) }),
    responses: { 200: response(undefined, { etag: true, mediaTypes: ['text/calendar'] }), 404: undefined },
    handle: ({ services, query }) => readFeed(services, query.token),
  }),
  route({
    ...own,
    method: 'GET',
    path: ownPath,
    operationId: 'getOwnCalendarFeed',
    transaction: 'read',
    summary: 'Get the address of the own calendar feed',
    description: 'The secret address that a calendar program reads the visits from. 404 where none was made.',
    responses: { 200: CalendarFeed, 404: undefined },
    handle: ({ tx, actor, services }) => readOwnFeed(tx, services.settings, actor),
  }),
  route({
    ...own,
    method: 'POST',
    path: ownPath,
    operationId: 'createOwnCalendarFeed',
    transaction: 'change',
    idempotencyKey: false,
    summary: 'Create the own calendar feed',
    description:
      'Makes a secret address of the visits, for calendar programs, which send no token. Where there is one it ' +
      'is answered again, with 200.',
    responses: { 201: CalendarFeed, 200: CalendarFeed },
    handle: async ({ tx, audit, actor, context, services }) => {
      const { feed, isNew } = await openFeed({ tx, audit, actor, context }, services.settings);
      return reply(isNew ? 201 : 200, feed);
    },
  }),
  route({
    ...own,
    method: 'DELETE',
    path: ownPath,
    operationId: 'revokeOwnCalendarFeed',
    transaction: 'change',
    summary: 'Revoke the own calendar feed',
    description: 'The address of the caller’s own feed stops working at once. 404 where there is none.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context }) => {
      await revokeOwnFeed({ tx, audit, actor, context });
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: staffPath,
    operationId: 'listCalendarFeeds',
    tag: 'Portal',
    summary: 'List the calendar feeds of a participant and its caregivers',
    description:
      'The feeds of the participant and of its caregivers, each with its secret address: anyone who has that ' +
      'sees the visits.',
    access: staff.participants,
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(CalendarFeed) },
    handle: async ({ tx, params, query, services }) => {
      const { id } = await getParticipantOrThrow(tx, params.participant_id);
      return pageOf(await listFeeds(tx, services.settings, id), query);
    },
  }),
  route({
    method: 'POST',
    path: staffPath,
    operationId: 'createCalendarFeed',
    tag: 'Portal',
    summary: 'Create a participant’s calendar feed',
    access: staff.participants,
    transaction: 'change',
    idempotencyKey: false,
    description:
      'Makes a secret address of the participant’s visits, for calendar programs, which send no token. Where ' +
      'there is one it is answered again, with 200. An erased participant has none: 409 PARTICIPANT_ERASED.',
    responses: { 201: CalendarFeed, 200: CalendarFeed, 409: undefined },
    handle: async ({ tx, audit, actor, context, params, services }) => {
      const { id, study_id } = await getParticipantOrThrow(tx, params.participant_id);
      const { feed, isNew } = await openFeed({ tx, audit, actor, context }, services.settings, {
        study_id,
        participant_id: id,
        caregiver_id: null,
      });
      return reply(isNew ? 201 : 200, feed);
    },
  }),
  route({
    method: 'DELETE',
    path: `${staffPath}/{calendar_feed_id}`,
    operationId: 'revokeCalendarFeed',
    tag: 'Portal',
    summary: 'Revoke a calendar feed of a participant',
    description:
      'The address stops working at once; subscribed calendars no longer show visits. 404 where ' +
      'there is no such feed.',
    access: staff.participants,
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      const { id, study_id } = await getParticipantOrThrow(tx, params.participant_id);
      const feed = (await feedsOf(tx, id)).find((one) => one.id === params.calendar_feed_id.toLowerCase());
      await revokeFeed({ tx, audit, actor, context }, feed, study_id);
      return noContent();
    },
  }),
];
