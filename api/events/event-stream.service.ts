import type { Caller, CallerRow } from '../../db/client/request.js';
import { readAsCaller } from '../../db/client/request.js';
import { BEFORE_ALL, eventsAfter, eventPosition } from '../../db/events/events.queries.js';
import type { EventFilter, EventPosition } from '../../db/events/events.queries.js';
import { authorizeUser } from '../http/access.js';
import type { Access } from '../http/access.js';
import { toProblem } from '../http/to-problem.js';
import { invalid } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';
import { eventReader, isAfter } from './event-reader.service.js';
import type { Tx } from '../../db/client/database.js';

const HEARTBEAT_MS = 15_000;
const BATCH = 200;
/** Reconnection time of a client that lost its stream. */
const RETRY_MS = 2_000;

export interface Followed {
  services: Dependencies;
  access: Access;
  caller: Caller & { studyId: string };
  /** The login epoch when it was opened. */
  epoch: number;
  filter: EventFilter;
  start: EventPosition;
  /** The client has disconnected. */
  gone: AbortSignal;
}

/**
 * The start of a stream: after the client's last event, else the beginning. @throws 422 an id that is not one of the
 * study's events
 */
export async function resumePosition(
  tx: Tx,
  studyId: string,
  { header, query }: { header: string | undefined; query: string | undefined },
): Promise<EventPosition> {
  const lastEventId = header || query;
  if (!lastEventId) return BEFORE_ALL;
  const place = /^[0-9a-f-]{36}$/i.test(lastEventId) ? await eventPosition(tx, studyId, lastEventId) : undefined;
  if (!place)
    throw invalid(
      header ? 'header.last-event-id' : 'query.last_event_id',
      'UNKNOWN_EVENT',
      'is not the id of an event of this study',
    );
  return place;
}

/**
 * A study's events as server-sent events, in the order of their commits, while the caller may see them and the login
 * lasts: the rights are read again with the events, and soon after they change. It ends when access ends and when the
 * process drains; a client reconnects with Last-Event-ID, to any process.
 */
export async function* eventStream({
  services,
  access,
  caller,
  epoch,
  filter,
  start,
  gone,
}: Followed): AsyncGenerator<string> {
  const { database, draining, log } = services;
  const enter = (row: CallerRow | undefined) => authorizeUser(access, row, caller.studyId, epoch);
  let place = start;
  let last: EventPosition | undefined;
  let wroteAt = performance.now();
  yield `retry: ${RETRY_MS}\n\n`;
  while (!draining.aborted && !gone.aborted) {
    let found: Awaited<ReturnType<typeof eventsAfter>>;
    try {
      found = await readAsCaller(database, caller, enter, (tx) =>
        eventsAfter(tx, caller.studyId, place, filter, BATCH),
      );
    } catch (thrown) {
      const { code, status, message } = toProblem(thrown);
      if (status >= 500) log.warn({ code }, 'an event stream ends: the client comes back');
      yield `event: end\ndata: ${JSON.stringify({ code, detail: message })}\n\n`;
      return;
    }
    for (const { place: at, ...event } of found) {
      yield `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      place = at;
      wroteAt = performance.now();
    }
    if (found.length === BATCH) continue;
    // All events up to the reader's position were checked, including filtered ones.
    if (last && isAfter(last, place)) place = last;
    for (;;) {
      // Events that the caller's filter or sites leave out wake it without a word to the client.
      const leftMs = Math.max(0, wroteAt + HEARTBEAT_MS - performance.now());
      const woken = await eventReader(services).next(caller, place, leftMs, gone);
      last = typeof woken === 'object' ? woken.last : undefined;
      if (woken !== 'late' || draining.aborted || gone.aborted) break;
      // A comment: keeps proxies from closing the connection, and detects that the client is gone.
      yield ': still here\n\n';
      wroteAt = performance.now();
    }
  }
}
