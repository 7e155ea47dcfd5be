import { Model } from 'objection';
import { RefreshTokenRow, Row } from './base.js';
import { Participant, Study } from './records.js';

/** A person who acts for participants in the portal. */
export class Caregiver extends Row {
  static override tableName = 'caregivers';
  declare study_id: string;
  declare name: string | null;
  declare email: string | null;
  declare phone: string | null;
  declare preferred_language: string | null;
  declare status: 'active' | 'inactive';
  declare session_epoch: number;
  static override relationMappings = () => ({
    participants: {
      relation: Model.ManyToManyRelation,
      modelClass: Participant,
      join: {
        from: 'caregivers.id',
        through: {
          modelClass: CaregiverParticipant,
          from: 'caregiver_participants.caregiver_id',
          to: 'caregiver_participants.participant_id',
        },
        to: 'participants.id',
      },
    },
  });
}

/** The assignment of a caregiver to a participant. */
export class CaregiverParticipant extends Model {
  static override tableName = 'caregiver_participants';
  static override idColumn = ['caregiver_id', 'participant_id'];
  declare caregiver_id: string;
  declare participant_id: string;
  declare study_id: string;
  declare relationship: string;
  declare created_by: string | null;
  declare created_at: string;
  static override relationMappings = () => ({
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'caregiver_participants.participant_id', to: 'participants.id' },
    },
  });
}

/** The one-time link of a message that opens the portal. */
export class PortalLink extends Model {
  static override tableName = 'portal_links';
  static override idColumn = 'notification_id';
  declare notification_id: string;
  declare study_id: string;
  declare participant_id: string | null;
  declare caregiver_id: string | null;
  declare token_hash: Buffer;
  declare made_at: string;
  declare expires_at: string;
  declare used_at: string | null;
  static override relationMappings = () => ({
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'portal_links.participant_id', to: 'participants.id' },
    },
    caregiver: {
      relation: Model.BelongsToOneRelation,
      modelClass: Caregiver,
      join: { from: 'portal_links.caregiver_id', to: 'caregivers.id' },
    },
  });
}

export class PortalRefreshToken extends RefreshTokenRow {
  static override tableName = 'portal_refresh_tokens';
  declare study_id: string;
  declare participant_id: string | null;
  declare caregiver_id: string | null;
  declare ended_at: string | null;
  static override relationMappings = () => ({
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'portal_refresh_tokens.participant_id', to: 'participants.id' },
    },
    caregiver: {
      relation: Model.BelongsToOneRelation,
      modelClass: Caregiver,
      join: { from: 'portal_refresh_tokens.caregiver_id', to: 'caregivers.id' },
    },
  });
}

/** The address of a participant's calendar feed. */
export class CalendarFeedRow extends Row {
  static override tableName = 'calendar_feeds';
  declare study_id: string;
  declare participant_id: string;
  declare caregiver_id: string | null;
  declare created_by_id: string | null;
  static override relationMappings = () => ({
    study: {
      relation: Model.BelongsToOneRelation,
      modelClass: Study,
      join: { from: 'calendar_feeds.study_id', to: 'studies.id' },
    },
    participant: {
      relation: Model.BelongsToOneRelation,
      modelClass: Participant,
      join: { from: 'calendar_feeds.participant_id', to: 'participants.id' },
    },
    caregiver: {
      relation: Model.BelongsToOneRelation,
      modelClass: Caregiver,
      join: { from: 'calendar_feeds.caregiver_id', to: 'caregivers.id' },
    },
  });
}
