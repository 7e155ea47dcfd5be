import { Model } from 'objection';
import { Row } from './base.js';

/** A message to a person. */
export class Notification extends Row {
  static override tableName = 'notifications';
  static override jsonAttributes = ['draft'];
  declare study_id: string | null;
  declare participant_id: string | null;
  declare caregiver_id: string | null;
  declare user_id: string | null;
  declare visit_id: string | null;
  declare subject_id: string | null;
  declare kind: string;
  declare channel: 'email' | 'sms' | 'push';
  declare status: 'pending' | 'sent' | 'failed' | 'cancelled' | 'suppressed';
  declare attempts: number;
  declare last_error: string | null;
  declare sent_at: string | null;
  declare target_date: string | null;
  declare reason: string | null;
  declare draft: object | null;
  declare claimed_until: string | null;
}

/** An endpoint that receives a study's events. */
export class EventSubscriptionRow extends Row {
  static override tableName = 'event_subscriptions';
  declare study_id: string;
  declare url: string;
  declare description: string | null;
  declare events: string[];
  declare ordered: boolean;
  declare created_by_id: string | null;
  declare status: 'active' | 'disabled';
  declare disabled_reason: string | null;
  declare disabled_at: string | null;
  declare secret_encrypted: string;
  declare previous_secret_encrypted: string | null;
  declare previous_secret_until: string | null;
  static override relationMappings = () => ({
    deliveries: {
      relation: Model.HasManyRelation,
      modelClass: EventDelivery,
      join: { from: 'event_subscriptions.id', to: 'event_deliveries.subscription_id' },
    },
  });
}

/** An event of a study, as subscribers receive it. */
export class DomainEvent extends Model {
  static override tableName = 'domain_events';
  static override jsonAttributes = ['data'];
  declare id: string;
  declare study_id: string;
  declare participant_id: string | null;
  declare type: string;
  declare occurred_at: string;
  declare data: object;
  declare seq: number;
}

/** The delivery of one event to one subscriber. */
export class EventDelivery extends Row {
  static override tableName = 'event_deliveries';
  static override relationMappings = () => ({
    event: {
      relation: Model.BelongsToOneRelation,
      modelClass: DomainEvent,
      join: { from: 'event_deliveries.event_id', to: 'domain_events.id' },
    },
  });
  declare subscription_id: string;
  declare event_id: string;
  declare status: 'pending' | 'delivered' | 'failed';
  declare attempts: number;
  declare response_status: number | null;
  declare last_error: string | null;
  declare last_attempt_at: string | null;
  declare delivered_at: string | null;
  declare next_attempt_at: string | null;
  declare available_at: string | null;
  declare give_up_at: string | null;
}

/** A request to change a finalized enrollment date, which an approver decides. */
export class OverrideRequest extends Row {
  static override tableName = 'override_requests';
  declare study_id: string;
  declare participant_id: string;
  declare status: string;
  declare reminded_at: string | null;
  declare offered_signatures: object;
}
