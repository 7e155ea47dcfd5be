import type { OutboxTopic } from './outbox.js';
import { execute, prepared } from '../client/query.js';
import { readOneInScope, writeInScope } from '../client/transaction.js';
import type { Database, Tx } from '../client/database.js';

export interface OutboxRow {
  id: number;
  topic: OutboxTopic;
  study_id: string | null;
  subject: string;
  payload: Record<string, unknown>;
  attempts: number;
}

/** What changed of a study. */
export const kindOf = ({ payload }: Pick<OutboxRow, 'payload'>): string => String(payload.kind ?? 'policy');

/**
 * The lease of a claimed message; its relay renews it during delivery. Messages of a crashed relay, or of an answer
 * that a failing database did not deliver, are due again after that.
 */
export const LEASE_SECONDS = 10;

/** Topics of messages to persons (also the condition of the index outbox_messages). */
const NOTIFICATION_TOPICS = `('notification', 'user-link')`;

/**
 * A queue is analyzed when it is empty and matters when it is long. The planner trusts the statistics: a plan that can
 * loop over all of it for each of its rows does so one day, and one query takes half a minute. So nothing here is
 * joined: rows come in order, each is looked up by its subject (in a subquery that only one index serves) until there
 * are enough, and the result is written by key. Only the oldest message of a subject is claimed: its messages keep
 * their order.
 */
const LEASE_DUE = `update outbox o set available_at = clock_timestamp() + $1 * interval '1 second',
  attempts = o.attempts + 1 where o.id = any (array(select id from due))
         returning o.id, o.topic, o.study_id, o.subject, o.payload, o.attempts`;
const CLAIM_NOTIFICATIONS = `
with due as materialized (
  select d.id from outbox d where d.available_at <= clock_timestamp() and d.topic in ${NOTIFICATION_TOPICS}
    order by d.available_at, d.id limit $2 for update skip locked)
${LEASE_DUE}`;
/** Each row has the number of very recent triggers; if nothing is due there is one row, without an id. */
const CLAIM_WORKFLOW_MESSAGES = `
with fresh as materialized (
  select count(*)::integer as fresh
    from (select from outbox where topic = 'trigger' and attempts = 0
    and available_at > statement_timestamp() - interval '1 second' limit $3) f
),
due as materialized (
  select c.id from (
    select d.id, d.subject from outbox d where d.available_at <= clock_timestamp() and not d.patient
      and d.topic not in ${NOTIFICATION_TOPICS}
      and (d.topic <> 'trigger' or (select fresh from fresh) < $3
        or d.created_at < clock_timestamp() - $4 * interval '1 second')
    order by d.id offset 0 for update skip locked
  ) c
  where not exists (select from (select e.id, e.patient from outbox e where e.subject = c.subject offset 0) e
    where e.id < c.id and not e.patient)
  limit $2
),
taken as (
  ${LEASE_DUE}
)
select fresh.fresh, taken.* from fresh left join taken on true`;
const CLAIM_LOW_PRIORITY = `
with changes as materialized (
  select d.id from outbox d where d.patient and d.topic <> 'participant-start' and d.available_at <= clock_timestamp()
    order by d.available_at, d.id limit $2 for update skip locked
),
starts as materialized (
  select d.id from outbox d where d.patient and d.topic = 'participant-start' and d.available_at <= clock_timestamp()
    order by d.available_at, d.id
  limit $2 - (select count(*) from changes) for update skip locked
),
due as materialized (select id from changes union all select id from starts)
${LEASE_DUE}`;

type Found = (OutboxRow | { id: null }) & { fresh: number };

export interface WaitingWork {
  /** A message is due. */
  messages: boolean;
  /** There is an active subscription to events. */
  subscriptions: boolean;
}

/** Whether there may be work for a relay, or for the dispatcher of events: much cheaper than their claims. */
export async function waitingWork(database: Database): Promise<WaitingWork> {
  const [work] = await readOneInScope<WaitingWork>(database, '*', {
    sql: `select exists (select from outbox where available_at <= statement_timestamp()) as messages,
      exists (select from event_subscriptions where status = 'active') as subscriptions`,
    values: [],
  });
  return work!;
}

/** Leases due messages to persons, up to a limit. */
export async function claimNotifications(database: Database, most: number): Promise<OutboxRow[]> {
  const claim = { sql: CLAIM_NOTIFICATIONS, values: [LEASE_SECONDS, most] };
  const [rows] = await writeInScope(database, '*', [claim], 'queue');
  return rows as OutboxRow[];
}

/**
 * Leases due messages to workflows, in one round trip.
 * @param limits `lowPriority`: how many low-priority ones to add; `burst`, `maxDelaySeconds`: from this many fresh
 * triggers on, triggers are skipped, for at most this long
 * @returns `fresh`: the number of very recent triggers
 */
export async function claimWorkflowMessages(
  database: Database,
  limits: { most: number; lowPriority: number; burst: number; maxDelaySeconds: number },
): Promise<{ rows: OutboxRow[]; fresh: number; patient: OutboxRow[] }> {
  const due = {
    sql: CLAIM_WORKFLOW_MESSAGES,
    values: [LEASE_SECONDS, limits.most, limits.burst, limits.maxDelaySeconds],
  };
  const low = { sql: CLAIM_LOW_PRIORITY, values: [LEASE_SECONDS, limits.lowPriority] };
  const [found, patient = []] = (await writeInScope(
    database,
    '*',
    limits.lowPriority > 0 ? [due, low] : [due],
    'queue',
  )) as [Found[], OutboxRow[]?];
  return {
    rows: found.flatMap(({ fresh: _fresh, ...message }) => (message.id === null ? [] : (message as OutboxRow))),
    fresh: found[0]!.fresh,
    patient,
  };
}

/**
 * Deletes changes of studies if a newer one of the same kind is queued behind them. @returns the ids of those deleted
 */
export async function dropSuperseded(tx: Tx, subjects: readonly string[]): Promise<number[]> {
  const dropped = await prepared<{ id: number }>(
    tx,
    `delete from outbox d where d.subject = any($1) and d.topic = 'study-changed' and d.payload->>'kind' <> 'policy'
       and exists (select from outbox n where n.subject = d.subject and n.topic = d.topic
         and n.payload->>'kind' = d.payload->>'kind' and n.id > d.id)
     returning d.id`,
    [subjects],
  );
  return dropped.map(({ id }) => id);
}

/**
 * Returns leased messages to the queue; they are due in so many milliseconds. The claim does not count as an attempt.
 */
export async function postponeMessages(db: Database | Tx, ids: readonly number[], ms: number): Promise<void> {
  await prepared(
    db,
    `update outbox set available_at = clock_timestamp() + $1 * interval '1 millisecond', attempts = attempts - 1
      where id = any($2)`,
    [ms, ids],
  );
}

/** Renews the lease of messages in delivery. */
export async function renewLeases(database: Database, ids: readonly number[]): Promise<void> {
  await execute(
    database,
    `update outbox set available_at = clock_timestamp() + $1 * interval '1 second' where id = any($2)`,
    [LEASE_SECONDS, ids],
  );
}

export async function deleteDelivered(database: Database, id: number): Promise<void> {
  await prepared(database, 'delete from outbox where id = $1', [id]);
}

/** Records a failed delivery; the message is due again in so many seconds. */
export async function noteUndelivered(database: Database, id: number, seconds: number, error: string): Promise<void> {
  await database('outbox')
    .where({ id })
    .update({
      available_at: database.raw(`clock_timestamp() + ? * interval '1 second'`, [seconds]),
      last_error: error.slice(0, 500),
    });
}
