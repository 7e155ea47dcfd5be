import type { Client, ScheduleOptions } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { scheduleIds, workflowTypes } from '../../workflows/contract.js';

export interface PeriodicJob { id: string; workflowType: string; everySeconds: number; taskQueue: string }

/** Temporal takes no shorter interval. */
const SHORTEST_SECONDS = 1;
/** A run that hangs would block all later ones: the policy skips a run while one is open. */
const LONGEST_RUN = '30m';

/**
 * Lets a workflow run at an interval, from now on. Safe to repeat at each start of a worker, and by several: the
 * schedule is made, or brought to what the settings say; whether an operator has paused it stays.
 */
export async function ensureSchedule(client: Client, job: PeriodicJob): Promise<void> {
  const every = Math.max(job.everySeconds, SHORTEST_SECONDS) * 1_000;
  const options = {
    scheduleId: job.id,
    spec: { intervals: [{ every }] },
    action: { type: 'startWorkflow', workflowType: job.workflowType, workflowId: job.id, taskQueue: job.taskQueue, args: [], workflowExecutionTimeout: LONGEST_RUN, staticSummary: job.id.replaceAll('_', ' ') },
    // A run does everything that is due: after an outage one is enough, and none of the hours that were missed is made up for.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: Math.max(every, 10_000) },
  } satisfies ScheduleOptions;
  try {
    await client.schedule.create({ ...options, state: { triggerImmediately: true } });
  } catch (fault) {
    if (!(fault instanceof ScheduleAlreadyRunning)) throw fault;
    await client.schedule.getHandle(job.id).update((before) => ({ ...options, state: { paused: before.state.paused, ...(before.state.note !== undefined && { note: before.state.note }) } }));
  }
}

/** How late the sweep may write down that a session has expired; reads say it from the moment on. */
const EXPIRY_SECONDS = 300;

/** The periodic jobs on visits and sessions. */
export async function ensureVisitSchedules(client: Client, of: { taskQueue: string; visitStatusSeconds: number; sessionMinutes: number }): Promise<void> {
  const { taskQueue } = of;
  await ensureSchedule(client, { id: scheduleIds.visitStatuses, workflowType: workflowTypes.updateVisitStatuses, everySeconds: of.visitStatusSeconds, taskQueue });
  await ensureSchedule(client, { id: scheduleIds.sessionExpiry, workflowType: workflowTypes.expireSessions, everySeconds: Math.min(EXPIRY_SECONDS, of.sessionMinutes * 30), taskQueue });
}
