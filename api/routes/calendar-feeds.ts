import { feedsOf } from '../../db/queries/calendar-feeds.js';
import { anyone, portal, staff } from '../access.js';
import { noContent, reply, route } from '../route.js';
import { Instant, Paged, Type, Uuid, listOf, nullable, pageOf, text } from '../schemas/common.js';
import { listFeeds, openFeed, readFeed, readOwnFeed, revokeFeed, revokeOwnFeed } from '../services/calendar-feeds.js';
import { existing } from '../services/participants.js';

const CalendarFeed = Type.Object(
  {
    id: Uuid,
    participant_id: Uuid,
    caregiver_id: nullable({ ...Uuid, description: 'whose feed it is; null: the participant’s own' }),
    url: Type.String({ description: 'secret: whoever has it sees the participant’s visits' }),
    created_at: Instant,
  },
  { additionalProperties: false },
);
const staffPath = '/api/participants/{participant_id}/calendar-feeds';
const ownPath = '/api/portal/calendar-feed';
const own = { tag: 'Portal', may: portal, studyContext: false } as const;

export const calendarFeedRoutes = [
  route({
    method: 'GET',
    path: '/api/calendar/visits.ics',
    tag: 'Portal',
    summary: 'A participant’s visits for a calendar program, by a secret address',
    may: anyone,
    studyContext: false,
    description:
      'In the language of the participant, or of the caregiver whose feed it is. It has an ETag, and says how often to look again (REFRESH-INTERVAL). After a withdrawal what was still to be done is CANCELLED. A revoked address is 404.',
    query: Type.Object({ token: text(400, 1) }),
    etag: true,
    answers: { 200: undefined, 404: undefined },
    further: ['text/calendar'],
    handle: ({ services, query }) => readFeed(services, query.token),
  }),
  route({
    ...own,
    method: 'GET',
    path: ownPath,
    within: 'read',
    summary: 'The address of one’s own calendar feed',
    description: 'Without one 404.',
    answers: { 200: CalendarFeed, 404: undefined },
    handle: ({ tx, actor, services }) => readOwnFeed(tx, services.settings, actor),
  }),
  route({
    ...own,
    method: 'POST',
    path: ownPath,
    within: 'change',
    secret: true,
    summary: 'Make one’s own calendar feed',
    description: 'Where there is one it is answered again, with 200.',
    answers: { 201: CalendarFeed, 200: CalendarFeed },
    handle: async ({ tx, audit, actor, context, services }) => {
      const { feed, isNew } = await openFeed({ tx, audit, actor, context }, services.settings);
      return reply(isNew ? 201 : 200, feed);
    },
  }),
  route({
    ...own,
    method: 'DELETE',
    path: ownPath,
    within: 'change',
    summary: 'Revoke the address of one’s own calendar feed',
    answers: { 204: undefined },
    handle: async ({ tx, audit, actor, context }) => {
      await revokeOwnFeed({ tx, audit, actor, context });
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: staffPath,
    tag: 'Portal',
    summary: 'A participant’s calendar feeds: its own, and those of its caregivers',
    may: staff.participants,
    within: 'read',
    query: Paged,
    answers: { 200: listOf(CalendarFeed) },
    handle: async ({ tx, params, query, services }) => {
      const { id } = await existing(tx, params.participant_id);
      return pageOf(await listFeeds(tx, services.settings, id), query);
    },
  }),
  route({
    method: 'POST',
    path: staffPath,
    tag: 'Portal',
    summary: 'Make a participant’s own calendar feed',
    may: staff.participants,
    within: 'change',
    secret: true,
    description: 'Where there is one it is answered again, with 200.',
    answers: { 201: CalendarFeed, 200: CalendarFeed },
    handle: async ({ tx, audit, actor, context, params, services }) => {
      const { id, study_id } = await existing(tx, params.participant_id);
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
    tag: 'Portal',
    summary: 'Revoke a calendar feed of a participant',
    may: staff.participants,
    within: 'change',
    answers: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      const { id, study_id } = await existing(tx, params.participant_id);
      const feed = (await feedsOf(tx, id)).find((one) => one.id === params.calendar_feed_id.toLowerCase());
      await revokeFeed({ tx, audit, actor, context }, feed, study_id);
      return noContent();
    },
  }),
];
