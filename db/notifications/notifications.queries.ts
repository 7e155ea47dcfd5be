import { Notification } from '../models/messages.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

const COLUMNS = `n.id, n.study_id, n.participant_id, p.participant_code, n.caregiver_id, n.user_id, n.visit_id, n.kind,
  n.channel, n.status, n.days_before, n.due_at, n.sent_at, n.attempts, n.last_error, n.reason,
  case when n.status = 'pending' and n.attempts > 0 then n.attempt_at end as next_attempt_at, n.delivery_status,
    n.resend_of, n.fallback_of, n.created_at`;

type Channel = 'email' | 'sms' | 'push';
export interface NotificationRecord {
  id: string;
  study_id: string | null;
  participant_id: string | null;
  participant_code: string | null;
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
/** The reader: messages without a participant are visible to their recipient and to admins. */
export interface NotificationReader {
  id: string;
  isAdmin: boolean;
}

/** Notifications of visible participants and caregivers (isolation by site holds through them). */
const visible = (tx: Tx, reader: NotificationReader) =>
  tx('notifications as n')
    .leftJoin('participants as p', 'p.id', 'n.participant_id')
    .whereRaw(
      `(p.id is not null or exists (select from caregivers c where c.id = n.caregiver_id)
        or (n.participant_id is null and n.caregiver_id is null and (n.user_id = ? or ?::boolean)))`,
      [reader.id, reader.isAdmin],
    );

export function listNotifications(
  tx: Tx,
  filter: NotificationFilter,
  reader: NotificationReader,
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
  reader: NotificationReader,
  lock = false,
): Promise<NotificationRecord | undefined> {
  if (lock) await tx('notifications').where({ id }).forUpdate().select('id');
  return visible(tx, reader).where('n.id', id).first(tx.raw(COLUMNS)) as Promise<NotificationRecord | undefined>;
}

/** Whether a worker is sending it now. */
export async function isBeingSent(tx: Tx, id: string): Promise<boolean> {
  return (
    (await tx('notifications').where({ id }).where('claimed_until', '>', tx.raw('clock_timestamp()')).first('id')) !==
    undefined
  );
}

export async function cancelNotification(tx: Tx, id: string): Promise<void> {
  await Notification.query(tx).findById(id).patch({ status: 'cancelled', reason: 'cancelled_by_staff', draft: null });
}

/** Copies a message to be sent again at once. @returns the new one's id */
export async function insertResend(tx: Tx, id: string): Promise<string> {
  const rows = await query<{ id: string }>(
    tx,
    `insert into notifications (study_id, participant_id, caregiver_id, user_id, visit_id, subject_id, kind, channel,
      days_before, resend_of)
     select study_id, participant_id, caregiver_id, user_id, visit_id, subject_id, kind, channel, days_before, id
       from notifications where id = $1 returning id`,
    [id],
  );
  return rows[0]!.id;
}

/** Inserts a message with custom text, to a given address. @returns its id */
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

interface KeptToken {
  id: string;
  platform: string;
  created_at: string;
}
/**
 * Stores a device's token; one that participant and caregiver share stays the participant's. @returns whether it is new
 */
export async function keepPushToken(
  tx: Tx,
  device: {
    study_id: string | null;
    participant_id: string | null;
    user_id: string | null;
    caregiver_id: string | null;
    via_portal: boolean;
    platform: string;
    token: string;
  },
): Promise<KeptToken & { isNew: boolean; dropped: number }> {
  const owner = device.participant_id === null ? 'user_id' : 'participant_id';
  const { caregiver_id } = device;
  const [inserted] = (await tx('push_tokens')
    .insert(device)
    .onConflict()
    .ignore()
    .returning(['id', 'platform', 'created_at'])) as KeptToken[];
  if (inserted)
    return { ...inserted, isNew: true, dropped: await dropOldTokens(tx, { [owner]: device[owner], caregiver_id }) };
  const [row] = (await tx('push_tokens')
    .where({ [owner]: device[owner], token: device.token })
    // If a caregiver stores it again its owner stays; a participant becomes its owner.
    .update({ platform: device.platform, ...(caregiver_id === null && { caregiver_id }) })
    .returning(['id', 'platform', 'created_at'])) as KeptToken[];
  return { ...row!, isNew: false, dropped: 0 };
}

/** More devices than a person has: each message goes to all of them. */
const MAX_DEVICES = 20;

/** Deletes a person's oldest devices beyond the most. @returns how many */
async function dropOldTokens(tx: Tx, holder: Record<string, string | null>): Promise<number> {
  const newest = tx('push_tokens')
    .where(holder)
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(MAX_DEVICES)
    .select('id');
  return tx('push_tokens').where(holder).whereNotIn('id', newest).delete();
}

/** Channels that a participant opted out of. */
export async function optOutsOf(tx: Tx, participantId: string): Promise<string[]> {
  return tx('notification_opt_outs').where({ participant_id: participantId }).pluck('channel');
}

/** @returns whether it is a new opt-out; undefined: no such participant */
export async function optOut(
  tx: Tx,
  participantId: string,
  channel: string,
  source: 'portal' | 'link',
): Promise<{ study_id: string; isNew: boolean } | undefined> {
  const rows = await query<{ study_id: string; isNew: boolean }>(
    tx,
    `with p as (select id, study_id from participants where id = $1),
     o as (insert into notification_opt_outs (participant_id, channel, study_id, source) select id, $2, study_id, $3
       from p on conflict do nothing returning 1)
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
 * Stores the delivery report of a message that is sent, or is being sent: a gateway may be faster with its report than
 * its answer is noted here. @returns the message, and the report `before`; undefined: there is no such message
 */
export async function keepDeliveryReport(
  tx: Tx,
  id: string,
  report: { status: 'delivered' | 'undelivered'; error: string | null },
): Promise<ReportedMessage | undefined> {
  const rows = await query<ReportedMessage>(
    tx,
    `update notifications n set delivery_status = $1, last_error = coalesce($2, n.last_error)
      from (select id, delivery_status from notifications where id = $3 and status in ('sent', 'pending') for update) b
     where n.id = b.id returning n.study_id, n.channel, n.visit_key, b.delivery_status as before,
       (select coalesce(s.config -> 'notifications', '{}') from studies s where s.id = n.study_id) as settings`,
    [report.status, report.error, id],
  );
  return rows[0];
}
