import {
  claimNotifications,
  claimWorkflowMessages,
  dropSuperseded,
  postponeMessages,
} from '../../db/outbox/claims.queries.js';
import type { OutboxRow } from '../../db/outbox/claims.queries.js';
import { inScope } from '../../db/client/transaction.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

const POLL_MS = 1000;
/**
 * Triggers that came within the last second and are not taken up yet: so many are a burst that is faster than the work.
 * Their senders try once and wait for the answer, the work has time; so the burst is accepted first and worked off when
 * it is over, or when a trigger has waited as long as its patience. Measured on two processors with 64 senders: the
 * relay and what it starts took half of the machine, and 400 triggers a second were accepted instead of 1,600.
 */
const BURST_TRIGGERS = 50,
  MAX_BURST_DELAY_SECONDS = 10,
  BURST_POLL_MS = 250;
/**
 * Messages that give way (the workflows of participants whom the capture system has enrolled, for which nothing waits;
 * what an import has changed of thousands) go out so many at a time, changes before starts. A start costs Temporal and
 * worker about 20 ms of processor time: 25 a second leave half of one processor of two to others, and while more than
 * so many triggers a second come in, or a sync reads, it is one.
 */
const LOW_PRIORITY_BATCH = 5,
  LOW_PRIORITY_INTERVAL_MS = 200,
  BUSY_TRIGGERS = 5,
  LOW_PRIORITY_BUSY_INTERVAL_MS = 1_000;
/**
 * Whoever plans a study makes twenty windows one after the other, and each change goes through all participants: a
 * change of a study (other than its policy) that follows another of its kind so closely waits, and those that wait
 * together are one.
 */
const COALESCE_MS = 250;

export const kindOf = ({ payload }: OutboxRow): string => String(payload.kind ?? 'policy');

/** What a lane of the relay takes its messages from. */
export interface OutboxClaimer {
  /** Leases at most so many that are due, in the order in which they were written. */
  claim(most: number): Promise<OutboxRow[]>;
  /** How long to wait for a nudge before looking by oneself, in milliseconds. */
  pause(): number;
  /** How long after a nudge the next look is, in milliseconds; undefined: nudges are not listened to. */
  readonly delay: number | undefined;
}

/** Messages to persons: each is one exchange with a server outside. */
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

/** Everything that concerns a workflow. */
export class WorkflowClaimer implements OutboxClaimer {
  /** A burst of triggers is being accepted: they are left alone, and nudges, which come with each, as well. */
  private holding = false;
  /**
   * When the last change of a kind was taken up, by study and kind. Of several relays each knows its own: it costs, it
   * breaks nothing.
   */
  private readonly changes = new Map<string, number>();
  /** Until when a change of a study waits for those that come after it. */
  private settledAt = 0;
  /** When messages that give way are looked for next, and whether there may be more of them. */
  private patientAt = 0;
  private patientLeft = false;
  /** What a claim was merged into may be due already. */
  private lookAgain = false;
  /** Triggers of the present second. */
  private triggersOfSecond = 0;
  private paceSince = 0;

  constructor(
    private readonly database: Database,
    private readonly traffic: LoadMonitor,
  ) {}

  get delay(): number | undefined {
    return this.holding ? undefined : 0;
  }

  /**
   * Leases what is due, in one round trip: after each trigger that comes and each start that is made it looks again.
   */
  async claim(most: number): Promise<OutboxRow[]> {
    this.lookAgain = false;
    const now = performance.now();
    const asking = now >= this.patientAt ? this.patientMost : 0;
    const { rows, fresh, patient } = await claimWorkflowMessages(this.database, {
      most,
      lowPriority: asking,
      burst: BURST_TRIGGERS,
      maxDelaySeconds: MAX_BURST_DELAY_SECONDS,
    });
    this.holding = fresh >= BURST_TRIGGERS;
    this.notePace(rows, fresh);
    if (asking > 0) this.notePatient(patient, asking, now);
    return [...(await this.merge(rows)), ...patient].sort((a, b) => a.id - b.id);
  }

  /** How many messages that give way are taken at a time: fewer while triggers come in. */
  private get patientMost(): number {
    return this.traffic.busy ? 1 : LOW_PRIORITY_BATCH;
  }

  /** A trigger was seen: those who give way wait a little. */
  private notePace(claimed: readonly OutboxRow[], fresh: number): void {
    const triggers = Math.max(fresh, claimed.filter(({ topic }) => topic === 'trigger').length);
    const now = performance.now();
    if (now - this.paceSince > 1_000) [this.paceSince, this.triggersOfSecond] = [now, 0];
    this.triggersOfSecond += triggers;
    if (this.triggersOfSecond > BUSY_TRIGGERS) this.traffic.note(1_000);
  }

  /**
   * Messages that give way are taken some at a time, so that ten thousand new participants of a sync do not queue up
   * before everybody else's work, and fewer of them while triggers come in.
   */
  private notePatient(taken: readonly OutboxRow[], asked: number, at: number): void {
    this.patientAt =
      at + (this.traffic.busy ? LOW_PRIORITY_BUSY_INTERVAL_MS : taken.length > 0 ? LOW_PRIORITY_INTERVAL_MS : 0);
    this.patientLeft = taken.length === asked;
  }

  /**
   * Of the claimed changes of studies drops those that a newer one of the same kind waits behind: that one goes through
   * all participants by what holds then. A policy's changes stay: each is a version whose progress somebody follows.
   */
  private async merge(claimed: readonly OutboxRow[]): Promise<OutboxRow[]> {
    const changes = claimed.filter((row) => row.topic === 'study-changed' && kindOf(row) !== 'policy');
    if (changes.length === 0) return [...claimed];
    return inScope(this.database, '*', ({ tx }) => this.mergeIn(tx, claimed, changes), 'queue');
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
    // What stands for those that were dropped may be due already.
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
