import type { OutboxTopic } from '../../db/outbox/outbox.js';
import { prepared } from '../../db/client/prepared.js';
import { inScope, writeInScope } from '../../db/client/transaction.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

export interface OutboxRow {
  id: number;
  topic: OutboxTopic;
  study_id: string | null;
  subject: string;
  payload: Record<string, unknown>;
  attempts: number;
}

/**
 * A message that is taken belongs to its relay for so long, and longer as long as that renews it (`lane.ts`). What a
 * relay held that died, or an answer that a dying database did not give any more, is due again after that.
 */
export const LEASE_SECONDS = 10;
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

/** Topics that are messages to persons (the condition of the index outbox_messages, too). */
const NOTIFICATION_TOPICS = `('notification', 'user-link')`;

/**
 * A queue is counted when it is empty and long when it matters, and the planner goes by the count: what may be planned
 * as a loop over all of it for each of its rows one day is planned so, and one look takes half a minute. So nothing
 * here is joined: the rows come in their order, each is looked up by its subject (within, for which there is one index
 * alone) until there are enough, and what was found is written by its key. Of one subject only the oldest is taken: its
 * messages keep their order.
 */
const LEASE_DUE = `update outbox o set available_at = clock_timestamp() + $1 * interval '1 second', attempts = o.attempts + 1 where o.id = any (array(select id from due))
         returning o.id, o.topic, o.study_id, o.subject, o.payload, o.attempts`;
const CLAIM_NOTIFICATIONS = `
with due as materialized (
  select d.id from outbox d where d.available_at <= clock_timestamp() and d.topic in ${NOTIFICATION_TOPICS} order by d.available_at, d.id limit $2 for update skip locked)
${LEASE_DUE}`;
/** Each row bears how many triggers have come just now; where nothing is due there is one row, without an id. */
const CLAIM_WORKFLOW_MESSAGES = `
with fresh as materialized (
  select count(*)::integer as fresh from (select from outbox where topic = 'trigger' and attempts = 0 and available_at > statement_timestamp() - interval '1 second' limit $3) f
),
due as materialized (
  select c.id from (
    select d.id, d.subject from outbox d where d.available_at <= clock_timestamp() and not d.patient and d.topic not in ${NOTIFICATION_TOPICS}
      and (d.topic <> 'trigger' or (select fresh from fresh) < $3 or d.created_at < clock_timestamp() - $4 * interval '1 second')
    order by d.id offset 0 for update skip locked
  ) c
  where not exists (select from (select e.id, e.patient from outbox e where e.subject = c.subject offset 0) e where e.id < c.id and not e.patient)
  limit $2
),
taken as (
  ${LEASE_DUE}
)
select fresh.fresh, taken.* from fresh left join taken on true`;
const CLAIM_LOW_PRIORITY = `
with changes as materialized (
  select d.id from outbox d where d.patient and d.topic <> 'participant-start' and d.available_at <= clock_timestamp() order by d.available_at, d.id limit $2 for update skip locked
),
starts as materialized (
  select d.id from outbox d where d.patient and d.topic = 'participant-start' and d.available_at <= clock_timestamp() order by d.available_at, d.id
  limit $2 - (select count(*) from changes) for update skip locked
),
due as materialized (select id from changes union all select id from starts)
${LEASE_DUE}`;
type Found = (OutboxRow | { id: null }) & { fresh: number };

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
    const [rows] = await writeInScope(
      this.database,
      '*',
      [{ sql: CLAIM_NOTIFICATIONS, values: [LEASE_SECONDS, most] }],
      'queue',
    );
    return rows as OutboxRow[];
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
    const due = {
      sql: CLAIM_WORKFLOW_MESSAGES,
      values: [LEASE_SECONDS, most, BURST_TRIGGERS, MAX_BURST_DELAY_SECONDS],
    };
    const now = performance.now();
    const asking = now >= this.patientAt ? this.patientMost : 0;
    const [found, patient = []] = (await writeInScope(
      this.database,
      '*',
      asking > 0 ? [due, { sql: CLAIM_LOW_PRIORITY, values: [LEASE_SECONDS, asking] }] : [due],
      'queue',
    )) as [Found[], OutboxRow[]?];
    const fresh = found[0]!.fresh;
    this.holding = fresh >= BURST_TRIGGERS;
    const rows = found.flatMap(({ fresh: _fresh, ...row }) => (row.id === null ? [] : (row as OutboxRow)));
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
    const dropped = await prepared<{ id: number }>(
      tx,
      `delete from outbox d where d.subject = any($1) and d.topic = 'study-changed' and d.payload->>'kind' <> 'policy'
         and exists (select from outbox n where n.subject = d.subject and n.topic = d.topic and n.payload->>'kind' = d.payload->>'kind' and n.id > d.id)
       returning d.id`,
      [changes.map(({ subject }) => subject)],
    );
    const left = changes.filter((row) => !dropped.some(({ id }) => id === row.id));
    const now = performance.now();
    const early = left.filter(
      (row) => now - (this.changes.get(`${row.subject} ${kindOf(row)}`) ?? -COALESCE_MS) < COALESCE_MS,
    );
    if (early.length > 0) {
      this.settledAt = now + COALESCE_MS;
      await prepared(
        tx,
        `update outbox set available_at = clock_timestamp() + $1 * interval '1 millisecond', attempts = attempts - 1 where id = any($2)`,
        [COALESCE_MS, early.map(({ id }) => id)],
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
