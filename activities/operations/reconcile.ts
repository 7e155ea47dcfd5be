import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { withAdvisoryLock } from '../../db/client/advisory-lock.js';
import { overdueRequests } from '../../db/anchor/override-requests.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { waitingStarts } from '../../db/outbox/pending-work.queries.js';
import { settledAfter } from '../../db/participants/enrolled.queries.js';
import { requeueOverduePushes as wakeOverduePushes } from '../../db/capture/push-requests.queries.js';
import { inScope } from '../../db/client/transaction.js';
import { reconcilePolls } from '../capture/poll-schedules.js';
import { restartLostWorkflows } from './restart-lost-workflows.js';
import { deadlineIn } from '../../workflows/client.js';
import { participantAnchorId, workflowTypes } from '../../workflows/contract.js';
import type { Database } from '../../db/client/database.js';

const BATCH = 1000;
const EVERY_MS = 5 * 60_000;
const DEADLINES_EVERY_MS = 30_000;
/** How often it is looked whether Temporal is still the one that it was: one small call. */
const PLACE_EVERY_MS = 5_000;
/** A deadline passed this long ago and nothing happened: whoever should have woken is not there. */
const OVERDUE_SECONDS = 20;
/** Longer than the visibility store lags behind. */
const SETTLED_SECONDS = 60;

/**
 * Starts again what was lost. A workflow terminated by hand, or a Temporal server that lost its database, runs no
 * clean-up: the participants in Postgres are compared with the workflows that run, and who has none gets one. The
 * listing reads 1,000 a call, since visibility takes ten calls a second at most. Thousands of lost ones give way to
 * whoever is waited for.
 */
export async function reconcileParticipants(
  deps: { database: Database; client: Client },
  settledSeconds = SETTLED_SECONDS,
): Promise<{ running: number; started: number }> {
  const running = new Set<string>();
  for await (const execution of deps.client.workflow.list({
    query: `WorkflowType = '${workflowTypes.participantAnchor}' AND ExecutionStatus = 'Running'`,
    pageSize: BATCH,
  })) {
    running.add(execution.workflowId);
  }
  let started = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const batch = await inScope(deps.database, '*', async ({ tx }) => {
      const rows = await settledAfter(tx, after, { limit: BATCH, seconds: settledSeconds });
      const missing = rows.filter((row) => !running.has(participantAnchorId(row.id)));
      // A start that waits for its turn is not lost.
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
      return rows;
    });
    if (batch.length < BATCH) return { running: running.size, started };
    after = batch.at(-1)!.id;
  }
}

/**
 * Wakes the participants whose override has a deadline that passed unnoticed; a workflow that runs is left as it is.
 */
export async function requeueOverdue(database: Database, overdueSeconds = OVERDUE_SECONDS): Promise<number> {
  return inScope(database, '*', async ({ tx }) => {
    const overdue = await overdueRequests(tx, overdueSeconds);
    await putOutbox(
      tx,
      overdue.map((row) => ({ topic: 'participant-start', studyId: row.study_id, subject: row.participant_id })),
    );
    return overdue.length;
  });
}

/** Runs the sweep at the worker's start and then every five minutes; of several workers one at a time. */
export class Reconciler {
  private timers: NodeJS.Timeout[] = [];
  /** Of the namespace: another one is of a Temporal server that knows nothing of ours. */
  private place: string | undefined;
  private work: Promise<unknown> = Promise.resolve();

  /** @param deps ensureJobs: makes the periodic jobs that are missing */
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
    // First of all: a server that is lost during the first sweep is to be known for another one after it.
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
      const pushes = await inScope(this.deps.database, '*', ({ tx }) => wakeOverduePushes(tx, SETTLED_SECONDS));
      if (pushes > 0) this.deps.log.warn({ pushes }, 'results waited for longer than planned: their pushes are woken');
    } catch (fault) {
      this.deps.log.warn(
        { fault: fault instanceof Error ? fault.name : 'fault' },
        'overdue deadlines could not be read; they are looked for again',
      );
    }
  }

  /** A Temporal server with another database has none of our workflows: they are started again at once. */
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

  /** False: it did not get through, and comes again. @param settledSeconds younger than this may just be on its way */
  private async sweep(settledSeconds = SETTLED_SECONDS): Promise<boolean> {
    const { database, log } = this.deps;
    try {
      // Temporal lists what runs, which takes minutes where there is much of it.
      await withAdvisoryLock(database, 'reconcile-participants', async () => {
        await this.deps.ensureJobs();
        await reconcilePolls(this.deps);
        const restored = await restartLostWorkflows(this.deps, settledSeconds);
        if (restored > 0) log.warn({ restored }, 'work had no running workflow: it is started again from the database');
        const { running, started } = await reconcileParticipants(this.deps, settledSeconds);
        if (settledSeconds === 0) await inScope(database, '*', ({ tx }) => wakeOverduePushes(tx, 0));
        if (started > 0)
          log.warn(
            { running, started },
            'participants had no running workflow: they are started again from the database',
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
