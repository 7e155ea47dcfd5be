import type { Static } from 'typebox';
import { nowIso } from '../../db/client/clock.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import {
  cancelNotification,
  insertDraft,
  insertResend,
  isBeingSent,
  keepPushToken,
  notificationById,
} from '../../db/notifications/notifications.queries.js';
import type { NotificationRecord } from '../../db/notifications/notifications.queries.js';
import { isKnownRecipient } from '../../db/identity/quotas.queries.js';
import { reminderById, remindersOfVisit } from '../../db/notifications/reminders.queries.js';
import { siteById } from '../../db/studies/sites.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { whyNotAgain } from '../../workflows/domain/notifications/by-hand.js';
import { explain, explainNone, reasonInWords } from '../../workflows/domain/notifications/explain.js';
import { OF_THE_CHANNEL } from '../../workflows/domain/notifications/fallback.js';
import { connectableHost, vapidPublicKey } from '../../settings.js';
import { captureUrlFault } from '../../workflows/domain/capture/addresses.js';
import { webSubscription, webSubscriptionFault } from '../../workflows/domain/notifications/web-subscription.js';
import { settingsFaults } from '../../workflows/domain/notifications/settings.js';
import type { NotificationSettings } from '../../workflows/domain/notifications/settings.js';
import { placeholderValues } from '../../workflows/domain/notifications/values.js';
import { composeMessage, withSignature, wordsFor } from '../../workflows/domain/notifications/words.js';
import type { Actor, ParticipantCaller } from '../http/access.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { NewDevice, PreviewRequest } from './notifications.schemas.js';
import type { Dependencies } from '../dependencies.js';
import { getParticipantOrThrow as existingParticipant, lockForShare } from '../participants/participants.service.js';
import { requireLinkQuota, requireResendQuota } from '../identity/quotas.js';
import type { RequestScope } from '../http/state.js';
import { getVisitOrThrow } from '../scheduling/visits.service.js';
import { studyFacts, zoneOf } from '../../db/notifications/message-facts.queries.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

async function getNotificationOrThrow(tx: Tx, id: string, actor: Actor, lock = false): Promise<NotificationRecord> {
  const found = await notificationById(tx, id, actor, lock);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such notification.' });
  return found;
}

/**
 * Each reminder of a visit, in all its schedule versions: its status, its rule, and the reason.
 * @throws 404
 */
export async function explainVisit(tx: Tx, visitId: string, maxLatenessHours: number) {
  const visit = await getVisitOrThrow(tx, visitId);
  const now = nowIso();
  const rows = await remindersOfVisit(tx, visitId);
  const items = rows.map((row) => {
    const {
      id,
      participant_id,
      participant_code,
      kind,
      channel,
      status,
      days_before,
      due_at,
      sent_at,
      attempts,
      last_error,
      reason,
      resend_of,
      fallback_of,
    } = row;
    return {
      notification_id: id,
      participant_id,
      participant_code,
      visit_id: row.visit?.id ?? visit.id,
      kind,
      channel,
      status,
      days_before,
      target_date: row.target_date ?? row.visit?.target_date ?? null,
      due_at,
      sent_at,
      attempts,
      last_error,
      reason,
      next_attempt_at: status === 'pending' && attempts > 0 ? row.attempt_at : null,
      resend_of,
      fallback_of,
      ...explain(row, now, maxLatenessHours),
    };
  });
  return {
    visit_id: visit.id,
    visit_key: visit.visit_key,
    visit_status: visit.status,
    timezone: rows[0]?.zone ?? (await zoneOf(tx, visit.participant_id)),
    items,
    total: items.length,
    why_none:
      items.length > 0
        ? null
        : explainNone(visit, (await studyFacts<NotificationSettings>(tx, visit.study_id)).settings),
  };
}

/**
 * Sends a message again, at once, as a new notification.
 * @throws 404, 409 NOTIFICATION_PENDING for an unsent one, PARTICIPANT_WITHDRAWN, REMINDER_NOT_SENT, 429 QUOTA_EXCEEDED
 */
export async function resend(
  { tx, audit, actor, context }: RequestScope,
  settings: Dependencies['settings'],
  id: string,
): Promise<NotificationRecord> {
  const before = await getNotificationOrThrow(tx, id, actor, true);
  if (before.status === 'pending') throw problem('NOTIFICATION_PENDING');
  if (before.kind.startsWith('test_'))
    throw problem('NOTIFICATION_SETTLED', { detail: 'The words of a test message are not kept: send another.' });
  if (before.participant_id !== null && (await existingParticipant(tx, before.participant_id)).status === 'withdrawn')
    throw problem('PARTICIPANT_WITHDRAWN');
  await requireReason(tx, before);
  const { participant_id, caregiver_id, user_id } = before;
  const to = participant_id ? { participant_id } : caregiver_id ? { caregiver_id } : { user_id: user_id! };
  if (before.kind === 'magic_link') await requireLinkQuota(tx, settings, to);
  await requireResendQuota(tx, settings, to);
  const again = await insertResend(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'notification_resent',
    resource_type: 'notification',
    resource_id: again,
    metadata: { resend_of: id, kind: before.kind, channel: before.channel },
  });
  await putOutbox(tx, [{ topic: 'notification', studyId: before.study_id, subject: again }]);
  return getNotificationOrThrow(tx, again, actor);
}

/**
 * A reminder of a visit that is done, or of a study that has ended or is paused, is not sent by hand. What concerns the
 * channel alone is its notification's outcome. @throws 409 REMINDER_NOT_SENT
 */
async function requireReason(tx: Tx, { id, kind }: NotificationRecord): Promise<void> {
  if (kind !== 'visit_reminder' && kind !== 'visit_missed') return;
  const row = await reminderById(tx, id);
  const not = row ? whyNotAgain(row, nowIso()) : null;
  if (not && !OF_THE_CHANNEL.includes(not.reason))
    throw problem('REMINDER_NOT_SENT', { detail: `No reminder is sent: ${reasonInWords(not.reason)}.` });
}

/** Cancels an unsent message permanently. @throws 404, 409 NOTIFICATION_SETTLED, or NOTIFICATION_BEING_SENT */
export async function cancelPending(
  { tx, audit, actor, context }: RequestScope,
  id: string,
): Promise<NotificationRecord> {
  const before = await getNotificationOrThrow(tx, id, actor, true);
  if (before.status === 'cancelled' && before.reason === 'cancelled_by_staff') return before;
  if (before.status !== 'pending')
    throw problem('NOTIFICATION_SETTLED', { detail: `The notification is ${before.status}.` });
  if (await isBeingSent(tx, id)) throw problem('NOTIFICATION_BEING_SENT');
  await cancelNotification(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'notification_cancelled',
    resource_type: 'notification',
    resource_id: id,
    metadata: { kind: before.kind, channel: before.channel, due_at: before.due_at },
  });
  return getNotificationOrThrow(tx, id, actor);
}

/**
 * A message as the participant of a visit would get it now, by the study's templates or a draft.
 * @throws 404, 422
 */
export async function preview(tx: Tx, input: Static<typeof PreviewRequest>, settings: Dependencies['settings']) {
  const visit = await getVisitOrThrow(tx, input.visit_id);
  if (input.template) {
    const errors = settingsFaults({ languages: { en: { [input.kind]: input.template } } }).map((fault) => ({
      ...fault,
      path: fault.path.replace(`languages.en.${input.kind}`, 'template'),
      message: fault.message.replace(`languages.en.${input.kind}`, 'template'),
    }));
    if (errors.length > 0) throw problem('VALIDATION_FAILED', { detail: errors[0]!.message, errors });
  }
  const participant = await existingParticipant(tx, visit.participant_id);
  const study = await studyFacts<NotificationSettings>(tx, visit.study_id);
  const site = participant.site_id === null ? undefined : await siteById(tx, participant.site_id);
  const words = input.template
    ? { ...input.template, language: input.language ?? 'en', own: true }
    : wordsFor(input.kind, input.language ?? participant.preferred_language, study.settings);
  const base = (settings.PUBLIC_URL ?? `http://${connectableHost(settings.HOST)}:${settings.PORT}`).replace(/\/+$/, '');
  const zone = await zoneOf(tx, participant.id);
  const values = placeholderValues(
    {
      kind: input.kind,
      channel: input.channel ?? 'email',
      due_at: nowIso(),
      days_before: study.settings.days_before?.[0] ?? 1,
      visit,
      participant_status: participant.status,
      participant_code: participant.participant_code,
      preferred_language: participant.preferred_language,
      zone,
      // A preview judges no day.
      visit_zone: zone,
      email: null,
      phone: null,
      push_tokens: [],
      opted_out: false,
      address_dead: false,
      study_status: study.status,
      study_code: study.study_code,
      study_name: study.study_name,
      public_name: study.public_name,
      contact: study.contact,
      site_code: participant.site_code,
      site_name: site?.name ?? null,
      settings: study.settings,
    },
    { portal_url: `${base}/portal`, unsubscribe_url: `${base}/api/notifications/unsubscribe` },
    nowIso(),
    words.language,
  );
  const whole = (input.channel ?? 'email') === 'email' ? withSignature(words, values) : words;
  return { ...composeMessage(whole, values), language: words.language };
}

/**
 * Queues a message with custom text. It belongs to no study; address and text are deleted once it is sent. It goes to
 * the caller; an admin's may also go to any address that the service knows.
 * @returns the notification's id
 * @throws 403 RECIPIENT_NOT_ALLOWED
 */
export async function sendTest(
  { database }: Dependencies,
  actor: Actor,
  context: RequestContext,
  message: { channel: 'email' | 'sms'; to: string; subject: string; body: string },
): Promise<string> {
  return withStudyScope(database, '*', async ({ tx, audit }) => {
    const own = message.channel === 'email' && message.to.toLowerCase() === actor.email.toLowerCase();
    if (!own && !(actor.isAdmin && (await isKnownRecipient(tx, message.channel, message.to))))
      throw problem('RECIPIENT_NOT_ALLOWED', {
        errors: [{ path: 'recipient', code: 'RECIPIENT_NOT_ALLOWED', message: 'recipient is nobody you may write to' }],
      });
    const id = await insertDraft(tx, { ...message, userId: actor.id, kind: `test_${message.channel}` });
    audit.record({
      ...auditActor(actor, context),
      study_id: null,
      action: 'test_message_requested',
      resource_type: 'notification',
      resource_id: id,
      metadata: { channel: message.channel },
    });
    await putOutbox(tx, [{ topic: 'notification', studyId: null, subject: id }]);
    return id;
  });
}

/**
 * A browser's token is its subscription, as JSON, or a gateway token. @throws 422 for an invalid subscription, 400
 * PRIVATE_URL
 */
function requireToken({ platform, token }: Static<typeof NewDevice>, settings: Dependencies['settings']): void {
  if (platform !== 'web' || !token.startsWith('{')) return;
  const fault = webSubscriptionFault(token);
  if (fault)
    throw problem('VALIDATION_FAILED', {
      detail: `token ${fault}`,
      errors: [{ path: 'token', code: 'SUBSCRIPTION', message: `token ${fault}` }],
    });
  const unreachable = captureUrlFault(
    webSubscription(token)!.endpoint,
    settings.ALLOW_PRIVATE_URLS ?? !settings.production,
    'token.endpoint',
  );
  if (unreachable)
    throw problem('RULE_VIOLATED', {
      detail: `${unreachable}.`,
      errors: [{ path: 'token', code: 'PRIVATE_URL', message: unreachable }],
    });
}

/** The public key that a page needs to request its browser's subscription. @throws 404 */
export function webPushKey({ settings }: Dependencies): { public_key: string } {
  if (!settings.VAPID_PRIVATE_KEY)
    throw problem('NOT_FOUND', { detail: 'No key for push messages to browsers is set (VAPID_PRIVATE_KEY).' });
  return { public_key: vapidPublicKey(settings.VAPID_PRIVATE_KEY) };
}

/**
 * Registers a device for push messages: the participant's own, one of a participant named by staff, or the caller's.
 * @throws 404, 409 PARTICIPANT_WITHDRAWN
 */
export async function registerDevice(
  { tx, audit, actor, context }: Omit<RequestScope, 'actor'> & { actor: Actor | ParticipantCaller },
  input: Static<typeof NewDevice>,
  settings: Dependencies['settings'],
) {
  const own = actor.role === 'participant';
  if (own && input.participant_id && input.participant_id.toLowerCase() !== actor.id)
    throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  const participant = own
    ? await lockForShare(tx, actor.id)
    : input.participant_id
      ? await lockForShare(tx, input.participant_id)
      : undefined;
  if (participant?.status === 'withdrawn') throw problem('PARTICIPANT_WITHDRAWN');
  requireToken(input, settings);
  const device = await keepPushToken(tx, {
    study_id: participant?.study_id ?? null,
    participant_id: participant?.id ?? null,
    user_id: participant ? null : actor.id,
    caregiver_id: own ? (actor.caregiver?.id ?? null) : null,
    via_portal: own,
    platform: input.platform,
    token: input.token,
  });
  if (device.isNew) {
    audit.record({
      study_id: participant?.study_id ?? null,
      user_id: own ? null : actor.id,
      request_id: context.requestId,
      action: 'push_token_registered',
      resource_type: participant ? 'participant' : 'user',
      resource_id: participant?.id ?? actor.id,
      metadata: { platform: input.platform, ...(device.dropped > 0 && { dropped: device.dropped }) },
    });
  }
  return {
    device: {
      id: device.id,
      participant_id: participant?.id ?? null,
      platform: device.platform,
      created_at: device.created_at,
    },
    isNew: device.isNew,
  };
}
