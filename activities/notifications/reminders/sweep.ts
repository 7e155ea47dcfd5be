import { randomUUID } from 'node:crypto';
import { anyReminderDue } from '../../../db/notifications/reminders.queries.js';
import type { ReminderResult } from '../../../db/notifications/reminders.queries.js';
import type { RateLimiter } from '../rate-limiter.js';
import type { Channels } from '../provider.js';
import { processReminder, postpone } from './process-reminder.js';
import type { ReminderDeps } from './process-reminder.js';
import { ResultWriter } from './result-writer.js';
import { ReminderSource } from './reminder-source.js';

const CONCURRENCY = 16;
/** Additional senders for a large number with a mail thread: they keep both busy. */
const MORE_IN_A_CROWD = 8;
/** Longer than a claim's wait plus a provider's time. */
const LEASE_SECONDS = 45;
const HEARTBEAT_MS = 3_000;
/** A run ends before the next one; remaining reminders are due then. */
const MAX_SWEEP_MS = 15 * 60_000;

export interface SweepDeps extends ReminderDeps {
  /** The providers' rate limits; not set: none. */
  pace?: RateLimiter | undefined;
  /** Providers for large numbers; not set: the usual ones. */
  crowd?: Partial<Channels>;
  heartbeat: (details: unknown) => void;
  leaseSeconds?: number;
}
export interface SweepReport {
  sent: number;
  failed: number;
  cancelled: number;
  suppressed: number;
  put_off: number;
}

/**
 * Sends due reminders. A reminder is claimed and committed before anything is sent, decided again at the moment of
 * sending, and its result is committed right after. A worker that dies between the provider's answer and that commit
 * leaves its claim; when the lease ends the message is sent again under the same key (Message-ID, Idempotency-Key), by
 * which provider or mailbox detect the duplicate: nothing is lost, and a duplicate is only visible if neither does. An
 * idle run is one query on an index.
 */
export const sweepReminders = (deps: SweepDeps) => async (): Promise<SweepReport> => {
  const report: SweepReport = { sent: 0, failed: 0, cancelled: 0, suppressed: 0, put_off: 0 };
  if (!(await anyReminderDue(deps.database))) return report;
  const beats = setInterval(() => {
    deps.heartbeat(report);
  }, HEARTBEAT_MS).unref();
  const until = performance.now() + MAX_SWEEP_MS;
  try {
    // A message moved to another channel is due at once.
    while (await sendAll(deps, randomUUID(), report, until)) continue;
  } finally {
    clearInterval(beats);
  }
  return report;
};

/** @returns whether sending made more reminders due */
async function sendAll(deps: SweepDeps, by: string, report: SweepReport, until: number): Promise<boolean> {
  const settler = new ResultWriter(deps.database, by);
  let more = false;
  const settle = (settlement: ReminderResult) => {
    settler.add(settlement);
    more ||= settlement.fallback !== null;
    report[settlement.status === 'pending' ? 'put_off' : settlement.status]++;
  };
  const supply = new ReminderSource({
    database: deps.database,
    pace: deps.pace,
    by,
    leaseSeconds: deps.leaseSeconds ?? LEASE_SECONDS,
    until,
    letGo: (row, moment) => settle(postpone(row, moment)),
  });
  const inCrowd = { ...deps, channels: { ...deps.channels, ...deps.crowd } };
  let failed: { fault: unknown } | undefined;
  const senders: Promise<void>[] = [];
  const begin = (count: number) => {
    for (let i = 0; i < count; i += 1)
      senders.push(
        send().catch((fault: unknown) => {
          failed ??= { fault };
        }),
      );
  };
  const send = async () => {
    for (let claimed = await supply.next(); claimed && !failed; claimed = await supply.next()) {
      const crowded = deps.crowd !== undefined && supply.crowded;
      if (crowded && senders.length === CONCURRENCY) begin(MORE_IN_A_CROWD);
      const settlement = await processReminder(crowded ? inCrowd : deps, claimed, by);
      if (settlement) settle(settlement);
      await settler.room(CONCURRENCY);
    }
  };
  begin(CONCURRENCY);
  // Senders are added meanwhile.
  for (const one of senders) await one;
  if (failed) throw failed.fault;
  await settler.done();
  return more && performance.now() < until;
}
