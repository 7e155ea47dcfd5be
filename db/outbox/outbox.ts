import { carriedTrace } from '../client/trace-context.js';
import { execute } from '../client/query.js';
import type { MarkedTransaction } from '../client/marked-transaction.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/**
 * Messages that must reach Temporal because of a committed change. `subject` is the participant or event concerned.
 * - participant-start: start the participant's workflow
 * - sources-changed: a fact that an anchor may depend on changed
 * - participant-withdrawn: the participant's schedule is frozen from here on
 * - participant-reinstated: a withdrawal was revoked, and the schedule continues
 * - participant-erased: delete Temporal's history of the participant
 * - trigger: process a data-entry trigger
 * - study-changed: a study's policy, windows or calendar changed
 * - notification: send a message to a person
 * - simulation: simulate a study
 * - user-link: send a user a link to choose a password, or (`notice`) a notice about the account
 * - export: write a file in the background, or (`ended`) remove it early
 * - push: push a session's results to the capture system, or retry it now
 * - datacapture-sync: read every record of a study's capture system
 * - datacapture-poll: a study's polling interval may have changed
 * - audit-verification: verify audit chains in the background
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
  /** Claimed after all messages that a user waits for. */
  lowPriority?: boolean;
}

/** Commits messages to Temporal with the caller's change. Never call Temporal inside a transaction: the relay does. */
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
/** The notification channel that wakes event streams. */
export const EVENTS_CHANNEL = 'events';
type Channel = typeof OUTBOX_CHANNEL | typeof EVENTS_CHANNEL;
/** A nudge waits a moment for further commits; a burst is notified only so often a second, not for each commit. */
const GATHER_MS = 5,
  BETWEEN_MS = 50;
const nudges = new WeakMap<Database, Map<Channel, { pending: boolean; at: number }>>();

/** Wakes the readers of what a committed transaction wrote. */
export function nudgeFor(database: Database, { wroteOutbox, wroteEvents }: MarkedTransaction): void {
  if (wroteOutbox) nudgeRelay(database);
  if (wroteEvents) nudge(database, EVENTS_CHANNEL);
}

/**
 * Wakes the relay after a commit; many commits within a moment wake it once. The relay also polls, so a lost nudge
 * costs a second.
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
      // The listener's own poll makes up for a failed nudge; the change is committed.
      execute(database, `select pg_notify('${channel}', '')`).then(undefined, () => undefined);
    },
    Math.max(GATHER_MS, at + BETWEEN_MS - now),
    told,
  ).unref();
}
