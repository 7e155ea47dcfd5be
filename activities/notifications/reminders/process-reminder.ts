import type { Logger } from 'pino';
import { nowMs, nowIso } from '../../../db/client/clock.js';
import { reminderById } from '../../../db/notifications/reminders.queries.js';
import type { ReminderRow, ReminderResult } from '../../../db/notifications/reminders.queries.js';
import { readInScope } from '../../../db/client/transaction.js';
import { OF_THE_CHANNEL, channelInstead } from '../../../workflows/domain/notifications/fallback.js';
import { evaluateReminder, reminderStateOf } from '../../../workflows/domain/notifications/reminder-state.js';
import { RefusedMessage } from '../provider.js';
import type { Channels } from '../provider.js';
import { sendReminder } from './send-reminder.js';
import type { MessageSettings } from './message.js';
import type { ClaimedReminder } from './reminder-source.js';
import type { Database } from '../../../db/client/database.js';

/** Older data are read again before sending. */
const CACHE_TTL_MS = 1_000;
const MAX_WAIT_SECONDS = 900;

export interface ReminderDeps {
  database: Database;
  channels: Channels;
  messages: MessageSettings;
  /** REMINDER_MAX_LATENESS_HOURS. */
  maxLatenessHours: number;
  /** First wait after a provider did not answer; doubled each time. */
  retrySeconds: number;
  log: Pick<Logger, 'warn'>;
}

/** Releases a reminder without an attempt. */
export const postpone = (row: ReminderRow, attempt_at: string | null): ReminderResult => ({
  id: row.id,
  due_at: row.due_at,
  target_date: row.target_date ?? row.visit?.target_date ?? null,
  status: 'pending',
  reason: null,
  last_error: null,
  attempt_at,
  attempted: false,
  fallback: null,
  gone: false,
});

/** Decides and sends one claimed reminder. Undefined: the claim was lost meanwhile. */
export async function processReminder(
  deps: ReminderDeps,
  claimed: ClaimedReminder,
  by: string,
): Promise<ReminderResult | undefined> {
  const fresh = performance.now() - claimed.readAt < CACHE_TTL_MS;
  const row = fresh ? claimed.row : await readInScope(deps.database, '*', (tx) => reminderById(tx, claimed.row.id, by));
  if (!row) return undefined;
  const now = nowIso();
  // Stopped after it was claimed: it stays stopped.
  if (row.status !== 'pending') return postpone(row, null);
  const verdict = evaluateReminder(reminderStateOf(row), now, deps.maxLatenessHours);
  if (verdict.what === 'wait') return postpone(row, verdict.until);
  if (verdict.what !== 'send') {
    return {
      ...postpone(row, null),
      status: verdict.what,
      reason: verdict.reason,
      fallback: OF_THE_CHANNEL.includes(verdict.reason) ? channelInstead(row) : null,
    };
  }
  try {
    await sendReminder(deps, row, now);
    return { ...postpone(row, null), status: 'sent', attempted: true };
  } catch (fault) {
    if (fault instanceof RefusedMessage) {
      return {
        ...postpone(row, null),
        status: 'failed',
        attempted: true,
        reason: 'refused',
        last_error: fault.message.slice(0, 500),
        gone: fault.addressIsGone && row.channel !== 'push',
        fallback: channelInstead(row),
      };
    }
    const { code: given, retryAfterSeconds = 0 } = fault as { code?: unknown; retryAfterSeconds?: number };
    const code = given?.toString() ?? (fault instanceof Error ? fault.name : 'fault');
    deps.log.warn(
      { notification: row.id, channel: row.channel, attempts: row.attempts + 1, fault: code },
      'a reminder was not taken, it is tried again',
    );
    const wait = Math.max(waitMs(deps.retrySeconds, row.attempts), retryAfterSeconds * 1_000);
    return {
      ...postpone(row, new Date(nowMs() + wait).toISOString()),
      attempted: true,
      last_error: code.slice(0, 500),
    };
  }
}

/** Doubled each time, with jitter: a recovered provider does not get all retries at once. */
const waitMs = (first: number, attempts: number): number =>
  Math.min(first * 2 ** Math.min(attempts, 20), MAX_WAIT_SECONDS) * 1_000 * (0.8 + 0.4 * Math.random());
