import { proxyActivities } from '@temporalio/workflow';
import type { ReminderActivities, SweepReport } from '../activities/notify/reminders/index.js';
import type { SummaryActivities } from '../activities/notify/summary/index.js';

/** Each run does all that is due, so a run that fails is made good by the next one: a few attempts are enough. */
const { sweepReminders } = proxyActivities<ReminderActivities>({
  startToCloseTimeout: '20m', heartbeatTimeout: '15s', retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: 6 },
});

const { queueSummaries } = proxyActivities<SummaryActivities>({ startToCloseTimeout: '2m', retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' } });

/** Sends the reminders that are due. */
export async function processPendingReminders(): Promise<SweepReport> {
  return sweepReminders();
}

/** The morning's summaries, to staff by study (interface, "Other records and triggers"). */
export async function sendDailySummary(): Promise<{ queued: number }> {
  return queueSummaries();
}
