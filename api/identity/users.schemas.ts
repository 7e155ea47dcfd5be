import { allRoles } from '../http/access.js';
import type { Role } from '../http/access.js';
import { proof } from './reauthentication.schemas.js';
import {
  nameText,
  Email,
  Instant,
  Type,
  Uuid,
  extension,
  input,
  named,
  oneOf,
  record,
  text,
  toldApartBy,
} from '../http/common.schemas.js';
import { ApiToken } from './api-tokens.schemas.js';

export const RoleName = named('Role', Type.Unsafe<Role>({ type: 'string', enum: [...allRoles] }));
export const UserStatus = named('UserStatus', oneOf('active', 'inactive'));
/** At least 12 characters; the upper bound keeps hashing cheap. */
export const Password = Type.String({
  minLength: 12,
  maxLength: 200,
  description: 'at least 12 characters; common ones are refused',
});

const identity = { id: Uuid, email: Type.String(), name: Type.String(), role: RoleName, status: UserStatus };
export const UserBrief = named('UserBrief', Type.Object(identity));
export const User = record('User', {
  ...identity,
  study_ids: Type.Array(Uuid),
  site_ids: Type.Array(Uuid),
  mfa_enabled: Type.Boolean(),
  created_at: Instant,
  updated_at: Instant,
});

const Ids = Type.Array(Uuid, { maxItems: 1000 });
export const Register = input('UserRegister', {
  email: Email,
  name: nameText(200),
  password: Password,
  role: RoleName,
  study_ids: Type.Optional(Ids),
  site_ids: Type.Optional(Ids),
});
export const Invite = input('UserInvite', {
  email: Email,
  name: nameText(200),
  role: RoleName,
  study_ids: Type.Optional(Ids),
  site_ids: Type.Optional(Ids),
});
export const UserChange = input('UserPatch', {
  role: Type.Optional(RoleName),
  status: Type.Optional(UserStatus),
  study_ids: Type.Optional(Ids),
  site_ids: Type.Optional(Ids),
});

export const Login = input('Login', {
  email: Type.String({ minLength: 1, maxLength: 320 }),
  password: Type.String({ minLength: 1, maxLength: 1000 }),
});
export const RefreshToken = input('TokensRefresh', { refresh_token: Type.String({ minLength: 1, maxLength: 500 }) });
export const RevokeTokens = Type.Optional(
  Type.Boolean({ default: false, description: 'end the tokens of /api/v1 as well' }),
);
export const ChangePassword = input('PasswordChange', {
  current_password: Type.String({ minLength: 1, maxLength: 1000 }),
  new_password: Password,
  revoke_api_tokens: RevokeTokens,
});
/** The tokens of /api/v1 that remain after a new password. */
export const PasswordChanged = record('PasswordChanged', {
  api_tokens: Type.Array(ApiToken, { description: 'tokens of /api/v1 that still work' }),
  revoked: Type.Array(Uuid, { description: 'those that ended with the password' }),
});
export const Tokens = record('Tokens', {
  access_token: Type.String(),
  refresh_token: Type.String(),
  token_type: oneOf('bearer'),
  expires_in: Type.Integer({ description: 'seconds' }),
});
const outcome = <const W extends string>(word: W) => extension(oneOf(word), 'the login’s result; decides its fields');
export const LoggedIn = record('LoggedIn', { outcome: outcome('logged_in'), user: UserBrief, tokens: Tokens });
const mfa_token = Type.String({ description: 'valid for this step, for some minutes' });
const MfaRequired = record('MfaRequired', {
  outcome: outcome('mfa_required'),
  mfa_required: Type.Literal(true, { description: 'a code is required: POST /api/auth/mfa/login with `mfa_token`' }),
  mfa_token,
});
const MfaSetupRequired = record('MfaSetupRequired', {
  outcome: outcome('mfa_setup_required'),
  mfa_setup_required: Type.Literal(true, {
    description: 'the role must have a second factor: setup and verify take `mfa_token` as bearer',
  }),
  mfa_token,
});
/** The password was right: tokens, or the next required step. */
export const LoginAnswer = toldApartBy('LoginAnswer', 'outcome', {
  logged_in: LoggedIn,
  mfa_required: MfaRequired,
  mfa_setup_required: MfaSetupRequired,
});

const Code = Type.String({ pattern: '^[0-9]{6}$', description: 'six digits' });
const RecoveryCode = text(100, 1);
export const MfaStatus = record('MfaStatus', {
  enabled: Type.Boolean(),
  required: Type.Boolean({ description: 'the role must have it' }),
  recovery_codes_left: Type.Integer(),
});
export const NewMfa = input('MfaSetupStart', { password: proof.password });
export const MfaSetup = record('MfaSetup', {
  secret: Type.String({ description: 'base32' }),
  otpauth_url: Type.String(),
  recovery_codes: Type.Array(Type.String()),
});
export const MfaCode = input('MfaCode', { code: Code });
export const MfaEnabled = record('MfaEnabled', {
  mfa_enabled: Type.Literal(true),
  user: Type.Optional(UserBrief),
  tokens: Type.Optional(Tokens),
});
export const MfaLogin = input('MfaLogin', {
  mfa_token: Type.String({ minLength: 1, maxLength: 4000 }),
  code: Type.Optional(Code),
  recovery_code: Type.Optional(RecoveryCode),
});
export const MfaProof = input('MfaProof', { code: Type.Optional(Code), recovery_code: Type.Optional(RecoveryCode) });
export const RecoveryCodes = record('RecoveryCodes', { recovery_codes: Type.Array(Type.String()) });
