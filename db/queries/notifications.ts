import type { Tx } from '../knex.js';
import { page } from './paging.js';
import type { Listed, Page } from './paging.js';

const COLUMNS = `n.id, n.study_id, n.participant_id, n.caregiver_id, n.user_id, n.visit_id, n.kind, n.channel, n.status, n.days_before, n.due_at, n.sent_at, n.attempts, n.last_error, n.reason,
  case when n.status = 'pending' and n.attempts > 0 then n.attempt_at end as next_attempt_at, n.delivery_status, n.resend_of, n.fallback_of, n.created_at`;

type Channel = 'email' | 'sms' | 'push';
export interface NotificationRecord {
  id: string;
  study_id: string | null;
  participant_id: string | null;
  caregiver_id: string | null;
  user_id: string | null;
  visit_id: string | null;
  kind: string;
  channel: 'email' | 'sms' | 'push';
  status: 'pending' | 'sent' | 'failed' | 'cancelled' | 'suppressed';
  days_before: number | null;
  due_at: string;
  sent_at: string | null;
  attempts: number;
  last_error: string | null;
  reason: string | null;
  next_attempt_at: string | null;
  delivery_status: string | null;
  resend_of: string | null;
  fallback_of: string | null;
  created_at: string;
}
export interface NotificationFilter extends Page {
  studyId?: string | undefined;
  participantId?: string | undefined;
  visitId?: string | undefined;
  kind?: string | undefined;
  channel?: string | undefined;
  status?: string | undefined;
}
/** Who reads: messages of no participant are seen by whom they are for, and by admins. */
export interface Reader {
  id: string;
  isAdmin: boolean;
}

/** Notifications of the participants and caregivers that the caller may see (isolation by site holds through them). */
const visible = (tx: Tx, reader: Reader) =>
  tx('notifications as n')
    .leftJoin('participants as p', 'p.id', 'n.participant_id')
    .whereRaw(
      '(p.id is not null or exists (select from caregivers c where c.id = n.caregiver_id) or (n.participant_id is null and n.caregiver_id is null and (n.user_id = ? or ?::boolean)))',
      [reader.id, reader.isAdmin],
    );

export function listNotifications(
  tx: Tx,
  filter: NotificationFilter,
  reader: Reader,
): Promise<Listed<NotificationRecord>> {
  const found = visible(tx, reader).modify((q) => {
    if (filter.studyId) q.where('n.study_id', filter.studyId);
    if (filter.participantId) q.where('n.participant_id', filter.participantId);
    if (filter.visitId) q.where('n.visit_id', filter.visitId);
    if (filter.kind) q.where('n.kind', filter.kind);
    if (filter.channel) q.where('n.channel', filter.channel);
    if (filter.status) q.where('n.status', filter.status);
  });
  return page(
    tx,
    found,
    COLUMNS,
    filter,
    { due_at: 'n.due_at', created_at: 'n.created_at', sent_at: 'n.sent_at' },
    'n.id',
  );
}

export async function notificationById(
  tx: Tx,
  id: string,
  reader: Reader,
  lock = false,
): Promise<NotificationRecord | undefined> {
  if (lock) await tx.raw('select 1 from notifications where id = ? for update', [id]);
  return visible(tx, reader).where('n.id', id).first(tx.raw(COLUMNS)) as Promise<NotificationRecord | undefined>;
}

/** Whether a worker is sending it at this moment. */
export async function isBeingSent(tx: Tx, id: string): Promise<boolean> {
  return (
    await tx.raw('select coalesce(claimed_until > clock_timestamp(), false) as held from notifications where id = ?', [
      id,
    ])
  ).rows[0].held;
}

export async function cancelNotification(tx: Tx, id: string): Promise<void> {
  await tx.raw(
    `update notifications set status = 'cancelled', reason = 'cancelled_by_staff', draft = null where id = ?`,
    [id],
  );
}

/** The same message once more, to be sent at once. @returns the new one's id */
export async function insertResend(tx: Tx, id: string): Promise<string> {
  const { rows } = await tx.raw(
    `insert into notifications (study_id, participant_id, caregiver_id, user_id, visit_id, subject_id, kind, channel, days_before, resend_of)
     select study_id, participant_id, caregiver_id, user_id, visit_id, subject_id, kind, channel, days_before, id from notifications where id = ? returning id`,
    [id],
  );
  return rows[0].id;
}

/** A message with words of its own, to an address of its own. @returns its id */
export async function insertDraft(
  tx: Tx,
  draft: { userId: string; kind: string; channel: 'email' | 'sms'; to: string; subject: string; body: string },
): Promise<string> {
  const [row] = (await tx('notifications')
    .insert({
      user_id: draft.userId,
      kind: draft.kind,
      channel: draft.channel,
      draft: JSON.stringify({ to: draft.to, subject: draft.subject, body: draft.body }),
    })
    .returning('id')) as [{ id: string }];
  return row.id;
}

/**
 * Keeps a device's token; one that participant and caregiver share stays the participant's. @returns whether it is new
 */
export async function keepPushToken(
  tx: Tx,
  device: {
    study_id: string | null;
    participant_id: string | null;
    user_id: string | null;
    caregiver_id: string | null;
    platform: string;
    token: string;
  },
): Promise<{ id: string; platform: string; created_at: string; isNew: boolean }> {
  const owner = device.participant_id === null ? 'user_id' : 'participant_id';
  const inserted = await tx.raw(
    `insert into push_tokens (study_id, participant_id, user_id, caregiver_id, platform, token) values (?, ?, ?, ?, ?, ?) on conflict do nothing returning id, platform, created_at`,
    [device.study_id, device.participant_id, device.user_id, device.caregiver_id, device.platform, device.token],
  );
  if (inserted.rows[0]) return { ...inserted.rows[0], isNew: true };
  const { rows } = await tx.raw(
    `update push_tokens set platform = ?, caregiver_id = case when ?::uuid is not null then caregiver_id end where ${owner} = ? and token = ? returning id, platform, created_at`,
    [device.platform, device.caregiver_id, device[owner], device.token],
  );
  return { ...rows[0], isNew: false };
}

/** Channels that a participant does not want messages on. */
export async function optOutsOf(tx: Tx, participantId: string): Promise<string[]> {
  return tx('notification_opt_outs').where({ participant_id: participantId }).pluck('channel');
}

/** @returns whether it was not said before; undefined: there is no such participant */
export async function optOut(
  tx: Tx,
  participantId: string,
  channel: string,
  source: 'portal' | 'link',
): Promise<{ study_id: string; isNew: boolean } | undefined> {
  const { rows } = await tx.raw(
    `with p as (select id, study_id from participants where id = ?),
     o as (insert into notification_opt_outs (participant_id, channel, study_id, source) select id, ?, study_id, ? from p on conflict do nothing returning 1)
     select study_id, exists (select from o) as "isNew" from p`,
    [participantId, channel, source],
  );
  return rows[0];
}

export async function optIn(tx: Tx, participantId: string, channel: string): Promise<boolean> {
  return (await tx('notification_opt_outs').where({ participant_id: participantId, channel }).delete()) > 0;
}

export interface ReportedMessage {
  study_id: string | null;
  channel: Channel;
  visit_key: string | null;
  before: string | null;
  settings: unknown;
}

/**
 * What is said to have become of a message that was sent. @returns the message, and what was said `before`; undefined:
 * no such message was sent
 */
export async function keepDeliveryReport(
  tx: Tx,
  id: string,
  report: { status: 'delivered' | 'undelivered'; error: string | null },
): Promise<ReportedMessage | undefined> {
  const { rows } = await tx.raw(
    `update notifications n set delivery_status = ?, last_error = coalesce(?, n.last_error) from (select id, delivery_status from notifications where id = ? and status = 'sent' for update) b
     where n.id = b.id returning n.study_id, n.channel, n.visit_key, b.delivery_status as before, (select coalesce(s.config -> 'notifications', '{}') from studies s where s.id = n.study_id) as settings`,
    [report.status, report.error, id],
  );
  return rows[0];
}
