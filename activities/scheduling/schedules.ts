import type { Client, ScheduleOptions } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { workflowMetadata } from '../../workflows/client.js';
import { scheduleIds, workflowTypes } from '../../workflows/contract.js';

/** `keep`: an existing one stays unchanged. */
export interface PeriodicJob {
  keep?: boolean;
  id: string;
  workflowType: string;
  taskQueue: string;
  when: { everySeconds: number } | { atHour: number };
}

/** Temporal's shortest interval. */
const SHORTEST_SECONDS = 1;
/** A hanging run would block all later ones: the policy skips a run while one is open. */
const MAX_RUN = '30m';
/** For a daily job: an outage at its hour does not skip the day. */
const DAILY_CATCHUP_MS = 12 * 3_600_000;

function timing(when: PeriodicJob['when']): {
  spec: ScheduleOptions['spec'];
  catchupWindow: number;
  triggerImmediately: boolean;
} {
  if ('atHour' in when)
    return {
      spec: { calendars: [{ hour: when.atHour }], timezone: 'UTC' },
      catchupWindow: DAILY_CATCHUP_MS,
      triggerImmediately: false,
    };
  const every = Math.max(when.everySeconds, SHORTEST_SECONDS) * 1_000;
  return { spec: { intervals: [{ every }] }, catchupWindow: Math.max(every, 10_000), triggerImmediately: true };
}

/**
 * Runs a workflow at an interval, from now on, or at an hour of each day (UTC). Idempotent for each worker start, and
 * for several workers: the schedule is created, or updated to the settings; an operator's pause stays.
 */
export async function ensureSchedule(client: Client, job: PeriodicJob): Promise<void> {
  const { spec, catchupWindow, triggerImmediately } = timing(job.when);
  const options = {
    scheduleId: job.id,
    spec,
    action: {
      type: 'startWorkflow',
      workflowType: job.workflowType,
      workflowId: job.id,
      taskQueue: job.taskQueue,
      args: [],
      workflowExecutionTimeout: MAX_RUN,
      ...workflowMetadata(job.id.replaceAll('_', ' '), null),
    },
    // A run processes everything that is due: after an outage one is enough, and missed ones are not repeated.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
  } satisfies ScheduleOptions;
  try {
    await client.schedule.create({ ...options, state: { triggerImmediately } });
  } catch (fault) {
    if (!(fault instanceof ScheduleAlreadyRunning)) throw fault;
    if (job.keep) return;
    await client.schedule.getHandle(job.id).update((before) => ({
      ...options,
      state: { paused: before.state.paused, ...(before.state.note !== undefined && { note: before.state.note }) },
    }));
  }
}

/** How late the sweep may store that a session has expired; reads show it at once. */
const EXPIRY_SECONDS = 300;

/** The periodic jobs on visits and sessions. */
export async function ensureVisitSchedules(
  client: Client,
  options: { taskQueue: string; visitStatusSeconds: number; sessionMinutes: number; keep?: boolean },
): Promise<void> {
  const { taskQueue, keep = false } = options;
  await ensureSchedule(client, {
    keep,
    id: scheduleIds.visitStatuses,
    workflowType: workflowTypes.updateVisitStatuses,
    when: { everySeconds: options.visitStatusSeconds },
    taskQueue,
  });
  await ensureSchedule(client, {
    keep,
    id: scheduleIds.sessionExpiry,
    workflowType: workflowTypes.expireSessions,
    when: { everySeconds: Math.min(EXPIRY_SECONDS, options.sessionMinutes * 30) },
    taskQueue,
  });
}
