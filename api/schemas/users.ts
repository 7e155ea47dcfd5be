import { allRoles } from '../access.js';
import type { Role } from '../access.js';
import { Email, Instant, Type, Uuid, body, oneOf, text } from './common.js';

export const RoleName = Type.Unsafe<Role>({ type: 'string', enum: [...allRoles] });
export const UserStatus = oneOf('active', 'inactive');
/** At least 12 characters (decisions, section 3); the upper bound keeps hashing cheap. */
export const Password = Type.String({ minLength: 12, maxLength: 200, description: 'at least 12 characters; common ones are refused' });

const identity = { id: Uuid, email: Type.String(), name: Type.String(), role: RoleName, status: UserStatus };
export const UserBrief = Type.Object(identity);
export const User = Type.Object({ ...identity, study_ids: Type.Array(Uuid), site_ids: Type.Array(Uuid), created_at: Instant, updated_at: Instant });

const Ids = Type.Array(Uuid, { maxItems: 1000 });
export const Register = body({
  email: Email, name: text(200, 1), password: Password, role: RoleName,
  study_ids: Type.Optional(Ids), site_ids: Type.Optional(Ids),
});
export const UserChange = body({
  role: Type.Optional(RoleName), status: Type.Optional(UserStatus), study_ids: Type.Optional(Ids), site_ids: Type.Optional(Ids),
});

export const Login = body({ email: Type.String({ minLength: 1, maxLength: 320 }), password: Type.String({ minLength: 1, maxLength: 1000 }) });
export const RefreshToken = body({ refresh_token: Type.String({ minLength: 1, maxLength: 500 }) });
export const ChangePassword = body({ current_password: Type.String({ minLength: 1, maxLength: 1000 }), new_password: Password });
export const Tokens = Type.Object({
  access_token: Type.String(), refresh_token: Type.String(), token_type: oneOf('bearer'), expires_in: Type.Integer({ description: 'seconds' }),
});
export const LoggedIn = Type.Object({ user: UserBrief, tokens: Tokens });
