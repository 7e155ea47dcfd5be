import { carriedTrace } from '../client/trace-context.js';
import { execute } from '../client/query.js';
import type { MarkedTransaction } from '../client/marked-transaction.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/**
 * What must reach Temporal because of a committed change. `subject` is the participant or event that it concerns.
 * - participant-start: the participant's workflow is to run
 * - sources-changed: a fact that an anchor may depend on changed
 * - participant-withdrawn: nothing moves from here on
 * - participant-reinstated: a withdrawal was taken back, and everything moves again
 * - participant-erased: what Temporal has of the participant's past is to be deleted
 * - trigger: a capture-system trigger waits to be worked off
 * - study-changed: a study's policy, windows or calendar changed
 * - notification: a message to a person waits to be sent
 * - simulation: a study is to be simulated
 * - user-link: a user is to be sent a link to choose a password by, or (`notice`) told what happened to the account
 * - export: a file is to be written in the background, or (`ended`) to be removed before its time
 * - push: a session's results are to be pushed to the capture system, or tried again now
 * - datacapture-sync: every record of a study's capture system is to be read
 * - datacapture-poll: how often a study's capture system is polled may have changed
 * - audit-verification: audit chains are to be verified in the background
 * - event-delivery: the first attempt at a delivery to a subscriber failed
 */
export type OutboxTopic =
  | 'participant-start'
  | 'sources-changed'
  | 'participant-withdrawn'
  | 'participant-reinstated'
  | 'participant-erased'
  | 'trigger'
  | 'study-changed'
  | 'notification'
  | 'simulation'
  | 'export'
  | 'push'
  | 'datacapture-sync'
  | 'datacapture-poll'
  | 'event-delivery'
  | 'user-link'
  | 'audit-verification';

export interface OutboxMessage {
  topic: OutboxTopic;
  studyId: string | null;
  subject: string;
  payload?: Record<string, unknown>;
  /** It gives way to everything that somebody waits for. */
  lowPriority?: boolean;
}

/** Commits messages for Temporal with the caller's change. Never call Temporal inside a transaction: the relay does. */
export async function putOutbox(tx: Tx, messages: readonly OutboxMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const trace = carriedTrace();
  await tx('outbox').insert(
    messages.map((m) => ({
      topic: m.topic,
      study_id: m.studyId,
      subject: m.subject,
      payload: JSON.stringify({ ...m.payload, ...trace }),
      patient: m.lowPriority ?? false,
    })),
  );
  (tx as MarkedTransaction).wroteOutbox = true;
}

export const OUTBOX_CHANNEL = 'outbox';
/** On which the streams of events are woken. */
export const EVENTS_CHANNEL = 'events';
type Channel = typeof OUTBOX_CHANNEL | typeof EVENTS_CHANNEL;
/**
 * A nudge waits for the commits of the same moment; while many come they are told of so often a second, not of each.
 */
const GATHER_MS = 5,
  BETWEEN_MS = 50;
const nudges = new WeakMap<Database, Map<Channel, { pending: boolean; at: number }>>();

/** Wakes whoever waits for what a committed transaction wrote. */
export function nudgeFor(database: Database, { wroteOutbox, wroteEvents }: MarkedTransaction): void {
  if (wroteOutbox) nudgeRelay(database);
  if (wroteEvents) nudge(database, EVENTS_CHANNEL);
}

/**
 * Wakes the relay after a commit; many commits within a moment wake it once. It polls as well, so a lost nudge costs a
 * second.
 */
export function nudgeRelay(database: Database): void {
  nudge(database, OUTBOX_CHANNEL);
}

function nudge(database: Database, channel: Channel): void {
  const now = performance.now();
  let channels = nudges.get(database);
  if (!channels) nudges.set(database, (channels = new Map()));
  let told = channels.get(channel);
  if (!told) channels.set(channel, (told = { pending: false, at: now - BETWEEN_MS }));
  if (told.pending) return;
  const { at } = told;
  told.pending = true;
  setTimeout(
    (own: { pending: boolean; at: number }) => {
      own.pending = false;
      own.at = performance.now();
      // A nudge that fails is made good by the listener's own poll; what it is about is committed.
      execute(database, `select pg_notify('${channel}', '')`).then(undefined, () => undefined);
    },
    Math.max(GATHER_MS, at + BETWEEN_MS - now),
    told,
  ).unref();
}
