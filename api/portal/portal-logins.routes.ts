import { portalLoginsOf } from '../../db/portal/portal-logins.queries.js';
import { anyone, staff } from '../http/access.js';
import { clearedCookies, loginIn, refreshTokenIn } from '../http/security/portal.js';
import { noContent, reply, route } from '../http/route.js';
import { Paged, listOf, pageOf } from '../http/common.schemas.js';
import { LeavePortal, PortalLogin, PortalTokens, RefreshPortal } from './portal.schemas.js';
import { getCaregiverOrThrow } from './caregivers.service.js';
import { getParticipantOrThrow } from '../participants/participants.service.js';
import { leavePortal, refreshPortal, revokePortalLogin, revokePortalLogins } from './portal-logins.service.js';
import type { Tx } from '../../db/client/database.js';

const tag = 'Portal';
const may = staff.participants;
const ends =
  'Takes effect at once: refresh tokens and portal tokens of the login stop working. The person gets in again by a new link.';

const participants = '/api/participants/{participant_id}/portal-sessions';
const ofParticipant = async (tx: Tx, { participant_id }: { participant_id: string }) => {
  const { id, study_id } = await getParticipantOrThrow(tx, participant_id);
  return { whose: { participant_id: id }, study: study_id };
};
const caregivers = '/api/studies/{study_id}/caregivers/{caregiver_id}/portal-sessions';
const ofCaregiver = async (tx: Tx, given: { study_id: string; caregiver_id: string }) => {
  const { id, study_id } = await getCaregiverOrThrow(tx, given.study_id, given.caregiver_id);
  return { whose: { caregiver_id: id }, study: study_id };
};

export const portalLoginRoutes = [
  route({
    method: 'POST',
    path: '/api/portal/refresh',
    operationId: 'refreshPortalTokens',
    tag,
    summary: 'Refresh the portal tokens',
    access: anyone,
    idempotencyKey: false,
    description:
      'Each refresh token is good once, for PORTAL_REFRESH_DAYS. A second use ends the login that it came from, portal tokens included. It is no good any more after a withdrawal, a changed address of the person, a logout, or where staff ended the login. Without a body the cookie `portal_refresh` counts, with `X-Portal-CSRF: 1`, and new cookies are set.',
    body: RefreshPortal,
    responses: { 200: PortalTokens, 401: undefined, 403: undefined, 503: undefined },
    handle: async ({ services, body, headers, context }) => {
      const tokens = await refreshPortal(services, body.refresh_token, headers, context);
      return reply(200, tokens.body, body.refresh_token === undefined ? { 'Set-Cookie': tokens.cookies } : {});
    },
  }),
  route({
    method: 'POST',
    path: '/api/portal/logout',
    operationId: 'logoutOfPortal',
    tag,
    summary: 'Log out of the portal',
    access: anyone,
    idempotencyKey: false,
    description:
      'Ends the login of the request’s portal token or cookies, and that of the refresh token in the body. The cookies are taken back. What is not known has ended already.',
    body: LeavePortal,
    responses: { 204: undefined, 403: undefined },
    handle: async ({ services, body, headers, context }) => {
      await leavePortal(
        services,
        {
          login: loginIn(headers, services.settings),
          refreshToken: body.refresh_token ?? refreshTokenIn(headers),
        },
        context,
      );
      return reply(204, undefined, { 'Set-Cookie': clearedCookies(services.settings) });
    },
  }),
  route({
    method: 'GET',
    path: participants,
    operationId: 'listParticipantPortalLogins',
    tag,
    summary: 'List a participant’s portal logins',
    description: 'Where the participant is logged in to the portal, and since when.',
    access: may,
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(PortalLogin) },
    handle: async ({ tx, params, query }) =>
      pageOf(await portalLoginsOf(tx, (await ofParticipant(tx, params)).whose), query),
  }),
  route({
    method: 'DELETE',
    path: participants,
    operationId: 'endParticipantPortalLogins',
    tag,
    summary: 'End all portal logins of a participant',
    access: may,
    transaction: 'change',
    description: ends,
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      const { whose, study } = await ofParticipant(tx, params);
      await revokePortalLogins({ tx, audit, actor, context }, whose, study);
      return noContent();
    },
  }),
  route({
    method: 'DELETE',
    path: `${participants}/{portal_session_id}`,
    operationId: 'endParticipantPortalLogin',
    tag,
    summary: 'End a portal login of a participant',
    access: may,
    transaction: 'change',
    description: ends,
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      const { whose, study } = await ofParticipant(tx, params);
      await revokePortalLogin({ tx, audit, actor, context }, whose, study, params.portal_session_id.toLowerCase());
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: caregivers,
    operationId: 'listCaregiverPortalLogins',
    tag,
    summary: 'List a caregiver’s portal logins',
    description: 'Where the caregiver is logged in to the portal, and since when.',
    access: may,
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(PortalLogin) },
    handle: async ({ tx, params, query }) =>
      pageOf(await portalLoginsOf(tx, (await ofCaregiver(tx, params)).whose), query),
  }),
  route({
    method: 'DELETE',
    path: caregivers,
    operationId: 'endCaregiverPortalLogins',
    tag,
    summary: 'End all portal logins of a caregiver',
    access: may,
    transaction: 'change',
    description: ends,
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      const { whose, study } = await ofCaregiver(tx, params);
      await revokePortalLogins({ tx, audit, actor, context }, whose, study);
      return noContent();
    },
  }),
  route({
    method: 'DELETE',
    path: `${caregivers}/{portal_session_id}`,
    operationId: 'endCaregiverPortalLogin',
    tag,
    summary: 'End a portal login of a caregiver',
    access: may,
    transaction: 'change',
    description: ends,
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params }) => {
      const { whose, study } = await ofCaregiver(tx, params);
      await revokePortalLogin({ tx, audit, actor, context }, whose, study, params.portal_session_id.toLowerCase());
      return noContent();
    },
  }),
];
