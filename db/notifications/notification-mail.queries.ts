import { raw } from 'objection';
import { Notification } from '../models/messages.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface OverrideDetails {
  override_request_id: string;
  previous: string;
  wanted: string;
  expires: string;
  asked_by: string;
  reason: string | null;
  status: string;
  /** Null: nobody decided it; it timed out or the participant withdrew. */
  decided_by: string | null;
  decision_reason: string | null;
  moving: { name: string; from: string; to: string }[];
}

/** A failed sync. Instants are formatted for people, in UTC. */
export interface SyncFailure {
  code: string | null;
  at: string;
  /** When the last complete one ended; null: none has. */
  last_completed: string | null;
  /** Whether one has been completed since. */
  over: boolean;
}

/** A notification with the facts for its text. */
export interface NotificationToSend {
  id: string;
  kind: string;
  channel: 'email' | 'sms' | 'push';
  status: string;
  created_at: string;
  study_id: string | null;
  participant_id: string | null;
  user_id: string | null;
  study_code: string;
  study_name: string;
  site_code: string | null;
  site_name: string | null;
  /** `config.public_name`, `config.contact` and `config.notifications` of the study. */
  public_name: unknown;
  contact: unknown;
  words: unknown;
  /** The participant, or all enrolled participants of its caregiver; null: none. */
  participant_code: string | null;
  participant_status: string | null;
  caregiver_status: string | null;
  preferred_language: string | null;
  email: string | null;
  phone: string | null;
  override: OverrideDetails | null;
  sync: SyncFailure | null;
  draft: { to: string; subject: string; body: string } | null;
}

export async function notificationToSend(tx: Tx, id: string): Promise<NotificationToSend | undefined> {
  const rows = await query<NotificationToSend>(
    tx,
    `select n.id, n.kind, n.channel, n.status, n.created_at, n.study_id, n.participant_id, n.user_id, n.draft,
      s.study_code, s.study_name,
      w.site_codes as site_code, w.site_names as site_name, s.config -> 'public_name' as public_name,
      s.config -> 'contact' as contact, s.config -> 'notifications' as words,
         w.codes as participant_code, p.status as participant_status, c.status as caregiver_status,
           coalesce(p.preferred_language, c.preferred_language) as preferred_language,
           coalesce(u.email, p.email, c.email) as email, coalesce(p.phone, c.phone) as phone,
         case when o.id is not null then jsonb_build_object('previous', o.previous_enrollment_date, 'wanted',
           o.new_enrollment_date, 'expires', to_char(o.expires_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
           'override_request_id', o.id,
           'asked_by', (select a.name from users a where a.id = o.requested_by_id), 'reason', o.reason,
           'status', o.status, 'decision_reason', o.decision_reason,
           'decided_by', (select d.name from users d where d.id = o.decided_by_id),
           'moving', coalesce((select jsonb_agg(jsonb_build_object('name', v->'name', 'from', v->'from', 'to', v->'to')
             order by v->>'from', v->>'name') from jsonb_array_elements(o.impact->'visits') v
             where v->>'action' = 'move'), '[]')) end as override,
         case when y.id is not null
           then jsonb_build_object('code', y.error_code, 'at',
           to_char(y.finished_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
           'last_completed', to_char(l.finished_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), 'over',
             coalesce(l.finished_at > y.finished_at, false)) end as sync
       from notifications n left join studies s on s.id = n.study_id left join participants p on p.id = n.participant_id
       left join users u on u.id = n.user_id left join caregivers c on c.id = n.caregiver_id
         left join override_requests o on o.id = n.subject_id
       left join datacapture_syncs y on y.id = n.subject_id and n.kind = 'sync_failed'
       left join lateral (select max(c.finished_at) as finished_at from datacapture_syncs c
         where c.study_id = y.study_id and c.status = 'completed') l on true
       left join lateral (
         select string_agg(x.participant_code, ', ' order by x.participant_code) as codes,
           string_agg(distinct t.site_code, ', ') as site_codes, string_agg(distinct t.name, ', ') as site_names
         from participants x left join sites t on t.id = x.site_id
         where x.id = any (case when n.caregiver_id is null
           then array[n.participant_id] else array(select k.participant_id from caregiver_participants k
           where k.caregiver_id = n.caregiver_id) end)
           and (n.caregiver_id is null or x.status = 'enrolled')) w on true where n.id = $1`,
    [id],
  );
  return rows[0];
}

/**
 * Marks a pending notification as being sent, for at most so long: meanwhile nobody can cancel it.
 * @returns false: it was stopped
 */
export async function claimToSend(tx: Tx, id: string, seconds: number): Promise<boolean> {
  const claimed = await Notification.query(tx)
    .findById(id)
    .where({ status: 'pending' })
    .patch({ claimed_until: raw(`clock_timestamp() + ? * interval '1 second'`, [seconds]) });
  return claimed > 0;
}

/**
 * Stores the result of a notification; its draft is deleted.
 * @param targetDate the date of the visit that a reminder named
 */
export async function noteOutcome(
  tx: Tx,
  id: string,
  status: 'sent' | 'failed' | 'cancelled' | 'suppressed',
  reason: string | null,
  targetDate?: string,
): Promise<void> {
  await Notification.query(tx)
    .findById(id)
    .where({ status: 'pending' })
    .patch({
      status,
      reason,
      attempts: raw('attempts + 1'),
      draft: null,
      claimed_until: null,
      sent_at: status === 'sent' ? raw('clock_timestamp()') : null,
      ...(status === 'failed' && { last_error: reason }),
      ...(targetDate !== undefined && { target_date: targetDate }),
    });
}

/** Notes an attempt that the provider did not take; the message stays pending and is tried again. */
export async function noteAttempt(tx: Tx, id: string, code: string): Promise<void> {
  await Notification.query(tx)
    .findById(id)
    .where({ status: 'pending' })
    .patch({ attempts: raw('attempts + 1'), last_error: code.slice(0, 500), claimed_until: null });
}
