import type { Client, ScheduleOptions } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { workflowMetadata } from '../../workflows/client.js';
import { scheduleIds, workflowTypes } from '../../workflows/contract.js';

/** `keep`: one that is there stays as it is. */
export interface PeriodicJob {
  keep?: boolean;
  id: string;
  workflowType: string;
  taskQueue: string;
  when: { everySeconds: number } | { atHour: number };
}

/** Temporal takes no shorter interval. */
const SHORTEST_SECONDS = 1;
/** A run that hangs would block all later ones: the policy skips a run while one is open. */
const MAX_RUN = '30m';
/** Of a job of a certain hour: an outage over that hour does not cost the day. */
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
 * Lets a workflow run at an interval, from now on, or at an hour of each day (UTC). Safe to repeat at each start of a
 * worker, and by several: the schedule is made, or brought to what the settings say; whether an operator has paused it
 * stays.
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
    // A run does everything that is due: after an outage one is enough, and none of the hours that were missed is made
    // up for.
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

/** How late the sweep may write down that a session has expired; reads say it from the moment on. */
const EXPIRY_SECONDS = 300;

/** The periodic jobs on visits and sessions. */
export async function ensureVisitSchedules(
  client: Client,
  of: { taskQueue: string; visitStatusSeconds: number; sessionMinutes: number; keep?: boolean },
): Promise<void> {
  const { taskQueue, keep = false } = of;
  await ensureSchedule(client, {
    keep,
    id: scheduleIds.visitStatuses,
    workflowType: workflowTypes.updateVisitStatuses,
    when: { everySeconds: of.visitStatusSeconds },
    taskQueue,
  });
  await ensureSchedule(client, {
    keep,
    id: scheduleIds.sessionExpiry,
    workflowType: workflowTypes.expireSessions,
    when: { everySeconds: Math.min(EXPIRY_SECONDS, of.sessionMinutes * 30) },
    taskQueue,
  });
}
