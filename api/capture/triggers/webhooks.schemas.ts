import {
  Instant,
  Type,
  Uuid,
  listOf,
  nullable,
  oneOf,
  paging,
  sorting,
  record,
  Remark,
  named,
} from '../../http/common.schemas.js';

export const webhookStatuses = ['received', 'processing', 'processed', 'duplicate', 'failed'] as const;

const WebhookStatus = named('WebhookStatus', oneOf(...webhookStatuses));
/** A stored trigger. */
export const WebhookEvent = record('WebhookEvent', {
  id: Uuid,
  study_id: Uuid,
  project_id: Type.String(),
  record: Type.String({ description: 'the record id, text of any kind' }),
  instrument: Type.String(),
  event_name: nullable(Type.String()),
  status: WebhookStatus,
  outcome: nullable(Type.String({ description: 'created, updated, unchanged, ignored, override_required' })),
  error: nullable(
    Type.String({ description: 'why it failed, `CODE: words`; of a processed one, why its date was not taken' }),
  ),
  duplicate_of_id: nullable(Uuid),
  participant_id: nullable(Uuid),
  warnings: Type.Array(Remark, {
    description: 'a note on a processed trigger, e.g. UNKNOWN_SITE',
  }),
  attempt: Type.Integer({ description: 'how often it was retried by hand' }),
  received_at: Instant,
  processed_at: nullable(Instant),
});
export const WebhookEvents = listOf(WebhookEvent);

export const WebhookEventQuery = Type.Object({
  ...paging,
  status: Type.Optional(WebhookStatus),
  record: Type.Optional(Type.String({ maxLength: 500, description: 'exactly this record' })),
});

export const TriggerQuery = Type.Object({
  signature: Type.Optional(
    Type.String({ description: 'hex HMAC-SHA256 of "det:" + project_id, where webhook_auth is url' }),
  ),
});
export const TriggerAccepted = record('TriggerAccepted', { status: oneOf('accepted'), record: Type.String() });

export const UnmatchedQuery = Type.Object({ ...paging, sort: sorting('last_at', 'count') });
export const UnmatchedTriggers = listOf(
  record('UnmatchedTrigger', {
    project_id: Type.String(),
    count: Type.Integer({ minimum: 1 }),
    first_at: Instant,
    last_at: Instant,
  }),
);

/**
 * The form of a trigger for the OpenAPI document: its fields are read after the signature over the raw bytes was
 * verified.
 */
const alias = Type.Optional(Type.String());
export const TriggerForm = named(
  'TriggerForm',
  Type.Object(
    {
      project_id: Type.String(),
      record: Type.String(),
      instrument: Type.String(),
      datacapture_event_name: alias,
      datacapture_data_access_group: alias,
      datacapture_repeat_instance: alias,
      datacapture_repeat_instrument: alias,
      redcap_event_name: alias,
      redcap_data_access_group: alias,
      redcap_repeat_instance: alias,
      redcap_repeat_instrument: alias,
    },
    {
      patternProperties: { _complete$: Type.String({ description: 'state of the instrument: 0, 1 or 2' }) },
      additionalProperties: Type.String(),
      description: 'fields with the prefix `datacapture_` or `redcap_`, and `<instrument>_complete`',
    },
  ),
);
