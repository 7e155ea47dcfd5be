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

/** Creates, changes or deletes a study's poll schedule to match its configuration. Idempotent. */
export async function setPoll(deps: PollDeps, studyId: string): Promise<void> {
  const polled = await readInScope(deps.database, '*', (tx) => polledStudies(tx, studyId));
  await schedule(deps, studyId, everyMs(polled.get(studyId) ?? 0));
}

/**
 * Compares Temporal's schedules with the configurations, and fixes differences: after a Temporal server lost its
 * database, or a restored one lost a message. One listing for any number of studies.
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

/** Temporal's intervals are whole seconds, at least one. */
const everyMs = (minutes: number): number => (minutes === 0 ? 0 : Math.max(1, Math.round(minutes * 60)) * 1_000);

async function schedule({ client, taskQueue }: PollDeps, studyId: string, every: number): Promise<void> {
  const handle = client.schedule.getHandle(datacapturePollId(studyId));
  if (every === 0) return unlessGone(() => handle.delete());
  const options = {
    scheduleId: datacapturePollId(studyId),
    // The interval starts now: a newly connected capture system is not polled during its configuration.
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
      // An unchanged schedule keeps its phase.
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
