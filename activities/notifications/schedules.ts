import type { Client } from '@temporalio/client';
import { scheduleIds, workflowTypes } from '../../workflows/contract.js';
import { ensureSchedule } from '../scheduling/schedules.js';

/** The hour of the summary, UTC. */
const SUMMARY_HOUR = 9;

/** The periodic jobs on messages to people. */
export async function ensureNotificationSchedules(
  client: Client,
  options: { taskQueue: string; reminderSeconds: number; keep?: boolean },
): Promise<void> {
  const { taskQueue, keep = false } = options;
  await ensureSchedule(client, {
    keep,
    id: scheduleIds.reminders,
    workflowType: workflowTypes.processPendingReminders,
    when: { everySeconds: options.reminderSeconds },
    taskQueue,
  });
  await ensureSchedule(client, {
    keep,
    id: scheduleIds.dailySummary,
    workflowType: workflowTypes.sendDailySummary,
    when: { atHour: SUMMARY_HOUR },
    taskQueue,
  });
}
