import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Database, Tx } from '../db/knex.js';
import { OUTBOX_CHANNEL } from '../db/outbox.js';
import type { OutboxTopic } from '../db/outbox.js';
import { prepared } from '../db/prepared.js';
import { inScope } from '../db/transaction.js';
import type { AnchorMessages } from '../workflows/client.js';
import * as contract from '../workflows/contract.js';

export interface OutboxRow { id: number; topic: OutboxTopic; study_id: string | null; subject: string; payload: Record<string, unknown>; attempts: number }
/** Delivers one message; it may be delivered again when the relay dies before it has noted it. Throws to have it repeated later. */
export type Deliver = (message: OutboxRow) => Promise<void>;

const BATCH = 50;
const CONCURRENCY = 8;
const POLL_MS = 1000;
const LEASE_SECONDS = 30;
/**
 * Triggers that came within the last second and are not taken up yet: so many are a burst that is faster than the work.
 * Their senders try once and wait for the answer, the work has time; so the burst is accepted first and worked off when
 * it is over, or when a trigger has waited as long as its patience. Measured on two processors with 64 senders: the
 * relay and what it starts took half of the machine, and 400 triggers a second were accepted instead of 1,600.
 */
const BURST = 50, PATIENCE_SECONDS = 10, BURST_LOOK_MS = 250;
/**
 * Messages that give way (the workflows of participants whom the capture system has enrolled, for which nothing waits)
 * go out so many at a time. A start costs Temporal and worker about 20 ms of processor time: 25 a second leave half of
 * one processor of two to others, and while more than so many triggers a second come in it is 5.
 */
const PATIENT_BATCH = 5, PATIENT_EVERY_MS = 200, BUSY_TRIGGERS = 5;
/**
 * Whoever plans a study makes twenty windows one after the other, and each change goes through all participants: a
 * change of a study (other than its policy) that follows another of its kind so closely waits, and those that wait
 * together are one.
 */
const SETTLING_MS = 250;

const kindOf = ({ payload }: OutboxRow): string => String(payload.kind ?? 'policy');

/**
 * Brings committed messages to Temporal and to the mail server. It is woken by a notification and polls besides; a
 * message is leased, delivered, then deleted, so that it arrives at least once whatever dies when: ids collapse doubles.
 */
export class Relay {
  private stopping = false;
  private wake: () => void = () => {};
  /** A nudge came since the last look: what it was for may have been committed just after that. */
  private nudged = false;
  /** A burst of triggers is being accepted: they are left alone, and nudges, which come with each, as well. */
  private holding = false;
  /** When the last change of a kind was taken up, by study and kind. Of several relays each knows its own: it costs, it breaks nothing. */
  private readonly changes = new Map<string, number>();
  /** Until when a change of a study waits for those that come after it. */
  private settledAt = 0;
  /** When messages that give way are looked for next, and whether there may be more of them. */
  private patientAt = 0;
  private patientLeft = false;
  /** Triggers of the present second; until when their number makes others wait. */
  private triggersOfSecond = 0;
  private paceSince = 0;
  private busyUntil = 0;
  private loop: Promise<void> | undefined;
  private listener: pg.Client | undefined;

  constructor(private readonly deps: { database: Database; listenUrl: string; deliver: Deliver; log: Logger }) {}

  start(): void {
    this.loop = this.run();
    void this.listen();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.wake();
    await this.listener?.end().catch((fault: Error) => this.deps.log.debug({ fault: fault.message }, 'relay: listener closed'));
    await this.loop;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      this.nudged = false;
      try {
        const batch = await this.claim();
        await inParallel(batch, CONCURRENCY, (message) => this.deliver(message));
        // Behind one that was delivered the next of its subject may wait.
        if (batch.length === BATCH || (!this.holding && (batch.length > 0 || this.nudged))) continue;
      } catch (fault) {
        this.deps.log.warn({ fault: codeOf(fault) }, 'relay: the database is away');
      }
      if (this.stopping) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.pause());
        this.wake = () => { clearTimeout(timer); resolve(); };
      });
    }
  }

  /**
   * Leases what is due. Of one subject only the oldest is taken: its messages keep their order. What is due is found
   * once (`materialized`): as a condition of the update it may be looked for anew for every row, which takes minutes
   * with thousands of them.
   */
  private async claim(): Promise<OutboxRow[]> {
    return inScope(this.deps.database, '*', async ({ tx }) => {
      const [fresh] = await prepared<{ triggers: number }>(tx,
        `select count(*) as triggers from (select from outbox where topic = 'trigger' and attempts = 0 and available_at > clock_timestamp() - interval '1 second' limit $1) f`, [BURST]);
      this.holding = fresh!.triggers >= BURST;
      const rows = await prepared<OutboxRow>(tx,
        `with due as materialized (
           select d.id from outbox d where d.available_at <= clock_timestamp() and not d.patient
             and (d.topic <> 'trigger' or not $3::boolean or d.created_at < clock_timestamp() - $4 * interval '1 second')
             and not exists (select from outbox e where e.subject = d.subject and e.id < d.id and not e.patient)
           order by d.id limit $2 for update skip locked)
         update outbox o set available_at = clock_timestamp() + $1 * interval '1 second', attempts = o.attempts + 1 from due where o.id = due.id
         returning o.id, o.topic, o.study_id, o.subject, o.payload, o.attempts`, [LEASE_SECONDS, BATCH, this.holding, PATIENCE_SECONDS]);
      this.notePace(rows, fresh!.triggers);
      const left = await this.merge(tx, rows);
      return [...left, ...await this.claimPatient(tx)].sort((a, b) => a.id - b.id);
    });
  }

  /** A trigger was seen: those who give way wait a little. */
  private notePace(claimed: readonly OutboxRow[], fresh: number): void {
    const triggers = Math.max(fresh, claimed.filter(({ topic }) => topic === 'trigger').length);
    const now = performance.now();
    if (now - this.paceSince > 1_000) [this.paceSince, this.triggersOfSecond] = [now, 0];
    this.triggersOfSecond += triggers;
    if (this.triggersOfSecond > BUSY_TRIGGERS) this.busyUntil = now + 1_000;
  }

  /**
   * Leases messages that give way: some at a time, so that ten thousand new participants of a sync do not queue up
   * before everybody else's work, and fewer of them while triggers come in.
   */
  private async claimPatient(tx: Tx): Promise<OutboxRow[]> {
    const now = performance.now();
    if (now < this.patientAt) return [];
    const most = now < this.busyUntil ? 1 : PATIENT_BATCH;
    const rows = await prepared<OutboxRow>(tx,
      `with due as materialized (select d.id from outbox d where d.patient and d.available_at <= clock_timestamp() order by d.available_at, d.id limit $2 for update skip locked)
       update outbox o set available_at = clock_timestamp() + $1 * interval '1 second', attempts = o.attempts + 1 from due where o.id = due.id
       returning o.id, o.topic, o.study_id, o.subject, o.payload, o.attempts`, [LEASE_SECONDS, most]);
    this.patientAt = now + (rows.length > 0 || now < this.busyUntil ? PATIENT_EVERY_MS : 0);
    this.patientLeft = rows.length === most;
    return rows;
  }

  /**
   * Of the claimed changes of studies drops those that a newer one of the same kind waits behind: that one goes through
   * all participants by what holds then. A policy's changes stay: each is a version whose progress somebody follows.
   */
  private async merge(tx: Tx, claimed: readonly OutboxRow[]): Promise<OutboxRow[]> {
    const changes = claimed.filter((row) => row.topic === 'study-changed' && kindOf(row) !== 'policy');
    if (changes.length === 0) return [...claimed];
    const dropped = await prepared<{ id: number }>(tx,
      `delete from outbox d where d.subject = any($1) and d.topic = 'study-changed' and d.payload->>'kind' <> 'policy'
         and exists (select from outbox n where n.subject = d.subject and n.topic = d.topic and n.payload->>'kind' = d.payload->>'kind' and n.id > d.id)
       returning d.id`, [changes.map(({ subject }) => subject)]);
    const left = changes.filter((row) => !dropped.some(({ id }) => id === row.id));
    const now = performance.now();
    const early = left.filter((row) => now - (this.changes.get(`${row.subject} ${kindOf(row)}`) ?? -SETTLING_MS) < SETTLING_MS);
    if (early.length > 0) {
      this.settledAt = now + SETTLING_MS;
      await prepared(tx, `update outbox set available_at = clock_timestamp() + $1 * interval '1 millisecond', attempts = attempts - 1 where id = any($2)`, [SETTLING_MS, early.map(({ id }) => id)]);
    }
    const taken = left.filter((row) => !early.includes(row));
    if (this.changes.size > 1000) this.changes.clear();
    for (const row of taken) this.changes.set(`${row.subject} ${kindOf(row)}`, now);
    // What stands for those that were dropped may be due already.
    if (dropped.length > 0) this.nudged = true;
    return claimed.filter((row) => !changes.includes(row) || taken.includes(row));
  }

  /** How long to wait for a nudge before looking by oneself. */
  private pause(): number {
    const settles = this.settledAt - performance.now();
    return Math.min(settles > 0 ? settles + 10 : POLL_MS, this.holding ? BURST_LOOK_MS : POLL_MS, this.patientLeft ? PATIENT_EVERY_MS : POLL_MS);
  }

  private async deliver(message: OutboxRow): Promise<void> {
    try {
      await this.deps.deliver(message);
      await this.deps.database('outbox').where({ id: message.id }).delete();
    } catch (fault) {
      const wait = Math.min(0.5 * 2 ** Math.min(message.attempts, 8), 60);
      this.deps.log.warn({ topic: message.topic, outbox: message.id, attempts: message.attempts, fault: codeOf(fault) }, `relay: not delivered, again in ${wait} s`);
      await this.deps.database.raw(`update outbox set available_at = clock_timestamp() + ? * interval '1 second', last_error = ? where id = ?`, [wait, codeOf(fault).slice(0, 500), message.id]);
    }
  }

  /** Keeps a listening connection; without it the poll alone carries on. */
  private async listen(): Promise<void> {
    while (!this.stopping) {
      const client = new pg.Client({ connectionString: this.deps.listenUrl, application_name: 'relay-listen', keepAlive: true });
      const gone = new Promise<void>((resolve) => { client.on('error', () => resolve()); client.on('end', () => resolve()); });
      try {
        await client.connect();
        this.listener = client;
        client.on('notification', () => {
          this.nudged = true;
          if (!this.holding) this.wake();
        });
        await client.query(`listen ${OUTBOX_CHANNEL}`);
        await gone;
      } catch (fault) {
        this.deps.log.debug({ fault: codeOf(fault) }, 'relay: cannot listen yet');
      }
      if (!this.stopping) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

const codeOf = (fault: unknown): string => (fault as { code?: unknown }).code?.toString() ?? (fault instanceof Error ? fault.name : 'fault');

async function inParallel<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(Array.from({ length: Math.min(most, queue.length) }, async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  }));
}

/** What each kind of message means to Temporal. `eager`: the client shares its connection with a worker, which takes a new run at once. */
export function deliverTo(deps: { client: Client; anchors: AnchorMessages; taskQueue: string; eager?: boolean; sendNotification: (id: string) => Promise<void>; sendUserLink: (id: string) => Promise<void>; setPoll: (studyId: string) => Promise<void> }): Deliver {
  return async (message) => {
    const { id, topic, study_id, subject, payload } = message;
    const participant = { participant_id: subject, study_id: study_id!, site_id: (payload.site_id as string | undefined) ?? null };
    const sender = { actor_user_id: (payload.actor_user_id as string | undefined) ?? null, request_id: (payload.request_id as string | undefined) ?? null };
    switch (topic) {
      case 'participant-start': return deps.anchors.start(participant);
      case 'sources-changed': return deps.anchors.sourcesChanged(participant, sender);
      case 'participant-withdrawn': return deps.anchors.withdrawn(participant, sender);
      case 'trigger': return startOnce(() => deps.client.workflow.start(contract.workflowTypes.datacaptureTrigger, {
        workflowId: contract.datacaptureTriggerId(subject), taskQueue: deps.taskQueue, args: [{ event_id: subject, study_id: study_id!, local_first: true }],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE', workflowIdConflictPolicy: 'USE_EXISTING', staticSummary: 'data-entry trigger', requestEagerStart: deps.eager === true,
      }));
      case 'study-changed': return startOnce(() => deps.client.workflow.start(contract.workflowTypes.studyReanchoring, {
        workflowId: contract.studyReanchoringId(study_id!, String(payload.change_id ?? id)), taskQueue: deps.taskQueue,
        args: [{ study_id: study_id!, kind: kindOf(message), actor_user_id: sender.actor_user_id }],
        workflowIdReusePolicy: 'REJECT_DUPLICATE', staticSummary: `re-anchoring after a change of ${kindOf(message)}`,
      }));
      // A push that runs already is woken; one that has ended is begun again.
      case 'push': await deps.client.workflow.signalWithStart(contract.workflowTypes.pushResults, {
        workflowId: contract.pushResultsId(subject), taskQueue: deps.taskQueue, args: [{ session_id: subject, study_id: study_id! }], signal: contract.pushNow,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE', staticSummary: 'results of one session to the capture system', staticDetails: `study ${study_id}`,
      });
        return;
      case 'notification': return deps.sendNotification(subject);
      case 'user-link': return deps.sendUserLink(subject);
      case 'datacapture-sync': return startOnce(() => deps.client.workflow.start(contract.workflowTypes.datacaptureSync, {
        workflowId: contract.datacaptureSyncId(subject), taskQueue: deps.taskQueue, args: [{ sync_id: subject, study_id: study_id! }],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE', workflowIdConflictPolicy: 'USE_EXISTING', staticSummary: 'sync with the capture system',
      }));
      case 'datacapture-poll': return deps.setPoll(subject);
      case 'export': return startOnce(() => deps.client.workflow.start(contract.workflowTypes.studyExport, {
        workflowId: contract.studyExportId(subject), taskQueue: deps.taskQueue, args: [{ export_id: subject, study_id: study_id! }],
        workflowIdReusePolicy: 'REJECT_DUPLICATE', staticSummary: 'export of a dataset',
      }));
      case 'simulation': return startOnce(() => deps.client.workflow.start(contract.workflowTypes.studySimulation, {
        workflowId: contract.studySimulationId(subject), taskQueue: deps.taskQueue, args: [{ simulation_id: subject, study_id: study_id! }],
        workflowIdReusePolicy: 'REJECT_DUPLICATE', staticSummary: 'simulation of a study',
      }));
      // A delivery that was sent again by hand may have a workflow that waits for a later moment: it is told to look.
      case 'event-delivery': return void (await deps.client.workflow.signalWithStart(contract.workflowTypes.eventDelivery, {
        workflowId: contract.eventDeliveryId(subject), taskQueue: deps.taskQueue, args: [{ delivery_id: subject, study_id: study_id! }], signal: contract.deliveryChanged,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE', staticSummary: 'repeat the delivery of an event',
      }));
    }
  };
}

async function startOnce(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (fault) {
    if (!(fault instanceof WorkflowExecutionAlreadyStartedError)) throw fault;
  }
}
