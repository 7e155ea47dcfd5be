import { Readable } from 'node:stream';
import { listEvents } from '../../db/events/events.queries.js';
import { inStudy, orByTicket } from '../http/access.js';
import { EVENT_STREAM as STREAM, JSON_OR_STREAM } from '../http/conventions/event-stream.js';
import { rangeEndExclusive, rangeStart } from '../http/conventions/time-range.js';
import { created, reply, route, response } from '../http/route.js';
import { Type, Uuid, before, listOf, paging, since, sorting, record } from '../http/common.schemas.js';
import { Event, EventType } from './events.schemas.js';
import { eventReader } from './event-reader.service.js';
import { eventTicket } from './event-ticket.service.js';
import { eventStream, resumePosition as streamStart } from './event-stream.service.js';

const Ticket = record('EventTicket', {
  ticket: Type.String(),
  expires_in: Type.Integer({ description: 'seconds' }),
});
const may = inStudy();

export const eventRoutes = [
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/events/ticket',
    operationId: 'createEventTicket',
    tag: 'Events',
    summary: 'Issue a ticket for the event stream',
    access: may,
    transaction: 'read',
    idempotencyKey: false,
    description:
      'For EventSource, which can send no header: `new ' +
      'EventSource(`/api/studies/{study_id}/events?ticket=…`)`. It is valid for this study’s stream alone, ' +
      'within a minute; a stream that is open goes on. The caller’s rights are read again at each look.',
    responses: { 201: Ticket },
    handle: ({ actor, credential, params, services }) =>
      created(eventTicket(services.settings, actor, { ...params, login: credential?.sid })),
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/events',
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events of a study, oldest first',
    access: orByTicket(may),
    transaction: 'read',
    description: `What is emitted, and what is in \`data\`: see \`webhooks\` of this document. Staff with assigned sites see the events of their participants.

With \`Accept: ${STREAM}\` the same as server-sent events, from the first one on and then as they come: \`id\` and \`event\` are the event’s id and type, \`data\` the event. \`Last-Event-ID\` (or \`last_event_id\` in the query) goes on after that event, at any API process; instead of a bearer token \`ticket\` opens it; \`skip\`, \`limit\` and \`sort\` mean nothing there. A user follows 5 streams at a time; one more is 429. The stream ends, with an event \`end\` that says why, when the caller may no longer see the study, or the login was ended.`,
    query: Type.Object({
      ...paging,
      sort: sorting('occurred_at'),
      type: Type.Optional(EventType),
      participant_id: Type.Optional(Uuid),
      from: Type.Optional(since),
      to: Type.Optional(before),
      ticket: Type.Optional(Type.String({ maxLength: 4000, description: 'of a stream, instead of a bearer token' })),
      last_event_id: Type.Optional(
        Type.String({ maxLength: 100, description: 'of a stream: as the header Last-Event-ID, which goes before it' }),
      ),
    }),
    headers: Type.Object({
      'last-event-id': Type.Optional(
        Type.String({ maxLength: 100, description: 'of a stream: the last event that was seen' }),
      ),
    }),
    responses: { 200: response(listOf(Event), { mediaTypes: [STREAM] }) },
    handle: async ({ tx, services, actor, credential, params, query, siteId, headers, disconnected, prefers }) => {
      const filter = {
        type: query.type,
        participantId: query.participant_id,
        from: query.from && rangeStart(query.from),
        to: query.to && rangeEndExclusive(query.to),
      };
      if (prefers(JSON_OR_STREAM) !== STREAM)
        return listEvents(tx, params.study_id, {
          skip: query.skip ?? 0,
          limit: query.limit ?? 50,
          sort: query.sort ?? 'occurred_at',
          ...filter,
        });
      const start = await streamStart(tx, params.study_id, {
        header: headers['last-event-id'] as string | undefined,
        query: query.last_event_id,
      });
      const leave = eventReader(services).enter(actor.id);
      const gone = disconnected();
      gone.addEventListener('abort', leave);
      const stream = eventStream({
        services,
        access: may,
        caller: { userId: actor.id, login: credential?.sid, studyId: params.study_id, ...(siteId && { siteId }) },
        epoch: actor.session_epoch,
        filter,
        start,
        gone,
      });
      return reply(200, Readable.from(stream).once('close', leave), {
        'Content-Type': `${STREAM}; charset=utf-8`,
        'X-Accel-Buffering': 'no',
      });
    },
  }),
];
