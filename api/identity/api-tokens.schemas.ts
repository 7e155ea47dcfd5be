import { scopes } from '../http/access.js';
import { nameText, Instant, Type, Uuid, nullable, oneOf, named, input } from '../http/common.schemas.js';
import { proof } from './reauthentication.schemas.js';
export const TokenScopeSchema = named('TokenScope', oneOf(...scopes));

const token = {
  id: Uuid,
  user_id: Uuid,
  name: Type.String(),
  scopes: Type.Array(TokenScopeSchema),
  study_ids: Type.Array(Uuid),
  created_at: Instant,
  expires_at: Instant,
  last_used_at: nullable(Instant),
};

/** Never the token itself. */
export const ApiToken = named('ApiToken', Type.Object(token, { additionalProperties: false }));

export const MintedToken = named(
  'ApiTokenCreated',
  Type.Object({ ...token, token: Type.String({ description: 'shown here alone' }) }, { additionalProperties: false }),
);

export const NewToken = input('ApiTokenCreate', {
  name: nameText(200),
  scopes: Type.Array(TokenScopeSchema, { minItems: 1, maxItems: scopes.length }),
  study_ids: Type.Array(Uuid, { minItems: 1, maxItems: 1000 }),
  expires_in_days: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 365, default: 90 })),
  ...proof,
});
