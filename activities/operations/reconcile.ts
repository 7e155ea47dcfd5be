import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { withAdvisoryLock } from '../../db/client/advisory-lock.js';
import { overdueRequests } from '../../db/anchor/override-requests.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { waitingStarts } from '../../db/outbox/pending-work.queries.js';
import { settledAfter } from '../../db/participants/enrolled.queries.js';
import { requeueOverduePushes as wakeOverduePushes } from '../../db/capture/push-requests.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { reconcilePolls } from '../capture/poll-schedules.js';
import { restartLostWorkflows } from './restart-lost-workflows.js';
import { deadlineIn } from '../../workflows/client.js';
import { participantAnchorId, workflowTypes } from '../../workflows/contract.js';
import type { Database } from '../../db/client/database.js';

const BATCH = 1000;
const EVERY_MS = 5 * 60_000;
const DEADLINES_EVERY_MS = 30_000;
/** How often it checks whether Temporal is still the same server: one small call. */
const PLACE_EVERY_MS = 5_000;
/** After this long past a deadline without any effect, its workflow counts as lost. */
const OVERDUE_SECONDS = 20;
/** Longer than the delay of the visibility store. */
const SETTLED_SECONDS = 60;

/**
 * Restarts lost workflows. After a workflow was terminated by hand, or a Temporal server lost its database, no clean-up
 * runs: the participants in Postgres are compared with the running workflows, and missing ones are started. The listing
 * reads 1,000 a call, since visibility allows at most ten calls a second. Thousands of restarts have low priority.
 * @returns elsewhere: participants whose run waits on another task queue, where it stays
 */
export async function reconcileParticipants(
  deps: { database: Database; client: Client; taskQueue?: string },
  settledSeconds = SETTLED_SECONDS,
): Promise<{ running: number; started: number; elsewhere: number }> {
  const running = new Map<string, string>();
  for await (const execution of deps.client.workflow.list({
    query: `WorkflowType = '${workflowTypes.participantAnchor}' AND ExecutionStatus = 'Running'`,
    pageSize: BATCH,
  })) {
    running.set(execution.workflowId, execution.taskQueue);
  }
  const { taskQueue } = deps;
  let started = 0,
    elsewhere = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const batch = await withStudyScope(deps.database, '*', async ({ tx }) => {
      const rows = await settledAfter(tx, after, { limit: BATCH, seconds: settledSeconds });
      const missing = rows.filter((row) => !running.has(participantAnchorId(row.id)));
      // A start in the outbox is not lost.
      const waiting = await waitingStarts(
        tx,
        missing.map((row) => row.id),
      );
      const lost = missing.filter((row) => !waiting.includes(row.id));
      await putOutbox(
        tx,
        lost.map((row) => ({
          topic: 'participant-start',
          studyId: row.study_id,
          subject: row.id,
          payload: { site_id: row.site_id },
          lowPriority: true,
        })),
      );
      started += lost.length;
      if (taskQueue !== undefined)
        elsewhere += rows.filter((row) => (running.get(participantAnchorId(row.id)) ?? taskQueue) !== taskQueue).length;
      return rows;
    });
    if (batch.length < BATCH) return { running: running.size, started, elsewhere };
    after = batch.at(-1)!.id;
  }
}

/**
 * Wakes the participants whose override deadline passed unnoticed, or who withdrew while their workflow was lost; a
 * running workflow is not changed.
 */
export async function requeueOverdue(database: Database, overdueSeconds = OVERDUE_SECONDS): Promise<number> {
  return withStudyScope(database, '*', async ({ tx }) => {
    const overdue = await overdueRequests(tx, overdueSeconds);
    await putOutbox(
      tx,
      overdue.map((row) => ({ topic: 'participant-start', studyId: row.study_id, subject: row.participant_id })),
    );
    return overdue.length;
  });
}

/** Runs the sweep at the worker's start and then every five minutes; one worker at a time. */
export class Reconciler {
  private timers: NodeJS.Timeout[] = [];
  /** The namespace's id: another one means a Temporal server without our workflows. */
  private place: string | undefined;
  private work: Promise<unknown> = Promise.resolve();

  /** @param deps ensureJobs: creates missing periodic jobs */
  constructor(
    private readonly deps: {
      database: Database;
      client: Client;
      taskQueue: string;
      log: Logger;
      ensureJobs: () => Promise<void>;
    },
  ) {}

  start(): void {
    const then = (next: () => Promise<unknown>) => () => {
      this.work = this.work.then(next);
    };
    const sweep = then(() => this.sweep()),
      look = then(() => this.lookForPlace());
    // First of all, so that a server lost during the first sweep is detected after it.
    look();
    sweep();
    this.timers = [
      setInterval(sweep, EVERY_MS),
      setInterval(
        then(() => this.deadlines()),
        DEADLINES_EVERY_MS,
      ),
      setInterval(look, PLACE_EVERY_MS),
    ];
  }

  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await this.work;
  }

  private async deadlines(): Promise<void> {
    try {
      const woken = await requeueOverdue(this.deps.database);
      if (woken > 0) this.deps.log.warn({ woken }, 'override deadlines passed unnoticed: their participants are woken');
      const pushes = await withStudyScope(this.deps.database, '*', ({ tx }) => wakeOverduePushes(tx, SETTLED_SECONDS));
      if (pushes > 0) this.deps.log.warn({ pushes }, 'results waited for longer than planned: their pushes are woken');
    } catch (fault) {
      this.deps.log.warn(
        { fault: fault instanceof Error ? fault.name : 'fault' },
        'overdue deadlines could not be read; they are looked for again',
      );
    }
  }

  /** A Temporal server with another database has none of our workflows: they are restarted at once. */
  private async lookForPlace(): Promise<void> {
    const { client, log } = this.deps;
    try {
      const { namespaceInfo } = await client.connection.withDeadline(deadlineIn(PLACE_EVERY_MS / 2), () =>
        client.workflowService.describeNamespace({ namespace: client.options.namespace }),
      );
      const before = this.place,
        now = namespaceInfo?.id ?? undefined;
      if (before !== undefined && now !== undefined && now !== before) {
        log.warn('Temporal has lost its database: everything is started again from ours');
        if (!(await this.sweep(0))) return;
      }
      this.place = now;
    } catch (fault) {
      log.debug(
        { fault: fault instanceof Error ? fault.name : 'fault' },
        'Temporal is not reached; it is looked for again',
      );
    }
  }

  /** False: it failed, and is repeated. @param settledSeconds younger participants may still be in the outbox */
  private async sweep(settledSeconds = SETTLED_SECONDS): Promise<boolean> {
    const { database, log } = this.deps;
    try {
      // Temporal lists running workflows, which takes minutes for large numbers.
      await withAdvisoryLock(database, 'reconcile-participants', async () => {
        await this.deps.ensureJobs();
        await reconcilePolls(this.deps);
        const restored = await restartLostWorkflows(this.deps, settledSeconds);
        if (restored > 0) log.warn({ restored }, 'work had no running workflow: it is started again from the database');
        const { running, started, elsewhere } = await reconcileParticipants(this.deps, settledSeconds);
        if (settledSeconds === 0) await withStudyScope(database, '*', ({ tx }) => wakeOverduePushes(tx, 0));
        if (started > 0)
          log.warn(
            { running, started },
            'participants had no running workflow: they are started again from the database',
          );
        if (elsewhere > 0)
          log.error(
            { elsewhere, task_queue: this.deps.taskQueue },
            'participants’ workflows wait on another task queue than TEMPORAL_TASK_QUEUE: nobody here continues them',
          );
      });
    } catch (fault) {
      log.warn(
        { fault: fault instanceof Error ? fault.name : 'fault' },
        'the sweep for lost workflows did not finish; it comes again',
      );
      return false;
    }
    return true;
  }
}
