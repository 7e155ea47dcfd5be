import type { Statement } from '../client/one-trip.js';
import { prepared } from '../client/query.js';
import { readOneInScope } from '../client/transaction.js';
import { visitSequence } from '../scheduling/visit-sequence.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

export interface ReminderVisit {
  id: string;
  name: string;
  status: string;
  target_date: string;
  window_open: string;
  window_close: string;
  /** Its SEQUENCE in calendars; null: no calendar entry is sent. */
  sequence: number | null;
}
/** A reminder with the facts for its decision and its text. */
export interface ReminderRow {
  id: string;
  study_id: string;
  participant_id: string;
  kind: 'visit_reminder' | 'visit_missed';
  channel: 'email' | 'sms' | 'push';
  due_at: string;
  days_before: number | null;
  visit_key: string;
  /** The visit's target date that the message names. */
  target_date: string | null;
  resend_of: string | null;
  /** The first reminder of this visit and rule. */
  first_id: string;
  attempts: number;
  status: string;
  visit: ReminderVisit | null;
  participant_status: string;
  participant_code: string;
  preferred_language: string | null;
  zone: string;
  /** Of the visit's days. */
  visit_zone: string;
  email: string | null;
  phone: string | null;
  push_tokens: string[];
  opted_out: boolean;
  address_dead: boolean;
  study_status: string;
  study_code: string;
  study_name: string;
  public_name: unknown;
  contact: unknown;
  site_code: string | null;
  site_name: string | null;
  settings: unknown;
}

const FACTS = `n.id, n.study_id, n.participant_id, n.kind, n.channel, n.due_at, n.days_before, n.visit_key is null
  and n.of_visit_key is null as by_hand, coalesce(n.visit_key, n.of_visit_key, o.visit_key) as visit_key, n.target_date,
  n.resend_of, n.attempts, n.status,
    coalesce((select a.id from notifications a where a.of_visit_key = n.visit_key and a.kind = n.kind
      and a.channel = n.channel and a.days_before is not distinct from n.days_before
       order by a.created_at, a.id limit 1), n.id) as first_id,
    (select jsonb_build_object('id', v.id, 'name', v.name, 'status', v.status, 'target_date', v.target_date,
      'window_open', v.window_open, 'window_close', v.window_close, 'sequence', case when n.channel = 'email'
      and n.kind = 'visit_reminder' then ${visitSequence('v.participant_id', 'v.visit_key')} end)
       from scheduled_visits v where v.participant_id = n.participant_id and v.visit_key = coalesce(n.visit_key,
         n.of_visit_key, o.visit_key)
       order by v.status in ('superseded', 'cancelled'), v.created_at desc limit 1) as visit,
    p.status as participant_status, p.participant_code, p.preferred_language,
      coalesce(p.timezone, t.timezone, s.timezone) as zone, coalesce(t.timezone, s.timezone) as visit_zone, p.email,
      p.phone,
    case when n.channel = 'push' then array(select k.token from push_tokens k where k.participant_id = p.id
      order by k.created_at) else '{}' end as push_tokens,
    exists (select from notification_opt_outs x where x.participant_id = p.id and x.channel = n.channel) as opted_out,
    exists (select from dead_addresses x where x.participant_id = p.id and x.channel = n.channel) as address_dead,
    s.status as study_status, s.study_code, s.study_name, s.config -> 'public_name' as public_name,
      s.config -> 'contact' as contact, t.site_code, t.name as site_name,
      coalesce(s.config -> 'notifications', '{}') as settings
  from notifications n join participants p on p.id = n.participant_id join studies s on s.id = n.study_id
    left join sites t on t.id = p.site_id
  left join scheduled_visits o on n.visit_key is null and o.id = n.visit_id`;

/** Whether any reminder is due: one statement on an index alone. */
export async function anyReminderDue(database: Database): Promise<boolean> {
  const rows = await readOneInScope(database, '*', {
    sql: `select attempt_at from notifications where status = 'pending' and visit_key is not null
      and attempt_at <= now() limit $1`,
    values: [1],
  });
  return rows.length > 0;
}

/**
 * Claims due reminders: no other worker claims them until the lease ends or they are settled. The target date of each
 * message is fixed from here on, also of rows planned before the column existed.
 */
export async function claimReminders(
  tx: Tx,
  claim: { by: string; limit: number; leaseSeconds: number },
): Promise<ReminderRow[]> {
  return prepared<ReminderRow>(
    tx,
    `with due as (
       select id from notifications where status = 'pending' and visit_key is not null and attempt_at <= now()
         and (claimed_until is null or claimed_until <= now())
       order by attempt_at limit $1 for update skip locked),
     claimed as (
       update notifications n set claimed_by = $2, claimed_until = now() + $3 * interval '1 second',
         attempt_at = now() + $3 * interval '1 second',
         target_date = coalesce(n.target_date, (select v.target_date from scheduled_visits v
           where v.participant_id = n.participant_id and v.visit_key = n.visit_key
           order by v.status in ('superseded', 'cancelled'), v.created_at desc limit 1))
       from due where n.id = due.id returning n.id)
     select ${FACTS} join claimed on claimed.id = n.id`,
    [claim.limit, claim.by, claim.leaseSeconds],
  );
}

/** The current state of one reminder; with `by` only while that claim holds. */
export async function reminderById(tx: Tx, id: string, by: string | null = null): Promise<ReminderRow | undefined> {
  return (
    await prepared<ReminderRow>(
      tx,
      `select ${FACTS} where n.id = $1
        and ($2::uuid is null or (n.claimed_by = $2 and n.claimed_until > clock_timestamp()))`,
      [id, by],
    )
  )[0];
}

/** The result of a claimed reminder. `pending`: to be checked again at `attempt_at`. */
export interface ReminderResult {
  id: string;
  status: 'sent' | 'failed' | 'cancelled' | 'suppressed' | 'pending';
  reason: string | null;
  last_error: string | null;
  attempt_at: string | null;
  attempted: boolean;
  /** The due time it was decided by: if moved since, it is only released, and decided again. */
  due_at: string;
  /** The target date that the message named. */
  target_date: string | null;
  /** A channel to try instead. */
  fallback: string | null;
  /** The address does not exist. */
  gone: boolean;
}

const DEAD = `insert into dead_addresses (participant_id, channel, study_id, notification_id)
  select participant_id, channel, study_id, id`;

/** Plans another channel for a reminder that was reported as undelivered. */
export async function insertInstead(tx: Tx, id: string, channel: string): Promise<void> {
  await prepared(tx, 'select remind_instead($1, $2)', [id, channel]);
}

/**
 * Marks a message's address as dead: no reminder is sent to it until it changes. A report may come days later: an
 * address that was corrected since the message was sent is another one.
 * @returns whether it is dead now
 */
export async function markAddressDead(tx: Tx, notificationId: string): Promise<boolean> {
  const marked = await prepared(
    tx,
    `${DEAD} from notifications n where id = $1 and participant_id is not null and user_id is null
      and channel in ('email', 'sms') and not exists (
        select from audit_log a where a.resource_type = 'participant' and a.resource_id = n.participant_id::text
          and a.action in ('participant_changed', 'participant_updated') and a.created_at >= n.sent_at
          and a.audit_metadata -> 'fields' @> to_jsonb(case n.channel when 'email' then 'email' else 'phone' end))
     on conflict (participant_id, channel) do update set channel = excluded.channel returning 1`,
    [notificationId],
  );
  return marked.length > 0;
}

/**
 * Stores the results of claimed reminders and releases the claims. A sent reminder stays sent, whatever happened to its
 * visit meanwhile. If the visit moved to another target date during sending, the sent row keeps the date that its
 * message named, and the plan for the new date becomes a new row. Rows locked by others are skipped, so that two sets
 * never deadlock.
 * @returns the stored ones
 */
export async function storeReminderResults(
  tx: Tx,
  by: string,
  settlements: readonly ReminderResult[],
): Promise<{ id: string; study_id: string; status: string }[]> {
  const rows = await prepared<{ id: string; study_id: string; status: string; next_channel: string | null }>(
    tx,
    `with o as materialized (
       select * from jsonb_to_recordset($1::jsonb) as o(id uuid, status text, reason text, last_error text,
         attempt_at timestamptz, attempted boolean, due_at timestamptz, target_date date, fallback text, gone boolean)),
     held as materialized (
       select n.id, n.visit_key, n.status as was, n.reason as was_reason, n.due_at as was_due,
         n.target_date as was_target from notifications n
       where n.id = any($2::uuid[]) and n.claimed_by = $3 for update skip locked),
     settled as (
       update notifications n set
         status = case when o.status = 'sent' or (n.status = 'pending' and n.due_at = o.due_at)
           then o.status else n.status end,
         reason = case when o.status = 'sent' or (n.status = 'pending' and n.due_at = o.due_at)
           then o.reason else n.reason end,
         last_error = coalesce(o.last_error, n.last_error),
         attempts = n.attempts + o.attempted::integer,
         sent_at = case when o.status = 'sent' then clock_timestamp() end,
         attempt_at = case when n.due_at = o.due_at and o.attempt_at is not null
           then o.attempt_at when n.claimed_until = n.attempt_at then n.due_at else n.attempt_at end,
         due_at = case when m.moved then o.due_at else n.due_at end,
         target_date = case when m.moved then o.target_date else n.target_date end,
         of_visit_key = case when m.moved then n.visit_key else n.of_visit_key end,
         visit_key = case when m.moved then null else n.visit_key end,
         claimed_by = null, claimed_until = null
       from o join held on held.id = o.id
         cross join lateral (select coalesce(o.status = 'sent' and held.visit_key is not null
           and o.target_date <> held.was_target, false) as moved) m
       where n.id = any($2::uuid[]) and n.id = o.id
       returning n.*, o.gone, o.fallback as next_channel, n.status = o.status and n.due_at = o.due_at as holds, m.moved,
         held.was, held.was_reason, held.was_due, held.was_target),
     dead as (${DEAD} from settled where gone and channel in ('email', 'sms') on conflict do nothing),
     planned as (
       insert into notifications (study_id, participant_id, visit_id, visit_key, kind, channel, days_before,
         target_date, due_at, attempt_at, status, reason, fallback_of)
       select study_id, participant_id, visit_id, of_visit_key, kind, channel, days_before, was_target, was_due,
         was_due, was, was_reason, fallback_of from settled where moved
       on conflict (visit_key, kind, channel, days_before) where visit_key is not null do nothing)
     select id, study_id, status, case when holds then next_channel end as next_channel from settled`,
    [JSON.stringify(settlements), settlements.map(({ id }) => id), by],
  );
  for (const { id, next_channel } of rows) if (next_channel !== null) await insertInstead(tx, id, next_channel);
  return rows;
}

/** Those of these reminders that a worker still has claimed. */
export const claimedOf = (tx: Tx, ids: readonly string[], by: string): Promise<string[]> =>
  tx('notifications')
    .whereRaw('id = any(?)', [[...ids]])
    .where({ claimed_by: by })
    .pluck('id');

/** Sets the lateness limit for the database's planning to that of this process. */
export async function keepLatenessLimit(database: Database, hours: number): Promise<void> {
  await database('reminder_limits')
    .where('max_lateness', '<>', database.raw(`? * interval '1 hour'`, [hours]))
    .update({ max_lateness: database.raw(`? * interval '1 hour'`, [hours]) });
}

/** Reasons of reminders that were not sent for the status of their study. */
const OF_THE_STUDY = ['study_draft', 'study_paused', 'study_completed', 'study_archived'];

/**
 * A study is active (again): reminders that came due meanwhile, and are not too late yet, are decided again. Older ones
 * stay as they are, with their reason.
 */
export async function resumeReminders(tx: Tx, studyId: string): Promise<void> {
  await prepared(
    tx,
    `update notifications n set status = 'pending', reason = null, attempt_at = n.due_at from reminder_limits l
      where n.study_id = $1 and n.visit_key is not null and n.status in ('suppressed', 'cancelled')
        and n.reason = any($2) and n.due_at > clock_timestamp() - l.max_lateness`,
    [studyId, OF_THE_STUDY],
  );
}

/** Stops reminders of superseded visits without a successor in a newer version. */
export const stopSupersededStatement = (participantIds: readonly string[]): Statement => ({
  sql: `update notifications n set status = 'cancelled', reason = v.status
     from scheduled_visits v where n.participant_id = any($1::uuid[]) and n.visit_key is not null
       and n.status = 'pending' and v.id = n.visit_id and v.status = 'superseded'`,
  values: [participantIds],
});

/** Deletes a device token that its gateway no longer knows. */
export async function forgetPushToken(tx: Tx, participantId: string, token: string): Promise<void> {
  await tx('push_tokens').where({ participant_id: participantId, token }).delete();
}

export interface ExplainedReminder extends ReminderRow {
  reason: string | null;
  sent_at: string | null;
  last_error: string | null;
  attempt_at: string | null;
  fallback_of: string | null;
  delivery_status: string | null;
}

/** A participant's visit reminders with the facts that explain them, newest first. */
export async function remindersOfParticipant(
  tx: Tx,
  participantId: string,
  limit: number,
): Promise<ExplainedReminder[]> {
  return prepared<ExplainedReminder>(
    tx,
    `select n.reason, n.sent_at, n.last_error, n.attempt_at, n.fallback_of, n.delivery_status, ${FACTS}
     where n.participant_id = $1 and n.kind in ('visit_reminder', 'visit_missed') order by n.due_at desc, n.id
       limit $2`,
    [participantId, limit],
  );
}

/** All reminders of a visit, in any schedule version. */
export async function remindersOfVisit(tx: Tx, visitId: string): Promise<ExplainedReminder[]> {
  return prepared<ExplainedReminder>(
    tx,
    `select n.reason, n.sent_at, n.last_error, n.attempt_at, n.fallback_of, n.delivery_status, ${FACTS}
     join scheduled_visits w on w.id = $1
     where n.participant_id = w.participant_id and n.kind in ('visit_reminder', 'visit_missed')
       and coalesce(n.visit_key, n.of_visit_key, o.visit_key) = w.visit_key
     order by n.due_at, n.id`,
    [visitId],
  );
}
