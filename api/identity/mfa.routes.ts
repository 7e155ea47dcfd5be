import { anyone, withNote, roles, signedIn, signedInOrSetup, outsideStudy } from '../http/access.js';
import { noContent, route } from '../http/route.js';
import {
  LoggedIn,
  MfaCode,
  MfaEnabled,
  MfaLogin,
  MfaProof,
  MfaSetup,
  MfaStatus,
  NewMfa,
  RecoveryCodes,
} from './users.schemas.js';
import { Reauthentication } from './reauthentication.schemas.js';
import { exactlyOne } from '../http/validation/validation.js';
import { proofIn } from './reauthentication.service.js';
import { disableMfa, loginByMfa, mfaStatus, renewRecoveryCodes, resetMfa, setUpMfa, verifyMfa } from './mfa.service.js';

/** For routes that change the caller's own second factor. */
const own = { method: 'POST', tag: 'Authentication', idempotencyKey: false } as const;

export const mfaRoutes = [
  route({
    method: 'GET',
    path: '/api/auth/mfa',
    operationId: 'getMfaStatus',
    tag: 'Authentication',
    summary: 'Get the second-factor status of the current user',
    description:
      'Says whether a second factor is set up, whether the role must have one, and how many recovery codes are left.',
    access: outsideStudy(signedIn),
    transaction: 'read',
    responses: { 200: MfaStatus },
    handle: ({ tx, actor, services }) => mfaStatus(tx, services.settings, actor),
  }),
  route({
    ...own,
    path: '/api/auth/mfa/setup',
    operationId: 'setUpMfa',
    summary: 'Set up a second factor (TOTP)',
    access: outsideStudy(signedInOrSetup),
    description:
      'Secret and recovery codes are shown here alone. By an access token, or by the `mfa_token` of a login ' +
      'that answered `mfa_setup_required`. A verified one must be disabled first (409 MFA_ENABLED). A login ' +
      'older than REAUTHENTICATION_MINUTES (5) proves identity again, by X-Reauthentication or by `password` ' +
      '(401 REAUTHENTICATION_REQUIRED).',
    headers: Reauthentication,
    body: NewMfa,
    responses: { 200: MfaSetup, 401: undefined, 409: undefined },
    handle: ({ services, actor, credential, context, headers, body }) =>
      setUpMfa({ services, actor, credential, context }, proofIn(headers, body, credential)),
  }),
  route({
    ...own,
    path: '/api/auth/mfa/verify',
    operationId: 'verifyMfa',
    summary: 'Enable the second factor with its first code',
    access: outsideStudy(signedInOrSetup),
    description:
      'With an `mfa_token` this completes the login: the answer has `user` and `tokens`. A wrong code is 400 ' +
      'WRONG_CODE.',
    body: MfaCode,
    responses: { 200: MfaEnabled, 409: undefined },
    handle: ({ services, actor, credential, context, body }) =>
      verifyMfa({ services, actor, credential, context }, body.code),
  }),
  route({
    ...own,
    path: '/api/auth/mfa/login',
    operationId: 'completeMfaLogin',
    summary: 'Complete a login with a second factor',
    access: anyone,
    description:
      'A code is valid once, and within 30 seconds before and after its own; a recovery code once. Wrong ones ' +
      'count as failed logins. Anything wrong is 401; the previous `mfa_token` stays valid after a wrong ' +
      'code.',
    body: MfaLogin,
    responses: { 200: LoggedIn, 401: undefined },
    handle: ({ services, body, context }) => loginByMfa(services, exactlyOne(body, 'code', 'recovery_code'), context),
  }),
  route({
    ...own,
    path: '/api/auth/mfa/recovery-codes',
    operationId: 'regenerateRecoveryCodes',
    summary: 'Regenerate recovery codes; invalidates the old ones',
    access: outsideStudy(signedIn),
    description:
      'Answers new codes, which are shown here alone; the former ones stop working. Needs a code or a recovery ' +
      'code: a wrong one is 400 WRONG_CODE. Without a second factor 409 MFA_NOT_SET_UP.',
    body: MfaProof,
    responses: { 200: RecoveryCodes, 409: undefined },
    handle: ({ services, actor, credential, context, body }) =>
      renewRecoveryCodes({ services, actor, credential, context }, exactlyOne(body, 'code', 'recovery_code')),
  }),
  route({
    ...own,
    path: '/api/auth/mfa/disable',
    operationId: 'disableMfa',
    summary: 'Disable the second factor',
    access: outsideStudy(withNote(signedIn, 'not for a role of MFA_REQUIRED_ROLES (403 MFA_REQUIRED)')),
    description:
      'Removes the second factor and its recovery codes. Needs a code or a recovery code: a wrong one is 400 ' +
      'WRONG_CODE. Without a second factor 409 MFA_NOT_SET_UP.',
    body: MfaProof,
    responses: { 204: undefined, 409: undefined },
    handle: async ({ services, actor, credential, context, body }) => {
      await disableMfa({ services, actor, credential, context }, exactlyOne(body, 'code', 'recovery_code'));
      return noContent();
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/users/{id}/mfa',
    operationId: 'resetUserMfa',
    tag: 'Users',
    summary: 'Reset a user’s second factor',
    access: outsideStudy(roles('admin')),
    transaction: 'change',
    description:
      'Ends all logins of the user. Where the role must have a second factor the next login sets up a new one.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      await resetMfa({ tx, audit, actor, context }, params.id);
      return noContent();
    },
  }),
];
