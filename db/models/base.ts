import { Model } from 'objection';

/**
 * A table's row. Fields are only declared: a plain class field would become a real key with the value undefined.
 * Objection's own validation is off: models have no JSON schema, since the API validates input.
 */
export abstract class Row extends Model {
  declare id: string;
  declare created_at: string;
  declare updated_at: string;
  static override useLimitInFirst = true;
}

/** One refresh of a login, of staff or in the portal: the newest of its family is valid. */
export abstract class RefreshTokenRow extends Row {
  declare family_id: string;
  declare token_hash: Buffer;
  declare expires_at: string;
  declare user_agent: string | null;
  declare ip_address: string | null;
  declare rotated_at: string | null;
  declare revoked_at: string | null;
}
