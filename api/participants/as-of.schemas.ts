import { Instant, Type } from '../http/common.schemas.js';
/**
 * An instant in the past: 422 where it is none, 400 IN_FUTURE where it lies ahead, 404 before the participant was on
 * record.
 */
export const AsOf = Type.Object({
  as_of: Type.Optional({ ...Instant, description: 'an instant in the past; an entry of that very instant counts' }),
});

export const asOf = 'An `as_of` ahead is 400, one before the participant was on record 404.';
