import { listNotifications } from '../../db/notifications/notifications.queries.js';
import { anyone, withNote, portal, signedIn, staff, staffOrParticipant, outsideStudy } from '../http/access.js';
import { accepted, noContent, reply, route, withContentTag, response, rawBody } from '../http/route.js';
import type { FaultHandler } from '../http/route.js';
import { Type, Uuid, listOf, paging, sorting, text, record } from '../http/common.schemas.js';
import {
  Channel,
  DeliveryReport,
  Device,
  NewDevice,
  Notification,
  NotificationStatus,
  Preferences,
  PreferencesChange,
  MessagePreview,
  PreviewRequest,
  TestEmail,
  TestQueued,
  TestSms,
  VisitExplanation,
} from './notifications.schemas.js';
import { takeBounce } from './bounces.service.js';
import { deliveryReport } from './delivery-reports.service.js';
import {
  cancelPending,
  explainVisit,
  preview,
  registerDevice,
  resend,
  sendTest,
  webPushKey,
} from './notifications.service.js';
import { OPT_OUT_POLICY, brokenLinkPage } from './opt-out-page.js';
import { changePreferences, preferences, unsubscribe, unsubscribePage } from './opt-outs.service.js';

const tag = 'Notifications';
const Link = Type.Object({ token: text(400, 1) });
const testing =
  'It goes to the caller’s own address; an admin’s also to the addresses of users, participants and caregivers ' +
  '(else 403 RECIPIENT_NOT_ALLOWED). Counted at the rate of logins.';
const html = (content: string, status = 200) =>
  reply(status, content, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': OPT_OUT_POLICY,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  });

/** A person who follows the link of a message reads words; programs get the error. */
const onLinkFault: FaultHandler = ({ fault, headers, state }) =>
  headers.accept?.includes('text/html')
    ? html(brokenLinkPage(headers['accept-language'], fault.status === 404 || fault.status === 422), fault.status)
    : reply(fault.status, fault.body(state.context.requestId), { 'Content-Type': 'application/json; charset=utf-8' });

export const notificationRoutes = [
  route({
    method: 'GET',
    path: '/api/notifications',
    operationId: 'listNotifications',
    tag,
    summary: 'List notifications',
    access: staff.read,
    transaction: 'read',
    description:
      'Reminders and messages, planned and sent, with what became of each: a stopped one says why in `reason`. ' +
      'Messages to users are seen by these users and by admins.',
    query: Type.Object({
      ...paging,
      sort: sorting('due_at', 'created_at', 'sent_at'),
      study_id: Type.Optional(Uuid),
      participant_id: Type.Optional(Uuid),
      visit_id: Type.Optional(Uuid),
      kind: Type.Optional(text(40)),
      channel: Type.Optional(Channel),
      status: Type.Optional(NotificationStatus),
    }),
    responses: { 200: listOf(Notification) },
    handle: ({ tx, actor, query, studyId }) =>
      listNotifications(
        tx,
        {
          skip: query.skip ?? 0,
          limit: query.limit ?? 50,
          sort: query.sort ?? 'due_at',
          studyId,
          participantId: query.participant_id,
          visitId: query.visit_id,
          kind: query.kind,
          channel: query.channel,
          status: query.status,
        },
        actor,
      ),
  }),
  route({
    method: 'GET',
    path: '/api/visits/{visit_id}/notifications/explain',
    operationId: 'explainReminders',
    tag,
    summary: 'Explain the reminders of a visit',
    description: 'Each reminder of the visit: when it is due or was sent, and which rule keeps it from being sent.',
    access: staff.read,
    transaction: 'read',
    query: Type.Object(paging),
    responses: { 200: VisitExplanation },
    handle: async ({ tx, params, query: { skip = 0, limit = 50 }, services }) => {
      const all = await explainVisit(tx, params.visit_id, services.settings.REMINDER_MAX_LATENESS_HOURS);
      return { ...all, items: all.items.slice(skip, skip + limit) };
    },
  }),
  route({
    method: 'POST',
    path: '/api/notifications/{notification_id}/resend',
    operationId: 'resendNotification',
    tag,
    summary: 'Resend a notification now',
    access: staff.participants,
    transaction: 'change',
    description:
      'Sends the message again, as a notification of its own (`resend_of`). One that is still pending is 409 ' +
      'NOTIFICATION_PENDING; a reminder of what is not to do any more is 409 REMINDER_NOT_SENT.',
    responses: { 202: Notification, 409: undefined },
    handle: async ({ tx, audit, actor, context, services, params }) =>
      accepted(await resend({ tx, audit, actor, context }, services.settings, params.notification_id)),
  }),
  route({
    method: 'POST',
    path: '/api/notifications/{notification_id}/cancel',
    operationId: 'cancelNotification',
    tag,
    summary: 'Cancel a pending notification',
    access: staff.participants,
    transaction: 'change',
    description: 'Permanent: a visit that moves later does not restore it. Settled ones are 409 NOTIFICATION_SETTLED.',
    responses: { 200: Notification, 409: undefined },
    handle: ({ tx, audit, actor, context, params }) =>
      cancelPending({ tx, audit, actor, context }, params.notification_id),
  }),
  route({
    method: 'POST',
    path: '/api/notifications/preview',
    operationId: 'previewNotification',
    tag,
    summary: 'Preview a notification',
    access: staff.participants,
    transaction: 'read',
    description:
      'Answers subject and text as they would be sent, and sends nothing: by the study’s templates in the ' +
      'participant’s language, or by a `template` that is being written.',
    body: PreviewRequest,
    responses: { 200: MessagePreview },
    handle: ({ tx, body, services }) => preview(tx, body, services.settings),
  }),
  route({
    method: 'POST',
    path: '/api/notifications/register',
    operationId: 'registerDevice',
    tag,
    summary: 'Register a device for push messages',
    access: outsideStudy(staffOrParticipant(staff.participants)),
    transaction: 'change',
    description:
      'Of a participant: by its own portal token, or named by staff; without `participant_id` a user’s own. ' +
      'The same token again is 200. A browser (`web`) gives its `PushSubscription` as JSON text: it is reached ' +
      'by Web Push (RFC 8291, 8292).',
    body: NewDevice,
    responses: { 200: Device, 201: Device, 409: undefined },
    handle: async ({ tx, audit, actor, context, body, services }) => {
      const { device, isNew } = await registerDevice({ tx, audit, actor, context }, body, services.settings);
      return reply(isNew ? 201 : 200, device);
    },
  }),
  route({
    method: 'GET',
    path: '/api/notifications/web-push-key',
    operationId: 'getWebPushKey',
    tag,
    summary: 'Get the public key for web push (applicationServerKey)',
    description: 'What a browser needs to subscribe to push messages. 404 where no key is set.',
    access: anyone,
    responses: { 200: record('WebPushKey', { public_key: Type.String() }), 404: undefined },
    handle: async ({ services }) => webPushKey(services),
  }),
  route({
    method: 'POST',
    path: '/api/test/email',
    operationId: 'sendTestEmail',
    tag,
    summary: 'Send a test email',
    access: outsideStudy(withNote(signedIn, 'to oneself; an admin also to staff, participants and caregivers')),
    rateLimit: 'auth',
    description: testing,
    body: TestEmail,
    responses: { 202: TestQueued, 403: undefined },
    handle: async ({ services, actor, context, body }) =>
      accepted({
        status: 'queued',
        notification_id: await sendTest(services, actor, context, {
          channel: 'email',
          to: body.recipient,
          subject: body.subject,
          body: body.body,
        }),
      }),
  }),
  route({
    method: 'POST',
    path: '/api/test/sms',
    operationId: 'sendTestSms',
    tag,
    summary: 'Send a test text message',
    access: outsideStudy(withNote(signedIn, 'an admin, to participants and caregivers')),
    rateLimit: 'auth',
    description:
      'It goes to the phone of a participant or caregiver, and only an admin sends it (else 403 ' +
      'RECIPIENT_NOT_ALLOWED). Counted at the rate of logins.',
    body: TestSms,
    responses: { 202: TestQueued, 403: undefined },
    handle: async ({ services, actor, context, body }) =>
      accepted({
        status: 'queued',
        notification_id: await sendTest(services, actor, context, {
          channel: 'sms',
          to: body.recipient,
          subject: '',
          body: body.body,
        }),
      }),
  }),
  route({
    method: 'GET',
    path: '/api/notifications/unsubscribe',
    operationId: 'showUnsubscribePage',
    tag,
    summary: 'Show the unsubscribe page',
    description:
      'The page that the link of a message opens. It changes nothing: its button does. A link that is not ' +
      'valid is 404.',
    access: anyone,
    query: Link,
    responses: { 200: response(undefined, { mediaTypes: ['text/html'] }), 404: undefined },
    onFault: onLinkFault,
    handle: async ({ services, query }) => html(await unsubscribePage(services, query.token)),
  }),
  route({
    method: 'POST',
    path: '/api/notifications/unsubscribe',
    operationId: 'unsubscribe',
    tag,
    summary: 'Unsubscribe from a channel',
    access: anyone,
    body: rawBody(),
    query: Link,
    responses: { 200: response(undefined, { mediaTypes: ['text/html'] }), 404: undefined },
    description:
      'The person gets no more messages of the study on this channel. One click is enough for mail programs ' +
      '(RFC 8058); a second one changes nothing. A link that is not valid is 404.',
    onFault: onLinkFault,
    handle: async ({ services, query, context }) => html(await unsubscribe(services, query.token, context)),
  }),
  route({
    method: 'POST',
    path: '/api/notifications/{notification_id}/delivery-report',
    operationId: 'reportDelivery',
    tag,
    summary: 'Report the delivery status of a message',
    access: anyone,
    query: Link,
    body: DeliveryReport,
    responses: { 204: undefined, 404: undefined },
    description:
      'The address, with its token, is given to the gateway with the message (`status_callback`). A reminder ' +
      'that did not arrive is sent on the channel that the study names instead (`fallback`).',
    handle: async ({ services, params, query, body }) => {
      await deliveryReport(services, params.notification_id, query.token, body);
      return noContent();
    },
  }),
  route({
    method: 'POST',
    path: '/api/notifications/bounces',
    operationId: 'reportBounce',
    tag,
    summary: 'Report a bounced mail',
    access: anyone,
    body: rawBody('message/rfc822'),
    responses: { 204: undefined, 404: undefined, 422: undefined },
    description:
      'The whole mail, a delivery status notification (RFC 3464), as the mail server that MAIL_FROM names ' +
      'hands it on (`curl --data-binary @- -H "Content-Type: message/rfc822"`). It is known by a signed header ' +
      'of the mail that it returns. Where the mailbox is not there (5.1.x) no more reminders go to it until ' +
      'the address is changed; any other mail is 422 NO_DELIVERY_REPORT. At most 64 KiB: return the headers of ' +
      'the mail, not all of it.',
    handle: async ({ services, raw }) => {
      await takeBounce(services, raw);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/portal/preferences',
    operationId: 'getMessagePreferences',
    tag: 'Portal',
    summary: 'Get message preferences',
    description: 'On which channels the participant or caregiver takes messages.',
    access: outsideStudy(portal),
    transaction: 'read',
    responses: { 200: response(Preferences, { etag: true }) },
    handle: async ({ tx, actor }) => withContentTag({ ...(await preferences(tx, actor.id)) }),
  }),
  route({
    method: 'PATCH',
    path: '/api/portal/preferences',
    operationId: 'updateMessagePreferences',
    tag: 'Portal',
    summary: 'Change message preferences',
    description:
      'Only the channels that are given change. A channel that is off is not used for messages of the study.',
    access: outsideStudy(portal),
    transaction: 'change',
    body: PreferencesChange,
    responses: { 200: response(Preferences, { etag: true }) },
    handle: async ({ tx, audit, actor, context, body, assertIfMatch }) =>
      withContentTag({ ...(await changePreferences({ tx, audit, actor, context }, body, assertIfMatch)) }),
  }),
];
