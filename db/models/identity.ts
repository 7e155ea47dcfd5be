import { Model } from 'objection';
import { RefreshTokenRow, Row } from './base.js';

export class User extends Row {
  static override tableName = 'users';
  declare email: string;
  declare name: string;
  declare role: 'admin' | 'researcher' | 'coordinator' | 'investigator' | 'data_manager';
  declare status: 'active' | 'inactive';
  declare password_hash: string;
  declare failed_logins: number;
  declare locked_until: string | null;
  declare session_epoch: number;
  static override relationMappings = () => ({
    tokens: {
      relation: Model.HasManyRelation,
      modelClass: ApiTokenRow,
      join: { from: 'users.id', to: 'api_tokens.user_id' },
    },
    logins: {
      relation: Model.HasManyRelation,
      modelClass: RefreshToken,
      join: { from: 'users.id', to: 'refresh_tokens.user_id' },
    },
  });
}

/** A token of /api/v1. */
export class ApiTokenRow extends Row {
  static override tableName = 'api_tokens';
  declare user_id: string;
  declare name: string;
  declare scopes: string[];
  declare study_ids: string[];
  declare token_hash: Buffer;
  declare expires_at: string;
  declare last_used_at: string | null;
  declare revoked_at: string | null;
}

export class RefreshToken extends RefreshTokenRow {
  static override tableName = 'refresh_tokens';
  declare user_id: string;
  static override relationMappings = () => ({
    user: {
      relation: Model.BelongsToOneRelation,
      modelClass: User,
      join: { from: 'refresh_tokens.user_id', to: 'users.id' },
    },
  });
}

/** The challenge behind an mfa token. */
export class MfaChallenge extends Row {
  static override tableName = 'mfa_challenges';
  declare user_id: string;
  declare purpose: string;
  declare expires_at: string;
  declare used_at: string | null;
}

/** A link by which a user chooses a password. */
export class UserLink extends Row {
  static override tableName = 'user_links';
  declare user_id: string;
  declare purpose: 'password_reset' | 'invitation';
  declare token_hash: Buffer | null;
  declare expires_at: string | null;
  declare sent_at: string | null;
  declare used_at: string | null;
  static override relationMappings = () => ({
    user: {
      relation: Model.BelongsToOneRelation,
      modelClass: User,
      join: { from: 'user_links.user_id', to: 'users.id' },
    },
  });
}

/** A message to a user about the user's own account. */
export class AccountNoticeRow extends Row {
  static override tableName = 'account_notices';
  static override jsonAttributes = ['details'];
  declare user_id: string;
  declare kind: string;
  declare details: object;
  declare sent_at: string | null;
  static override relationMappings = () => ({
    user: {
      relation: Model.BelongsToOneRelation,
      modelClass: User,
      join: { from: 'account_notices.user_id', to: 'users.id' },
    },
  });
}

/** Failed logins of one origin (a device, or an address) to one account. */
export class LoginFailure extends Model {
  static override tableName = 'login_failures';
  static override idColumn = ['user_id', 'origin'];
  declare user_id: string;
  declare origin: string;
  declare failures: number;
  declare locked_until: string | null;
  declare updated_at: string;
}
