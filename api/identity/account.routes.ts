import { sessionsOf } from '../../db/identity/users.queries.js';
import { anyone, roles, signedIn, outsideStudy } from '../http/access.js';
import { accepted, created, noContent, route } from '../http/route.js';
import {
  Email,
  Paged,
  Type,
  listOf,
  nullable,
  pageOf,
  text,
  Instant,
  Uuid,
  oneOf,
  named,
  record,
  input,
} from '../http/common.schemas.js';
import { Invite, Password, PasswordChanged, RevokeTokens, User } from './users.schemas.js';
import {
  revokeAllLogins,
  revokeLogin,
  endLoginsOf,
  forgotPassword,
  inviteAgain,
  inviteUser,
  loginsOf,
  resetPassword,
} from './account.service.js';
import { withTokens } from './auth.service.js';

const tag = 'Authentication';
const Queued = named('MailQueued', Type.Object({ status: oneOf('queued') }, { additionalProperties: false }));
const Session = record('LoginSession', {
  id: Uuid,
  created_at: Instant,
  last_used_at: Instant,
  expires_at: Instant,
  user_agent: nullable(Type.String()),
  ip_address: nullable(Type.String()),
  current: Type.Boolean({ description: 'the login of this access token' }),
});

/** One's own account: a password by a mailed link, and the list of one's logins. */
export const accountRoutes = [
  route({
    method: 'POST',
    path: '/api/auth/password/forgot',
    operationId: 'requestPasswordReset',
    tag,
    summary: 'Request a password reset link',
    access: anyone,
    idempotencyKey: false,
    description:
      'Answered alike whether there is such an account or not. The link is in the mail alone, valid once, for ' +
      'PASSWORD_RESET_MINUTES.',
    body: input('PasswordForgotten', { email: Email }),
    responses: { 202: Queued, 503: undefined },
    handle: async ({ services, body: given, context }) => {
      await forgotPassword(services, given.email, context);
      return accepted({ status: 'queued' });
    },
  }),
  route({
    method: 'POST',
    path: '/api/auth/password/reset',
    operationId: 'resetPassword',
    tag,
    summary: 'Reset the password with a mailed token',
    access: anyone,
    idempotencyKey: false,
    description:
      'Of a forgotten password or an invitation. Ends all logins and every other such link; a second factor ' +
      'stays. Tokens of /api/v1 stay valid unless `revoke_api_tokens` ends them; where there are or were some they ' +
      'are listed (200), else the answer is 204. A link that was used, has expired or is not known is 401 ' +
      'INVALID_LINK.',
    body: input('PasswordReset', { token: text(200, 1), new_password: Password, revoke_api_tokens: RevokeTokens }),
    responses: { 200: PasswordChanged, 204: undefined, 401: undefined, 503: undefined },
    handle: async ({ services, body: given, context }) => withTokens(await resetPassword(services, given, context)),
  }),
  route({
    method: 'GET',
    path: '/api/auth/sessions',
    operationId: 'listLogins',
    tag,
    summary: 'List the current user’s logins',
    description:
      'Each login is a device that holds a refresh token: since when, from where, and which one the request ' +
      'belongs to.',
    access: outsideStudy(signedIn),
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(Session) },
    handle: async ({ tx, actor, credential, query }) =>
      pageOf(
        (await sessionsOf(tx, actor.id)).map((session) => ({ ...session, current: session.id === credential?.sid })),
        query,
      ),
  }),
  route({
    method: 'DELETE',
    path: '/api/auth/sessions/{id}',
    operationId: 'endLogin',
    tag,
    summary: 'End one of the current user’s logins',
    access: outsideStudy(signedIn),
    transaction: 'change',
    description:
      'The login can no longer be refreshed, and its access tokens end at once. 404 where the caller has no ' +
      'such login.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      await revokeLogin({ tx, audit, actor, context }, params.id.toLowerCase());
      return noContent();
    },
  }),
  route({
    method: 'POST',
    path: '/api/auth/logout-all',
    operationId: 'logoutEverywhere',
    tag,
    summary: 'Log out everywhere',
    access: outsideStudy(signedIn),
    transaction: 'change',
    idempotencyKey: false,
    description: 'Ends every login, this one included, and the access tokens of all of them at once.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context }) => {
      await revokeAllLogins({ tx, audit, actor, context });
      return noContent();
    },
  }),
  route({
    method: 'POST',
    path: '/api/users/invite',
    operationId: 'inviteUser',
    tag: 'Users',
    summary: 'Invite a user',
    access: outsideStudy(roles('admin')),
    transaction: 'change',
    description:
      'The link is in the mail alone, valid once, for INVITATION_DAYS. Each of `site_ids` must be of one of ' +
      '`study_ids` (400 SITE_OF_OTHER_STUDY).',
    body: Invite,
    responses: { 201: User },
    handle: async ({ tx, audit, actor, context, body: given }) =>
      created(await inviteUser({ tx, audit, actor, context }, given)),
  }),
  route({
    method: 'POST',
    path: '/api/users/{id}/invite',
    operationId: 'resendInvitation',
    tag: 'Users',
    summary: 'Resend an invitation',
    description:
      'Mails a new link to the account. One that is not active is 409 CONFLICT, too many links in a row are ' +
      '429 QUOTA_EXCEEDED.',
    access: outsideStudy(roles('admin')),
    transaction: 'change',
    responses: { 202: Queued },
    handle: async ({ tx, audit, actor, context, services, params }) => {
      await inviteAgain({ tx, audit, actor, context }, services.settings, params.id);
      return accepted({ status: 'queued' });
    },
  }),
  route({
    method: 'GET',
    path: '/api/users/{id}/sessions',
    operationId: 'listUserLogins',
    description: 'Each login is a device that holds a refresh token: since when and from where.',
    tag: 'Users',
    summary: 'List a user’s logins',
    access: outsideStudy(roles('admin')),
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(Session) },
    handle: async ({ tx, credential, params, query }) =>
      pageOf(
        (await loginsOf(tx, params.id)).map((session) => ({ ...session, current: session.id === credential?.sid })),
        query,
      ),
  }),
  route({
    method: 'POST',
    path: '/api/users/{id}/logout-all',
    operationId: 'endUserLogins',
    tag: 'Users',
    summary: 'End all logins of a user',
    access: outsideStudy(roles('admin')),
    transaction: 'change',
    description: 'None of them can be refreshed, and their access tokens end at once. The user may log in again.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      await endLoginsOf({ tx, audit, actor, context }, params.id);
      return noContent();
    },
  }),
];
