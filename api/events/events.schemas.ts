import { ActorType, AnchorStatus } from '../anchor/anchor.schemas.js';
import {
  Instant,
  IsoDate,
  Json,
  Type,
  Uuid,
  body,
  nullable,
  oneOf,
  partial,
  text,
  named,
  record,
  input,
  extended,
} from '../http/common.schemas.js';
import type { TSchema } from '../http/common.schemas.js';

/**
 * The types of events, those of a participant's withdrawal and reinstatement included; `data` of each contains the
 * required fields.
 */
export const eventTypes = [
  'ENROLLMENT_DATE_PROPOSED',
  'ENROLLMENT_DATE_SET',
  'ENROLLMENT_DATE_CHANGED',
  'ENROLLMENT_DATE_FINALIZED',
  'ENROLLMENT_DATE_OVERRIDE_REQUESTED',
  'ENROLLMENT_DATE_OVERRIDE_GRANTED',
  'ENROLLMENT_DATE_OVERRIDE_DENIED',
  'PARTICIPANT_WITHDRAWN',
  'PARTICIPANT_REINSTATED',
] as const;
export type EventType = (typeof eventTypes)[number];
export const EventType = named('EventType', oneOf(...eventTypes));

export const Event = record('Event', {
  id: Uuid,
  type: Type.String(),
  study_id: Uuid,
  participant_id: nullable(Uuid),
  occurred_at: Instant,
  data: Json,
});

const Actor = record('EventActor', {
  user_id: nullable(Uuid),
  type: ActorType,
});
const common = {
  history_id: Uuid,
  anchor_version: Type.Integer(),
  enrollment_date: nullable(IsoDate),
  status: AnchorStatus,
  source_type: Type.String(),
  source_ref: nullable(Json),
  actor: Actor,
  schedule_version_id: nullable(Uuid),
};
const change = {
  previous_value: nullable(IsoDate),
  previous_enrollment_date: nullable({ ...IsoDate, description: 'the same as previous_value, by the history’s name' }),
  new_value: nullable(IsoDate),
  change_delta_days: nullable(Type.Integer()),
  reason: nullable(Type.String()),
};

/** The `data` of each type, and when it is emitted. */
export const eventCatalogue: Record<EventType, { when: string; data: TSchema }> = {
  ENROLLMENT_DATE_PROPOSED: { when: 'A date is first set provisionally.', data: Type.Object(common) },
  ENROLLMENT_DATE_SET: { when: 'A date is set with its prerequisites met.', data: Type.Object(common) },
  ENROLLMENT_DATE_CHANGED: { when: 'The value changed.', data: Type.Object({ ...common, ...change }) },
  ENROLLMENT_DATE_FINALIZED: {
    when: 'A provisional date became final.',
    data: Type.Object({
      ...common,
      finalized_by: Actor,
      finalized_by_id: nullable(Uuid),
      reason: Type.Optional(Type.String()),
    }),
  },
  ENROLLMENT_DATE_OVERRIDE_REQUESTED: {
    when: 'An override that needs an approval was requested.',
    data: Type.Object({ ...common, reason: nullable(Type.String()), requested_value: nullable(IsoDate) }),
  },
  ENROLLMENT_DATE_OVERRIDE_GRANTED: {
    when: 'An override was approved, or applied where it needs none.',
    data: Type.Object({
      ...common,
      ...change,
      approver: nullable({ ...Uuid, description: 'who asked, where no approval is needed' }),
    }),
  },
  ENROLLMENT_DATE_OVERRIDE_DENIED: {
    when: 'An override was rejected.',
    data: Type.Object({
      ...common,
      approver: nullable(Uuid),
      denial_reason: nullable(Type.String()),
      reason: nullable({ ...Type.String(), description: 'the same as denial_reason' }),
    }),
  },
  PARTICIPANT_WITHDRAWN: {
    when: 'A participant withdrew.',
    data: Type.Object({ status: oneOf('withdrawn'), withdrawn_at: Instant, reason: Type.String(), actor: Actor }),
  },
  PARTICIPANT_REINSTATED: {
    when: 'A withdrawal was reversed.',
    data: Type.Object({
      status: oneOf('enrolled'),
      withdrawn_at: { ...Instant, description: 'of the withdrawal that was reversed' },
      withdrawal_reason: nullable(Type.String()),
      reason: Type.String(),
      actor: Actor,
    }),
  },
};

export const SubscriptionStatus = named('SubscriptionStatus', oneOf('active', 'disabled'));
const inOrder = { description: 'the next event waits until the one before it has arrived or was given up' };
const fields = {
  url: Type.String({ format: 'uri', pattern: '^https?://', maxLength: 2000 }),
  events: Type.Array(EventType, { minItems: 1, uniqueItems: true }),
  description: Type.Optional(nullable(text(500))),
  ordered: Type.Optional(Type.Boolean({ default: false, ...inOrder })),
};
export const NewEventSubscription = named('EventSubscriptionCreate', body(fields));
export const EventSubscriptionChange = input('EventSubscriptionPatch', {
  ...partial(NewEventSubscription).properties,
  // Without a default: validation would fill it in, and a change of something else would set it.
  ordered: Type.Optional(Type.Boolean(inOrder)),
  status: Type.Optional(SubscriptionStatus),
});

const shown = {
  id: Uuid,
  study_id: Uuid,
  url: Type.String(),
  description: nullable(Type.String()),
  events: Type.Array(Type.String()),
  ordered: Type.Boolean(),
  status: SubscriptionStatus,
  disabled_reason: nullable(Type.String()),
  disabled_at: nullable(Instant),
  previous_secret_until: nullable({
    ...Instant,
    description: 'until then deliveries bear a second signature, by the secret before',
  }),
  created_at: Instant,
  updated_at: Instant,
};
export const EventSubscription = named('EventSubscription', Type.Object(shown));
const secret = Type.String({ description: '`whsec_` and the base64 of 32 bytes; shown this once' });
export const EventSubscriptionWithSecret = extended('EventSubscriptionCreated', EventSubscription, { secret });
export const ChangedEventSubscription = extended('EventSubscriptionChanged', EventSubscription, {
  secret: Type.Optional({ ...secret, description: 'the new secret, where the url changed; shown this once' }),
});
export const RotatedSecret = record('EventSubscriptionSecret', { id: Uuid, secret, previous_secret_until: Instant });

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export const DeliveryStatus = named('DeliveryStatus', oneOf(...deliveryStatuses));
export const EventDelivery = record('EventDelivery', {
  id: Uuid,
  study_id: Uuid,
  subscription_id: Uuid,
  event_id: Uuid,
  event_type: Type.String(),
  status: DeliveryStatus,
  attempts: Type.Integer(),
  response_status: nullable(Type.Integer()),
  last_error: nullable(Type.String()),
  last_attempt_at: nullable(Instant),
  next_attempt_at: nullable(Instant),
  delivered_at: nullable(Instant),
  created_at: Instant,
});
