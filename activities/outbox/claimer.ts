import {
  claimNotifications,
  claimWorkflowMessages,
  dropSuperseded,
  kindOf,
  postponeMessages,
} from '../../db/outbox/claims.queries.js';
import type { OutboxRow } from '../../db/outbox/claims.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import { StartedWork } from '../util/started-work.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

/** The interval of looking for messages when nothing is known to be due. */
export const POLL_MS = 1000;
/**
 * Unprocessed triggers of the last second: this many are a burst that exceeds the processing rate. Their senders try
 * once and wait for the answer, while processing can wait; so the burst is accepted first and processed when it is
 * over, or when a trigger has waited for the maximum delay. Measured on two processors with 64 senders: relay and
 * workflows took half of the machine, and 400 triggers a second were accepted instead of 1,600.
 */
const BURST_TRIGGERS = 50,
  MAX_BURST_DELAY_SECONDS = 10,
  BURST_POLL_MS = 250;
/**
 * Low-priority messages (workflows of participants enrolled by the capture system, for which nothing waits; changes by
 * an import of thousands) are sent in small batches, changes before starts. A start costs Temporal and worker about 20
 * ms of processor time: 25 a second leave half of one of two processors free, and while many triggers arrive, or a sync
 * reads, it is one. Those that a worker has yet to execute count towards the batch: a machine that is slower, or busy
 * with something else, starts fewer, and a decision waits for five of them at most. Measured with a fifth of the
 * processors' time, during an import of 3,000: a decision took 1.7 s in the middle and 4.5 s at worst, now 0.5 and 1.0.
 */
const LOW_PRIORITY_BATCH = 5,
  LOW_PRIORITY_INTERVAL_MS = 200,
  BUSY_TRIGGERS = 5,
  LOW_PRIORITY_BUSY_INTERVAL_MS = 1_000;
/**
 * A user who plans a study creates twenty windows one after the other, and each change processes all participants: a
 * study's change (other than of its policy) that quickly follows another of its kind waits, and waiting ones are
 * merged.
 */
const COALESCE_MS = 250;

/** The source of a relay lane's messages. */
export interface OutboxClaimer {
  /** Leases due messages, up to a limit, in the order of writing. */
  claim(most: number): Promise<OutboxRow[]>;
  /** How long to wait for a nudge before polling, in milliseconds. */
  pause(): number;
  /** The delay between a nudge and the next claim, in milliseconds; undefined: nudges are ignored. */
  readonly delay: number | undefined;
}

/** Messages to persons: each is one call to an external server. */
export class NotificationClaimer implements OutboxClaimer {
  readonly delay = 100;

  constructor(private readonly database: Database) {}

  async claim(most: number): Promise<OutboxRow[]> {
    return claimNotifications(this.database, most);
  }

  pause(): number {
    return POLL_MS;
  }
}

/** All messages to workflows. */
export class WorkflowClaimer implements OutboxClaimer {
  /** A burst of triggers is being accepted: they, and their nudges, are ignored. */
  private holding = false;
  /** When the last change of a kind was claimed, by study and kind. Each relay has its own: that only costs time. */
  private readonly changes = new Map<string, number>();
  /** Until when a study's change waits for following ones. */
  private settledAt = 0;
  /** When low-priority messages are claimed next, and whether there may be more. */
  private patientAt = 0;
  private patientLeft = false;
  /** The result of a merge may be due already. */
  private lookAgain = false;
  /** Triggers of the current second. */
  private triggersOfSecond = 0;
  private paceSince = 0;

  constructor(
    private readonly database: Database,
    private readonly traffic: LoadMonitor,
    private readonly started = new StartedWork(),
  ) {}

  get delay(): number | undefined {
    return this.holding ? undefined : 0;
  }

  /** Leases due messages, in one round trip: it runs again after each trigger and each start. */
  async claim(most: number): Promise<OutboxRow[]> {
    this.lookAgain = false;
    const now = performance.now();
    const due = now >= this.patientAt;
    const asking = due ? this.patientMost : 0;
    if (due && asking === 0) this.patientAt = now + LOW_PRIORITY_INTERVAL_MS;
    const { rows, fresh, patient } = await claimWorkflowMessages(this.database, {
      most,
      lowPriority: asking,
      burst: BURST_TRIGGERS,
      maxDelaySeconds: MAX_BURST_DELAY_SECONDS,
    });
    this.holding = fresh >= BURST_TRIGGERS;
    this.notePace(rows, fresh);
    if (asking > 0) this.notePatient(patient, asking, now);
    for (const { subject } of patient) this.started.begin(subject);
    return [...(await this.merge(rows)), ...patient].sort((a, b) => a.id - b.id);
  }

  /** The number of low-priority messages to claim: fewer while triggers arrive, or earlier ones are not executed. */
  private get patientMost(): number {
    return Math.max(0, (this.traffic.busy ? 1 : LOW_PRIORITY_BATCH) - this.started.size);
  }

  /** Triggers were seen: low-priority messages wait a little. */
  private notePace(claimed: readonly OutboxRow[], fresh: number): void {
    const triggers = Math.max(fresh, claimed.filter(({ topic }) => topic === 'trigger').length);
    const now = performance.now();
    if (now - this.paceSince > 1_000) [this.paceSince, this.triggersOfSecond] = [now, 0];
    this.triggersOfSecond += triggers;
    if (this.triggersOfSecond > BUSY_TRIGGERS) this.traffic.note(1_000);
  }

  /**
   * Low-priority messages are claimed in small batches, so that ten thousand new participants of a sync do not delay
   * other work, and in smaller ones while triggers arrive.
   */
  private notePatient(taken: readonly OutboxRow[], asked: number, nowMs: number): void {
    this.patientAt =
      nowMs + (this.traffic.busy ? LOW_PRIORITY_BUSY_INTERVAL_MS : taken.length > 0 ? LOW_PRIORITY_INTERVAL_MS : 0);
    this.patientLeft = taken.length === asked;
  }

  /**
   * Of the claimed changes of studies drops those with a newer one of the same kind behind them: the newer one
   * processes all participants in the current state. Changes of a policy stay: each is a version with visible progress.
   */
  private async merge(claimed: readonly OutboxRow[]): Promise<OutboxRow[]> {
    const changes = claimed.filter((row) => row.topic === 'study-changed' && kindOf(row) !== 'policy');
    if (changes.length === 0) return [...claimed];
    return withStudyScope(this.database, '*', ({ tx }) => this.mergeIn(tx, claimed, changes), 'queue');
  }

  private async mergeIn(tx: Tx, claimed: readonly OutboxRow[], changes: readonly OutboxRow[]): Promise<OutboxRow[]> {
    const dropped = await dropSuperseded(
      tx,
      changes.map(({ subject }) => subject),
    );
    const left = changes.filter((row) => !dropped.includes(row.id));
    const now = performance.now();
    const early = left.filter(
      (row) => now - (this.changes.get(`${row.subject} ${kindOf(row)}`) ?? -COALESCE_MS) < COALESCE_MS,
    );
    if (early.length > 0) {
      this.settledAt = now + COALESCE_MS;
      await postponeMessages(
        tx,
        early.map(({ id }) => id),
        COALESCE_MS,
      );
    }
    const taken = left.filter((row) => !early.includes(row));
    if (this.changes.size > 1000) this.changes.clear();
    for (const row of taken) this.changes.set(`${row.subject} ${kindOf(row)}`, now);
    // The change that replaces dropped ones may be due already.
    if (dropped.length > 0) this.lookAgain = true;
    return claimed.filter((row) => !changes.includes(row) || taken.includes(row));
  }

  pause(): number {
    if (this.lookAgain) return 0;
    const settles = this.settledAt - performance.now();
    return Math.min(
      settles > 0 ? settles + 10 : POLL_MS,
      this.holding ? BURST_POLL_MS : POLL_MS,
      this.patientLeft ? Math.max(1, this.patientAt - performance.now()) : POLL_MS,
    );
  }
}
