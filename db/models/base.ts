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
