import { raw } from 'objection';
import { prepared } from '../client/query.js';
import type { SubscriptionSecrets } from './event-subscriptions.queries.js';
import type { EventRecord } from './events.queries.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { EventDelivery as DeliveryRow } from '../models/messages.js';
import type { Tx } from '../client/database.js';

/** A delivery for display. */
export interface EventDelivery {
  id: string;
  study_id: string;
  subscription_id: string;
  event_id: string;
  event_type: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  response_status: number | null;
  last_error: string | null;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  delivered_at: string | null;
  created_at: string;
}
const SHOWN =
  'd.id, d.study_id, d.subscription_id, d.event_id, e.type as event_type, d.status, d.attempts, ' +
  'd.response_status, d.last_error, d.last_attempt_at, d.next_attempt_at, d.delivered_at, d.created_at';

/** A subscription's deliveries, newest first unless asked otherwise. */
export function listDeliveries(
  tx: Tx,
  subscriptionId: string,
  filter: Page & { status?: string | undefined; eventId?: string | undefined },
): Promise<Listed<EventDelivery>> {
  const found = tx('event_deliveries as d')
    .join('domain_events as e', 'e.id', 'd.event_id')
    .where('d.subscription_id', subscriptionId)
    .modify((q) => {
      if (filter.status) q.where('d.status', filter.status);
      if (filter.eventId) q.where('d.event_id', filter.eventId);
    });
  return page(tx, found, SHOWN, filter, { created_at: 'd.seq' }, 'd.id');
}

export async function deliveryById(tx: Tx, subscriptionId: string, id: string): Promise<EventDelivery | undefined> {
  return DeliveryRow.query(tx)
    .alias('d')
    .joinRelated('event', { alias: 'e' })
    .where({ 'd.subscription_id': subscriptionId, 'd.id': id })
    .select(raw(SHOWN))
    .first()
    .castTo<EventDelivery | undefined>();
}

/** Sends it once more, now, with the full retry time. */
export async function redeliver(tx: Tx, id: string): Promise<void> {
  await DeliveryRow.query(tx)
    .findById(id)
    .patch({
      status: 'pending',
      next_attempt_at: raw('clock_timestamp()'),
      available_at: raw('clock_timestamp()'),
      give_up_at: null,
      delivered_at: null,
    });
}

/** The data of one attempt. */
export interface ClaimedDelivery extends SubscriptionSecrets {
  id: string;
  study_id: string;
  subscription_id: string;
  attempts: number;
  give_up_at: string | null;
  url: string;
  ordered: boolean;
  event: EventRecord;
}

const CLAIMED = `d.id, d.study_id, d.subscription_id, d.attempts, d.give_up_at, s.url, s.ordered, s.secret_encrypted,
  s.previous_secret_encrypted,
  case when s.previous_secret_until > clock_timestamp() then s.previous_secret_until end as previous_secret_until,
  e.id as event_id, e.type, e.participant_id, e.occurred_at, e.data`;
type ClaimedRow = Omit<ClaimedDelivery, 'event'> & { event_id: string } & Pick<
    EventRecord,
    'type' | 'participant_id' | 'occurred_at' | 'data'
  >;
const claimedOf = ({ event_id, type, participant_id, occurred_at, data, ...rest }: ClaimedRow): ClaimedDelivery => ({
  ...rest,
  event: { id: event_id, type, study_id: rest.study_id, participant_id, occurred_at, data },
});

/**
 * Claims due deliveries, a share of each subscription, so that none blocks the others; of an ordered subscription only
 * the first in the order of streams, once no running transaction could still write one before it. A crashed process
 * loses its claims when the lease ends.
 * @param busy how many of each subscription the caller has in progress
 */
export async function claimDeliveries(
  tx: Tx,
  limits: { each: number; most: number; leaseSeconds: number; busy: Record<string, number> },
): Promise<ClaimedDelivery[]> {
  const rows = await prepared<ClaimedRow>(
    tx,
    `with due as materialized (
       select c.id from event_subscriptions s cross join lateral (
         (select d.id, d.available_at from event_deliveries d where not s.ordered and d.subscription_id = s.id
           and d.status = 'pending' and d.available_at <= clock_timestamp()
           order by d.available_at limit greatest($1 - coalesce(($4::jsonb ->> s.id::text)::integer, 0), 0))
         union all
         select h.id, h.available_at from (select d.id, d.available_at, d.tx from event_deliveries d
           where s.ordered and d.subscription_id = s.id and d.status = 'pending'
           order by coalesce(d.tx, '0'), d.seq limit 1) h
           where h.available_at <= clock_timestamp()
             and coalesce(h.tx, '0') < pg_snapshot_xmin(pg_current_snapshot())) c
       where s.status = 'active' order by c.available_at limit $2
     ), locked as materialized (
       select d.id from event_deliveries d where d.id in (select id from due) and d.status = 'pending'
         and d.available_at <= clock_timestamp() for update skip locked
     ), leased as (
       update event_deliveries d set available_at = clock_timestamp() + $3 * interval '1 second' from locked l
         where d.id = l.id returning d.*
     )
     select ${CLAIMED} from leased d join event_subscriptions s on s.id = d.subscription_id
       join domain_events e on e.id = d.event_id order by d.seq`,
    [limits.each, limits.most, limits.leaseSeconds, JSON.stringify(limits.busy)],
  );
  return rows.map(claimedOf);
}

/**
 * Claims one delivery whose next attempt is due.
 * @returns the delivery; how long it still waits; undefined when nothing is left to do
 */
export async function claimDelivery(
  tx: Tx,
  id: string,
  leaseSeconds: number,
): Promise<ClaimedDelivery | { wait_ms: number } | undefined> {
  const [row] = await prepared<ClaimedRow & { wait_ms: number }>(
    tx,
    `select ${CLAIMED}, ceil(extract(epoch from (d.next_attempt_at - clock_timestamp())) * 1000)::float8 as wait_ms
     from event_deliveries d join event_subscriptions s on s.id = d.subscription_id
       join domain_events e on e.id = d.event_id
     where d.id = $1 and d.status = 'pending' and s.status = 'active' for update of d`,
    [id],
  );
  if (!row) return undefined;
  const { wait_ms, ...claimed } = row;
  if (wait_ms > 0) return { wait_ms };
  // The time of its next attempt if this one is lost: nobody else claims it until then.
  await prepared(
    tx,
    `update event_deliveries set next_attempt_at = t.until, available_at = t.until
      from (select clock_timestamp() + $2 * interval '1 second' as until) t where id = $1`,
    [id, leaseSeconds],
  );
  return claimedOf(claimed);
}

/** How long a delivery waits for its next attempt, in milliseconds; undefined: there will be none. */
export async function waitOf(tx: Tx, id: string): Promise<number | undefined> {
  const row = await DeliveryRow.query(tx)
    .findById(id)
    .where({ status: 'pending' })
    .select(raw('ceil(extract(epoch from (next_attempt_at - clock_timestamp())) * 1000)::float8 as wait_ms'))
    .castTo<{ wait_ms: number } | undefined>();
  return row && Math.max(row.wait_ms, 1);
}

/** Why a delivery failed permanently; undefined: it did not. */
export async function failureOf(tx: Tx, id: string): Promise<string | undefined> {
  const failed = await DeliveryRow.query(tx).findById(id).where({ status: 'failed' }).select('last_error');
  return failed && (failed.last_error ?? 'no reason was noted');
}

export async function recordDelivered(tx: Tx, id: string, status: number): Promise<void> {
  await prepared(
    tx,
    `update event_deliveries set status = 'delivered', attempts = attempts + 1, response_status = $2, last_error = null,
      last_attempt_at = clock_timestamp(), delivered_at = clock_timestamp(), next_attempt_at = null where id = $1`,
    [id, status],
  );
}

export interface FailedAttempt {
  status: number | null;
  error: string;
  waitSeconds: number;
  patienceSeconds: number;
  rescueSeconds: number;
  final: boolean;
}

/**
 * Stores a failed attempt: the next one is due in `waitSeconds`, unless the retry time since the first is over.
 * @returns whether there will be a next one
 */
export async function recordFailedAttempt(tx: Tx, id: string, attempt: FailedAttempt): Promise<boolean> {
  const [row] = await prepared<{ goes_on: boolean }>(
    tx,
    `update event_deliveries d set attempts = attempts + 1, response_status = $2, last_error = $3,
      last_attempt_at = clock_timestamp(),
       give_up_at = t.give_up, status = case when t.goes_on then 'pending' else 'failed' end,
         next_attempt_at = case when t.goes_on then t.next end,
       available_at = t.next + $6 * interval '1 second'
     from (select x.id, x.give_up, x.next, not $7::boolean and x.next <= x.give_up as goes_on from (
       select y.id, coalesce(y.give_up_at, clock_timestamp() + $5 * interval '1 second') as give_up,
         clock_timestamp() + $4 * interval '1 second' as next
       from event_deliveries y where y.id = $1 and y.status = 'pending') x) t
     where d.id = t.id returning d.status = 'pending' as goes_on`,
    [
      id,
      attempt.status,
      attempt.error,
      attempt.waitSeconds,
      attempt.patienceSeconds,
      attempt.rescueSeconds,
      attempt.final,
    ],
  );
  return row?.goes_on ?? false;
}
