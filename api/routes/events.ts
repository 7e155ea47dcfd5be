import { Readable } from 'node:stream';
import { listEvents } from '../../db/queries/events.js';
import { inStudy } from '../access.js';
import { siteNamed } from '../context.js';
import { afterEndOf, startOf } from '../moments.js';
import { reply, route } from '../route.js';
import { Type, Uuid, before, listOf, paging, since, sorting, text } from '../schemas/common.js';
import { Event } from '../schemas/events.js';
import { eventReader } from '../services/event-reader.js';
import { eventStream, startOf as streamStart } from '../services/event-stream.js';

const may = inStudy();
const STREAM = 'text/event-stream';

export const eventRoutes = [
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/events',
    tag: 'Events',
    summary: 'What was emitted in the study, oldest first',
    may,
    within: 'read',
    description: `What is emitted, and what stands in \`data\`: see \`webhooks\` of this document. Who is assigned to sites sees the events of their participants.

With \`Accept: ${STREAM}\` the same as server-sent events, from the first one on and then as they come: \`id\` and \`event\` are the event’s id and type, \`data\` the event. \`Last-Event-ID\` goes on after that event, at any API process; \`skip\`, \`limit\` and \`sort\` mean nothing there. A user follows 5 streams at a time; one more is 429. The stream ends, with an event \`end\` that says why, when the caller may no longer see the study.`,
    query: Type.Object({
      ...paging,
      sort: sorting('occurred_at'),
      type: Type.Optional(text(60)),
      participant_id: Type.Optional(Uuid),
      from: Type.Optional(since),
      to: Type.Optional(before),
    }),
    headers: Type.Object({
      'last-event-id': Type.Optional(
        Type.String({ maxLength: 100, description: 'of a stream: the last event that was seen' }),
      ),
    }),
    answers: { 200: listOf(Event) },
    further: [STREAM],
    handle: async ({ tx, services, actor, params, query, headers, gone }) => {
      const filter = {
        type: query.type,
        participantId: query.participant_id,
        from: query.from && startOf(query.from),
        to: query.to && afterEndOf(query.to),
      };
      if (!headers.accept?.includes(STREAM))
        return listEvents(tx, params.study_id, {
          skip: query.skip ?? 0,
          limit: query.limit ?? 50,
          sort: query.sort ?? 'occurred_at',
          ...filter,
        });
      const start = await streamStart(tx, params.study_id, headers['last-event-id'] as string | undefined);
      const site = siteNamed(headers);
      const leave = eventReader(services).enter(actor.id);
      gone.addEventListener('abort', leave);
      const stream = eventStream({
        services,
        access: may,
        caller: { userId: actor.id, studyId: params.study_id, ...(site && { siteId: site }) },
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
