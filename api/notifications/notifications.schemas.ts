import { MessageTemplate } from '../../workflows/domain/notifications/settings.js';
import {
  Email,
  Instant,
  IsoDate,
  Language,
  Type,
  Uuid,
  nullable,
  oneOf,
  text,
  named,
  record,
  input,
} from '../http/common.schemas.js';
import { WORDED } from '../../workflows/domain/notifications/message-words.js';

export const Channel = named('NotificationChannel', oneOf('email', 'sms', 'push'));
export const NotificationStatus = named(
  'NotificationStatus',
  oneOf('pending', 'sent', 'failed', 'cancelled', 'suppressed'),
);
const fields = {
  id: Uuid,
  study_id: nullable(Uuid),
  participant_id: nullable(Uuid),
  participant_code: nullable(Type.String()),
  caregiver_id: nullable(Uuid),
  user_id: nullable(Uuid),
  visit_id: nullable(Uuid),
  kind: Type.String(),
  channel: Channel,
  status: NotificationStatus,
  days_before: nullable(Type.Integer({ description: 'the rule of a visit_reminder' })),
  due_at: Instant,
  sent_at: nullable(Instant),
  attempts: Type.Integer(),
  last_error: nullable(Type.String()),
  reason: nullable(Type.String({ description: 'why it was stopped' })),
  next_attempt_at: nullable(Instant),
  delivery_status: nullable(oneOf('delivered', 'undelivered')),
  resend_of: nullable(Uuid),
  fallback_of: nullable(Uuid),
  created_at: Instant,
};
export const Notification = named('Notification', Type.Object(fields));
const {
  id: _id,
  study_id: _study,
  caregiver_id: _caregiver,
  user_id: _user,
  delivery_status: _delivery,
  created_at: _created,
  ...explained
} = fields;
export const ExplainedNotification = record('NotificationExplained', {
  notification_id: Uuid,
  ...explained,
  outcome: oneOf('sent', 'will_be_sent', 'will_not_be_sent', 'failed'),
  rule: Type.String(),
  target_date: nullable(IsoDate),
  due_local: Type.String({ description: 'on the participant’s clock' }),
  why: Type.String(),
});
export const VisitExplanation = record('ReminderExplanation', {
  visit_id: Uuid,
  visit_key: Uuid,
  visit_status: Type.String(),
  timezone: Type.String(),
  items: Type.Array(ExplainedNotification),
  total: Type.Integer(),
  why_none: nullable(Type.String({ description: 'where there are no items: why' })),
});

export const NewDevice = input('DeviceRegister', {
  participant_id: Type.Optional(nullable(Uuid)),
  platform: oneOf('ios', 'android', 'web'),
  token: text(4096, 1),
});
export const Device = named(
  'Device',
  Type.Object(
    { id: Uuid, participant_id: nullable(Uuid), platform: oneOf('ios', 'android', 'web'), created_at: Instant },
    { additionalProperties: false },
  ),
);

export const TestEmail = input('TestEmail', { recipient: Email, subject: text(300, 1), body: text(20_000, 1) });
export const TestSms = input('TestSms', {
  recipient: Type.String({ pattern: '^\\+?[0-9][0-9 ()./-]{2,38}$', description: 'a telephone number' }),
  body: text(1_600, 1),
});
export const TestQueued = record('TestMessageQueued', { status: oneOf('sent', 'queued'), notification_id: Uuid });

export const PreviewRequest = input('NotificationPreviewRequest', {
  kind: oneOf(...WORDED),
  visit_id: Uuid,
  channel: Type.Optional(Channel),
  language: Type.Optional(Language),
  template: Type.Optional(MessageTemplate),
});
export const MessagePreview = record('NotificationPreview', {
  subject: Type.String(),
  body: Type.String(),
  language: Type.String(),
});

export const Preferences = named(
  'MessagePreferences',
  Type.Object({ email: Type.Boolean(), sms: Type.Boolean(), push: Type.Boolean() }, { additionalProperties: false }),
);
export const PreferencesChange = input('MessagePreferencesPatch', {
  email: Type.Optional(Type.Boolean()),
  sms: Type.Optional(Type.Boolean()),
  push: Type.Optional(Type.Boolean()),
});

/** Gateways send further fields, which are ignored. */
export const DeliveryReport = record('DeliveryReport', {
  status: oneOf('delivered', 'undelivered', 'failed'),
  error_code: Type.Optional(nullable(text(100))),
});
