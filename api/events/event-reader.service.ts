import { Listener } from '../../db/client/connection/listener.js';
import { readInScope } from '../../db/client/transaction.js';
import { lastEvents, rightsMarks } from '../../db/events/events.queries.js';
import type { EventPosition } from '../../db/events/events.queries.js';
import { EVENTS_CHANNEL } from '../../db/outbox/outbox.js';
import { problem } from '../http/errors.js';
import { PlacesPerUser } from '../util/places-per-user.js';
import type { Dependencies } from '../dependencies.js';
import { faultCode } from '../../db/client/connection/driver-faults.js';

/**
 * The polling interval while no notifications arrive, or while a notified event may wait for an earlier transaction.
 */
const LOOK_MS = 400;
/** How long after a notification it polls often: a notified event may wait for an earlier transaction. */
const LOOKS_AFTER_MS = 3_000;
/** The interval otherwise, and for checking the callers' rights. */
const IDLE_LOOK_MS = 3_000;
/** Streams of one user in a process; each holds a connection and a slot. */
export const MAX_STREAMS = 5;

/** The owner of a stream. */
export interface Follower {
  userId: string;
  login?: string | undefined;
  studyId: string;
}
/** The reason that ended a wait: the study's last event; a possible change of the caller's rights; a timeout. */
export type Woken = { last: EventPosition } | 'look' | 'late';

interface Waiting {
  follower: Follower;
  place: EventPosition;
  wake: (by: Woken) => void;
}

/**
 * Looks for new events for all streams of a process at once, while there are any: on notification of a commit, or
 * periodically if no connection listens. The cost of a query does not grow with the streams.
 */
export class EventReader {
  private readonly waiting = new Set<Waiting>();
  private readonly places = new PlacesPerUser(MAX_STREAMS);
  private readonly marks = new WeakMap<Follower, string>();
  private readonly listener: Listener;
  private looking = false;
  private toldAt = -Infinity;
  private lookedAt = -Infinity;
  private rightsAt = -Infinity;
  private awake: () => void = () => undefined;

  constructor(private readonly services: Dependencies) {
    this.listener = new Listener({
      url: services.settings.DATABASE_URL!,
      appPassword: services.settings.DATABASE_APP_PASSWORD,
      channel: EVENTS_CHANNEL,
      name: 'events-listen',
      heard: () => {
        this.toldAt = performance.now();
        this.awake();
      },
      fault: (code) => {
        services.log.debug({ fault: code }, 'event streams: cannot listen');
      },
    });
    this.listener.start();
    services.draining.addEventListener('abort', () => {
      this.awake();
      void this.listener.stop();
    });
  }

  /**
   * Takes one of a user's slots. @returns a function that releases it
   * @throws 429 when the user has the maximum number of streams
   */
  enter(userId: string): () => void {
    const leave = this.places.take(userId);
    if (!leave)
      throw problem('RATE_LIMITED', {
        detail: `You follow ${MAX_STREAMS} event streams already: close one of them.`,
        headers: { 'Retry-After': '5' },
      });
    return leave;
  }

  /**
   * Waits for an event after a position, up to a timeout, or until the stream's client disconnects.
   * @param follower the same object for as long as the stream is open
   */
  next(follower: Follower, place: EventPosition, ms: number, gone: AbortSignal): Promise<Woken> {
    if (gone.aborted) return Promise.resolve('late');
    return new Promise((resolve) => {
      const leave = () => {
        entry.wake('late');
      };
      const entry: Waiting = {
        follower,
        place,
        wake: (by) => {
          clearTimeout(late);
          gone.removeEventListener('abort', leave);
          this.waiting.delete(entry);
          resolve(by);
        },
      };
      const late = setTimeout(leave, ms);
      gone.addEventListener('abort', leave);
      this.waiting.add(entry);
      if (!this.looking) void this.look();
    });
  }

  private async look(): Promise<void> {
    const { draining, log } = this.services;
    this.looking = true;
    while (this.waiting.size > 0) {
      await this.pause();
      const asked = [...this.waiting];
      if (draining.aborted) {
        for (const { wake } of asked) wake('late');
        break;
      }
      try {
        await this.lookFor(asked);
      } catch (fault) {
        log.debug({ fault: faultCode(fault) ?? 'fault' }, 'event streams: cannot look');
        // Each stream looks for itself, and says what it meets.
        for (const { wake } of asked) wake('look');
      }
    }
    this.looking = false;
  }

  private async lookFor(asked: readonly Waiting[]): Promise<void> {
    const now = performance.now();
    const askRights = now - this.rightsAt >= IDLE_LOOK_MS;
    if (askRights) this.rightsAt = now;
    const studies = [...new Set(asked.map(({ follower }) => follower.studyId))];
    const { events, marks } = await readInScope(this.services.database, '*', async (tx) => ({
      events: await lastEvents(tx, studies),
      marks: askRights
        ? await rightsMarks(
            tx,
            asked.map(({ follower }) => follower),
          )
        : [],
    }));
    const last = new Map(events.map(({ study_id, place }) => [study_id, place]));
    for (const [i, { follower, place, wake }] of asked.entries()) {
      const mark = marks[i];
      const before = this.marks.get(follower);
      if (mark !== undefined) this.marks.set(follower, mark);
      const found = last.get(follower.studyId);
      // The first mark may belong to rights that changed since the stream checked.
      if (mark !== undefined && mark !== before) wake('look');
      else if (found && isAfter(found, place)) wake({ last: found });
    }
  }

  /** Waits until an event is notified, or for the polling interval. */
  private pause(): Promise<void> {
    const since = performance.now() - this.toldAt;
    if (since < LOOK_MS && this.toldAt > this.lookedAt) {
      this.lookedAt = performance.now();
      return Promise.resolve();
    }
    const wait = this.listener.listening && since > LOOKS_AFTER_MS ? IDLE_LOOK_MS : LOOK_MS;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.awake = () => undefined;
        this.lookedAt = performance.now();
        resolve();
      };
      const timer = setTimeout(end, wait);
      this.awake = end;
    });
  }
}

/** Whether a position comes after another one in the order of commits. */
export const isAfter = (a: EventPosition, b: EventPosition): boolean =>
  BigInt(a.tx) === BigInt(b.tx) ? Number(a.seq) > Number(b.seq) : BigInt(a.tx) > BigInt(b.tx);

const readers = new WeakMap<Dependencies, EventReader>();

/** The event reader of this process. */
export function eventReader(services: Dependencies): EventReader {
  let reader = readers.get(services);
  if (!reader) readers.set(services, (reader = new EventReader(services)));
  return reader;
}
