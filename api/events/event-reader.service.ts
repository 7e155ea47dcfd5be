import { setTimeout as sleep } from 'node:timers/promises';
import { laterEvents } from '../../db/events/events.queries.js';
import type { EventPosition } from '../../db/events/events.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';

/** Each look is one indexed query in each process: no process has to know of what another one has committed. */
const LOOK_MS = 400;
/** Streams of one user in a process; each keeps a connection and a place here. */
export const MAX_STREAMS = 5;

interface Waiting {
  studyId: string;
  place: EventPosition;
  wake: (last: EventPosition | undefined) => void;
}

/** Looks for new events for all streams of a process at once, for as long as there are any. */
export class EventReader {
  private readonly waiting = new Set<Waiting>();
  private readonly streams = new Map<string, number>();
  private looking = false;

  constructor(private readonly services: Dependencies) {}

  /**
   * Takes one of a user's places. @returns gives it back
   * @throws 429 where the user has as many streams as one may have
   */
  enter(userId: string): () => void {
    const open = this.streams.get(userId) ?? 0;
    if (open >= MAX_STREAMS)
      throw problem('RATE_LIMITED', {
        detail: `You follow ${MAX_STREAMS} event streams already: close one of them.`,
        headers: { 'Retry-After': '5' },
      });
    this.streams.set(userId, open + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const now = this.streams.get(userId)! - 1;
      if (now > 0) this.streams.set(userId, now);
      else this.streams.delete(userId);
    };
  }

  /**
   * Waits for an event after a place, for so long, or until the stream's client has gone.
   * @returns the study's last event; undefined: none came
   */
  next(studyId: string, place: EventPosition, ms: number, gone: AbortSignal): Promise<EventPosition | undefined> {
    if (gone.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const leave = () => entry.wake(undefined);
      const entry: Waiting = {
        studyId,
        place,
        wake: (last) => {
          clearTimeout(late);
          gone.removeEventListener('abort', leave);
          this.waiting.delete(entry);
          resolve(last);
        },
      };
      const late = setTimeout(leave, ms);
      gone.addEventListener('abort', leave);
      this.waiting.add(entry);
      if (!this.looking) void this.look();
    });
  }

  private async look(): Promise<void> {
    const { database, draining, log } = this.services;
    this.looking = true;
    while (this.waiting.size > 0) {
      await sleep(LOOK_MS, undefined, { signal: draining }).catch(ignoreAbort);
      const asked = [...this.waiting];
      if (draining.aborted) {
        for (const { wake } of asked) wake(undefined);
        break;
      }
      try {
        for (const { index, place } of await readInScope(database, '*', (tx) => laterEvents(tx, asked)))
          asked[index]!.wake(place);
      } catch (fault) {
        // Each stream looks for itself before long, and says what it meets.
        log.debug({ fault: (fault as { code?: string }).code ?? 'fault' }, 'event streams: cannot look');
      }
    }
    this.looking = false;
  }
}

function ignoreAbort(fault: Error): void {
  if (fault.name !== 'AbortError') throw fault;
}

const readers = new WeakMap<Dependencies, EventReader>();

/** The reader of this process. */
export function eventReader(services: Dependencies): EventReader {
  let reader = readers.get(services);
  if (!reader) readers.set(services, (reader = new EventReader(services)));
  return reader;
}
