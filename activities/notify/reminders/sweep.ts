import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Database } from '../../../db/knex.js';
import { anyReminderDue, claimReminders, reminderById } from '../../../db/queries/reminders.js';
import type { ReminderRow, Settlement } from '../../../db/queries/reminders.js';
import { inScope, readInScope } from '../../../db/transaction.js';
import type { NotificationSettings } from '../../../workflows/domain/reminders/settings.js';
import { judge, standingOf } from '../../../workflows/domain/reminders/standing.js';
import { RefusedMessage } from '../provider.js';
import type { Channels } from '../provider.js';
import { deliver } from './deliver.js';
import type { MessageSettings } from './message.js';
import { Settler } from './settle.js';

/** Of one claim. Small enough that a worker that dies holds little back until its lease is over. */
const BATCH = 50;
const CONCURRENCY = 16;
/** Longer than a batch takes when every provider is as slow as it may be; what is not begun by then is left to the next. */
const LEASE_SECONDS = 45, BEGIN_BEFORE_MS = 20_000;
/** What was read longer ago than this is read again before it is sent by. */
const FRESH_MS = 1_000;
const HEARTBEAT_MS = 3_000;
/** A run ends in time for the next; what is left is due then. */
const LONGEST_MS = 15 * 60_000;
const MOST_WAIT_SECONDS = 900;

export interface SweepDeps {
  database: Database;
  channels: Channels;
  messages: MessageSettings;
  /** REMINDER_MAX_LATENESS_HOURS. */
  maxLatenessHours: number;
  /** First wait after a provider that did not answer; doubled each time. */
  retrySeconds: number;
  log: Pick<Logger, 'warn'>;
  heartbeat: (details: unknown) => void;
  leaseSeconds?: number;
}
export interface SweepReport { sent: number; failed: number; cancelled: number; suppressed: number; put_off: number }

/**
 * Sends what is due. A reminder is claimed and committed before anything is sent, judged again at the moment of sending,
 * and what came of it is committed right after. A worker that dies between the provider's answer and that commit leaves
 * its claim; when the lease is over the message is sent again under the same key (Message-ID, Idempotency-Key), by which
 * provider or mailbox collapse the two: nothing is lost, and a double exists only where neither does.
 * An idle run is one query that an index answers.
 */
export const sweepReminders = (deps: SweepDeps) => async (): Promise<SweepReport> => {
  const report: SweepReport = { sent: 0, failed: 0, cancelled: 0, suppressed: 0, put_off: 0 };
  if (!(await anyReminderDue(deps.database))) return report;
  const by = randomUUID();
  const beats = setInterval(() => { deps.heartbeat(report); }, HEARTBEAT_MS).unref();
  try {
    await batches(deps, by, report);
  } finally {
    clearInterval(beats);
  }
  return report;
};

async function batches(deps: SweepDeps, by: string, report: SweepReport): Promise<void> {
  const began = performance.now();
  while (performance.now() - began < LONGEST_MS) {
    const rows = await inScope(deps.database, '*', ({ tx }) => claimReminders(tx, { by, limit: BATCH, leaseSeconds: deps.leaseSeconds ?? LEASE_SECONDS }));
    if (rows.length === 0) return;
    const readAt = performance.now();
    const settler = new Settler(deps.database, by);
    const queue = [...rows];
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, queue.length) }, async () => {
      for (let row = queue.shift(); row && performance.now() - readAt < BEGIN_BEFORE_MS; row = queue.shift()) {
        const settlement = await carryOut(deps, row, by, readAt);
        if (!settlement) continue;
        settler.add(settlement);
        report[settlement.status === 'pending' ? 'put_off' : settlement.status]++;
      }
    }));
    await settler.done();
  }
}

/** Judges and sends one claimed reminder. Undefined: the claim was lost meanwhile. */
async function carryOut(deps: SweepDeps, claimed: ReminderRow, by: string, readAt: number): Promise<Settlement | undefined> {
  const fresh = performance.now() - readAt < FRESH_MS;
  const row = fresh ? claimed : await readInScope(deps.database, '*', (tx) => reminderById(tx, claimed.id, by));
  if (!row) return undefined;
  const now = new Date().toISOString();
  const settled = (status: Settlement['status'], more: Partial<Settlement> = {}): Settlement =>
    ({ id: row.id, due_at: row.due_at, status, reason: null, last_error: null, attempt_at: null, attempted: false, fallback: null, ...more });
  // Stopped since it was claimed: it stays as it was stopped.
  if (row.status !== 'pending') return settled('pending');
  const verdict = judge(standingOf(row), now, deps.maxLatenessHours);
  if (verdict.what === 'wait') return settled('pending', { attempt_at: verdict.until });
  if (verdict.what !== 'send') {
    const instead = verdict.reason === 'opted_out' || verdict.reason === 'no_address';
    return settled(verdict.what, { reason: verdict.reason, fallback: instead ? nextChannel(row) : null });
  }
  try {
    await deliver(deps, row, now);
    return settled('sent', { attempted: true });
  } catch (fault) {
    if (fault instanceof RefusedMessage) return settled('failed', { attempted: true, reason: 'refused', last_error: fault.message.slice(0, 500), fallback: nextChannel(row) });
    const code = (fault as { code?: unknown }).code?.toString() ?? (fault instanceof Error ? fault.name : 'fault');
    deps.log.warn({ notification: row.id, channel: row.channel, attempts: row.attempts + 1, fault: code }, 'a reminder was not taken, it is tried again');
    return settled('pending', { attempted: true, last_error: code.slice(0, 500), attempt_at: new Date(Date.now() + waitMs(deps.retrySeconds, row.attempts)).toISOString() });
  }
}

/** Doubled each time, and never the same for two: a provider that is back is not met by all at once. */
const waitMs = (first: number, attempts: number): number => Math.min(first * 2 ** Math.min(attempts, 20), MOST_WAIT_SECONDS) * 1_000 * (0.8 + 0.4 * Math.random());

/** The channel to try instead, by the study's order; those that it uses anyway have reminders of their own. */
function nextChannel(row: ReminderRow): string | null {
  const { channels = ['email'], fallback = [] } = row.settings as NotificationSettings;
  const order = fallback.filter((channel) => !channels.includes(channel));
  return order[order.indexOf(row.channel) + 1] ?? null;
}
