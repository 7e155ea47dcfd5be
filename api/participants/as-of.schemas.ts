import { Instant, Type } from '../http/common.schemas.js';
/** A past instant: 422 if it is invalid, 400 IN_FUTURE, 404 before the participant was on record. */
export const AsOf = Type.Object({
  as_of: Type.Optional({ ...Instant, description: 'an instant in the past; an entry of that very instant counts' }),
});

export const asOf = 'An `as_of` ahead is 400, one before the participant was on record 404.';
