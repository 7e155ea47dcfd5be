import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Client, ScheduleOptions } from '@temporalio/client';
import { nowMs } from '../../db/client/clock.js';
import { polledStudies } from '../../db/capture/datacapture-syncs.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import { workflowMetadata } from '../../workflows/client.js';
import { datacapturePollId, workflowTypes } from '../../workflows/contract.js';
import type { Database } from '../../db/client/database.js';

export interface PollDeps {
  client: Client;
  database: Database;
  taskQueue: string;
}

/** A poll that hangs would block all later ones. The first one of a large project reads everything. */
const MAX_RUN = '6h';
const PREFIX = datacapturePollId('');

/** Brings a study's poll to what its configuration says now: made, changed, or taken away. Safe to repeat. */
export async function setPoll(deps: PollDeps, studyId: string): Promise<void> {
  const polled = await readInScope(deps.database, '*', (tx) => polledStudies(tx, studyId));
  await schedule(deps, studyId, everyMs(polled.get(studyId) ?? 0));
}

/**
 * Compares the schedules that Temporal has with those that are to be, and mends what differs: after a Temporal server
 * lost its database, or a message was lost with a restored one. One listing, whatever the number of studies.
 */
export async function reconcilePolls(deps: PollDeps): Promise<void> {
  const wanted = await readInScope(deps.database, '*', (tx) => polledStudies(tx));
  const there = new Map<string, number>();
  for await (const { scheduleId, spec } of deps.client.schedule.list()) {
    if (scheduleId.startsWith(PREFIX))
      there.set(scheduleId.slice(PREFIX.length), Number(spec?.intervals?.[0]?.every ?? 0));
  }
  for (const [studyId, minutes] of wanted)
    if (there.get(studyId) !== everyMs(minutes)) await schedule(deps, studyId, everyMs(minutes));
  for (const studyId of there.keys()) if (!wanted.has(studyId)) await schedule(deps, studyId, 0);
}

/** Temporal counts whole seconds, of which one is the least. */
const everyMs = (minutes: number): number => (minutes === 0 ? 0 : Math.max(1, Math.round(minutes * 60)) * 1_000);

async function schedule({ client, taskQueue }: PollDeps, studyId: string, every: number): Promise<void> {
  const handle = client.schedule.getHandle(datacapturePollId(studyId));
  if (every === 0) return unlessGone(() => handle.delete());
  const options = {
    scheduleId: datacapturePollId(studyId),
    // Counted from now: a capture system that was just connected is not polled in the middle of its configuration.
    spec: { intervals: [{ every, offset: nowMs() % every }] },
    action: {
      type: 'startWorkflow',
      workflowType: workflowTypes.datacapturePoll,
      workflowId: datacapturePollId(studyId),
      taskQueue,
      args: [{ study_id: studyId }],
      workflowExecutionTimeout: MAX_RUN,
      ...workflowMetadata('poll of the capture system', studyId),
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: Math.max(every, 10_000) },
  } satisfies ScheduleOptions;
  try {
    await client.schedule.create(options);
  } catch (fault) {
    if (!(fault instanceof ScheduleAlreadyRunning)) throw fault;
    await handle.update((before) => ({
      ...options,
      state: { paused: before.state.paused, ...(before.state.note !== undefined && { note: before.state.note }) },
      // One that is as it is to be goes on counting.
      ...(Number(before.spec.intervals?.[0]?.every) === every && { spec: { intervals: before.spec.intervals! } }),
    }));
  }
}

async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (fault) {
    if (!(fault instanceof ScheduleNotFoundError)) throw fault;
  }
}
