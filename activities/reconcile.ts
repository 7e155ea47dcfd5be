import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../db/knex.js';
import { putOutbox } from '../db/outbox.js';
import { wakeOverdue as wakeOverduePushes } from '../db/queries/push-requests.js';
import { inScope } from '../db/transaction.js';
import { reconcilePolls } from './capture/poll-schedules.js';
import { participantAnchorId, workflowTypes } from '../workflows/contract.js';

const BATCH = 1000;
const EVERY_MS = 5 * 60_000;
const DEADLINES_EVERY_MS = 30_000;
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
export async function reconcileParticipants(deps: { database: Database; client: Client }): Promise<{ running: number; started: number }> {
  const running = new Set<string>();
  for await (const execution of deps.client.workflow.list({ query: `WorkflowType = '${workflowTypes.participantAnchor}' AND ExecutionStatus = 'Running'`, pageSize: BATCH })) {
    running.add(execution.workflowId);
  }
  let started = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const batch = await inScope(deps.database, '*', async ({ tx }) => {
      const rows: { id: string; study_id: string; site_id: string | null }[] = await tx('participants').where({ status: 'enrolled' }).where('id', '>', after)
        .whereRaw(`created_at < clock_timestamp() - ? * interval '1 second'`, [SETTLED_SECONDS]).orderBy('id').limit(BATCH).select('id', 'study_id', 'site_id');
      const missing = rows.filter((row) => !running.has(participantAnchorId(row.id)));
      // A start that waits for its turn is not lost.
      const waiting: string[] = await tx('outbox').where({ topic: 'participant-start' }).whereRaw('subject = any(?)', [missing.map((row) => row.id)]).pluck('subject');
      const lost = missing.filter((row) => !waiting.includes(row.id));
      await putOutbox(tx, lost.map((row) => ({ topic: 'participant-start', studyId: row.study_id, subject: row.id, payload: { site_id: row.site_id }, patient: true })));
      started += lost.length;
      return rows;
    });
    if (batch.length < BATCH) return { running: running.size, started };
    after = batch.at(-1)!.id;
  }
}

/** Wakes the participants whose override has a deadline that passed unnoticed; a workflow that runs is left as it is. */
export async function wakeOverdue(database: Database, overdueSeconds = OVERDUE_SECONDS): Promise<number> {
  return inScope(database, '*', async ({ tx }) => {
    const { rows } = await tx.raw(
      `select o.participant_id, o.study_id from override_requests o
       where o.status = 'pending' and least(o.expires_at, case when o.reminded_at is null then o.remind_at end) < clock_timestamp() - ? * interval '1 second'
         and not exists (select from outbox x where x.subject = o.participant_id::text)`, [overdueSeconds]);
    const overdue = rows as { participant_id: string; study_id: string }[];
    await putOutbox(tx, overdue.map((row) => ({ topic: 'participant-start', studyId: row.study_id, subject: row.participant_id })));
    return overdue.length;
  });
}

/** Runs the sweep at the worker's start and then every five minutes; of several workers one at a time. */
export class Reconciler {
  private timers: NodeJS.Timeout[] = [];
  private work: Promise<unknown> = Promise.resolve();

  constructor(private readonly deps: { database: Database; client: Client; taskQueue: string; log: Logger }) {}

  start(): void {
    const then = (next: () => Promise<void>) => () => { this.work = this.work.then(next); };
    const sweep = then(() => this.sweep());
    sweep();
    this.timers = [setInterval(sweep, EVERY_MS), setInterval(then(() => this.deadlines()), DEADLINES_EVERY_MS)];
  }

  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await this.work;
  }

  private async deadlines(): Promise<void> {
    try {
      const woken = await wakeOverdue(this.deps.database);
      if (woken > 0) this.deps.log.warn({ woken }, 'override deadlines passed unnoticed: their participants are woken');
      const pushes = await inScope(this.deps.database, '*', ({ tx }) => wakeOverduePushes(tx, SETTLED_SECONDS));
      if (pushes > 0) this.deps.log.warn({ pushes }, 'results waited for longer than planned: their pushes are woken');
    } catch (fault) {
      this.deps.log.warn({ fault: fault instanceof Error ? fault.name : 'fault' }, 'overdue deadlines could not be read; they are looked for again');
    }
  }

  private async sweep(): Promise<void> {
    const { database, log } = this.deps;
    try {
      await database.transaction(async (lock) => {
        const { rows } = await lock.raw(`select pg_try_advisory_xact_lock(hashtext('reconcile-participants')) as mine`);
        if (!rows[0].mine) return;
        const { running, started } = await reconcileParticipants(this.deps);
        await reconcilePolls(this.deps);
        if (started > 0) log.warn({ running, started }, 'participants had no running workflow: they are started again from the database');
      });
    } catch (fault) {
      log.warn({ fault: fault instanceof Error ? fault.name : 'fault' }, 'the sweep for lost workflows did not finish; it comes again');
    }
  }
}
