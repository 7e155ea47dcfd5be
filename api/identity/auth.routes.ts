import { userById } from '../../db/identity/users.queries.js';
import { anyone, roles, signedIn, outsideStudy } from '../http/access.js';
import { created, noContent, route } from '../http/route.js';
import {
  ChangePassword,
  Login,
  LoginAnswer,
  PasswordChanged,
  RefreshToken,
  Register,
  Tokens,
  User,
} from './users.schemas.js';
import { changePassword, login, logout, refresh, withTokens } from './auth.service.js';
import { register } from './users.service.js';

export const authRoutes = [
  route({
    method: 'POST',
    path: '/api/auth/login',
    operationId: 'login',
    tag: 'Authentication',
    summary: 'Log in with email and password',
    description:
      'Five failures in a row lock the account for 15 minutes, for the address that they come from; a device ' +
      'that logged in before is counted separately. The owner is notified by mail, of a login from a new device ' +
      'too. A locked account, an unknown email and a wrong password are answered alike.\n\nWhere a second ' +
      'factor is set up the answer is `mfa_required`, where the role must have one and has none ' +
      '`mfa_setup_required` (MFA_REQUIRED_ROLES).',
    access: anyone,
    rateLimit: 'auth',
    idempotencyKey: false,
    body: Login,
    responses: { 200: LoginAnswer, 401: undefined },
    handle: ({ services, body, context }) => login(services, body, context),
  }),
  route({
    method: 'POST',
    path: '/api/auth/refresh',
    operationId: 'refreshTokens',
    tag: 'Authentication',
    summary: 'Refresh the tokens',
    description:
      'Answers a new access token and the next refresh token: each is valid once. A second use ends every token ' +
      'that came from the same login, access tokens at once. A token that was used, has expired or ended is ' +
      '401 INVALID_REFRESH_TOKEN.',
    access: anyone,
    idempotencyKey: false,
    body: RefreshToken,
    responses: { 200: Tokens, 401: undefined },
    handle: ({ services, body, context }) => refresh(services, body.refresh_token, context),
  }),
  route({
    method: 'POST',
    path: '/api/auth/logout',
    operationId: 'logout',
    tag: 'Authentication',
    summary: 'Log out',
    description:
      'Ends the login of the refresh token: it can no longer be refreshed, and its access tokens end at once. ' +
      'A token that is not known is answered alike.',
    access: anyone,
    idempotencyKey: false,
    body: RefreshToken,
    responses: { 204: undefined },
    handle: async ({ services, body, context }) => {
      await logout(services, body.refresh_token, context);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/auth/me',
    operationId: 'getCurrentUser',
    tag: 'Authentication',
    summary: 'Get the current user',
    description: 'The account of the access token: role, studies, sites, and whether a second factor is set up.',
    access: outsideStudy(signedIn),
    transaction: 'read',
    responses: { 200: User },
    handle: ({ tx, actor }) => userById(tx, actor.id),
  }),
  route({
    method: 'POST',
    path: '/api/auth/password',
    operationId: 'changePassword',
    tag: 'Authentication',
    summary: 'Change the password; ends all logins',
    access: outsideStudy(signedIn),
    transaction: 'change',
    rateLimit: 'auth',
    idempotencyKey: false,
    description:
      'Needs the current password: a wrong one is 400 with WRONG_PASSWORD, a common new one 400 ' +
      'PASSWORD_TOO_COMMON. Tokens of /api/v1 stay valid unless `revoke_api_tokens` ends them. Where the user has ' +
      'or had some they are listed (200), else the answer is 204. The user is notified by mail.',
    body: ChangePassword,
    responses: { 200: PasswordChanged, 204: undefined },
    handle: async ({ tx, audit, actor, credential, body, context }) =>
      withTokens(await changePassword(tx, audit, actor, body, { context, login: credential?.sid })),
  }),
  route({
    method: 'POST',
    path: '/api/auth/register',
    operationId: 'registerUser',
    tag: 'Authentication',
    summary: 'Register a user',
    description:
      'Makes an account with a role, studies and sites. An email that an account has is 409 EMAIL_TAKEN, a ' +
      'common password 400 PASSWORD_TOO_COMMON. Each of `site_ids` must be of one of `study_ids` (400 ' +
      'SITE_OF_OTHER_STUDY).',
    access: outsideStudy(roles('admin')),
    transaction: 'change',
    rateLimit: 'auth',
    body: Register,
    responses: { 201: User },
    handle: async ({ tx, audit, actor, body, context }) => created(await register({ tx, audit, actor, context }, body)),
  }),
];
