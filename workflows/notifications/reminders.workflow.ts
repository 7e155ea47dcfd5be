import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { ReminderActivities, SweepReport } from '../../activities/notifications/reminders/reminders.activities.js';
import type { SummaryActivities } from '../../activities/notifications/summary/summary.activities.js';

/** Each run processes everything due, so the next run makes up for a failed one: a few attempts are enough. */
const { sweepReminders } = proxyActivities<ReminderActivities>({
  startToCloseTimeout: '20m',
  heartbeatTimeout: '15s',
  summary: 'send what is due',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: 6 },
});

const { queueSummaries } = proxyActivities<SummaryActivities>({
  startToCloseTimeout: '2m',
  summary: 'queue a summary for each study and person',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
});

/** Sends the reminders that are due. */
export async function processPendingReminders(): Promise<SweepReport> {
  const report = await sweepReminders();
  setCurrentDetails(
    `${report.sent} sent, ${report.failed} failed, ${report.cancelled} cancelled, ${report.suppressed} ` +
      `suppressed, ${report.put_off} put off`,
  );
  return report;
}

/** The morning's summaries, to staff by study. */
export async function sendDailySummary(): Promise<{ queued: number }> {
  const report = await queueSummaries();
  setCurrentDetails(`${report.queued} summaries queued`);
  return report;
}
