import { portalLoginsOf } from '../../db/portal/portal-logins.queries.js';
import type { Whose } from '../../db/portal/portal-logins.queries.js';
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
const ends =
  'Takes effect at once: refresh tokens and portal tokens of the login stop working. The person gets in again ' +
  'by a new link.';

interface Holder {
  whose: Whose;
  study: string;
}

/** The routes for the logins of one kind of holder. */
function loginsOf<Path extends string>(
  path: Path,
  { kind, word }: { kind: 'Participant' | 'Caregiver'; word: string },
  holderOf: (tx: Tx, params: Record<string, string>) => Promise<Holder>,
) {
  const change = { tag, access: staff.participants, transaction: 'change', description: ends } as const;
  return [
    route({
      method: 'GET',
      path,
      operationId: `list${kind}PortalLogins`,
      tag,
      summary: `List a ${word}’s portal logins`,
      description: `Where the ${word} is logged in to the portal, and since when.`,
      access: staff.participants,
      transaction: 'read',
      query: Paged,
      responses: { 200: listOf(PortalLogin) },
      handle: async ({ tx, params, query }) =>
        pageOf(await portalLoginsOf(tx, (await holderOf(tx, params)).whose), query),
    }),
    route({
      ...change,
      method: 'DELETE',
      path,
      operationId: `end${kind}PortalLogins`,
      summary: `End all portal logins of a ${word}`,
      responses: { 204: undefined },
      handle: async ({ tx, audit, actor, context, params }) => {
        const { whose, study } = await holderOf(tx, params);
        await revokePortalLogins({ tx, audit, actor, context }, whose, study);
        return noContent();
      },
    }),
    route({
      ...change,
      method: 'DELETE',
      path: `${path}/{portal_session_id}`,
      operationId: `end${kind}PortalLogin`,
      summary: `End a portal login of a ${word}`,
      responses: { 204: undefined },
      handle: async ({ tx, audit, actor, context, params }) => {
        const named = params as Record<string, string>;
        const { whose, study } = await holderOf(tx, named);
        await revokePortalLogin({ tx, audit, actor, context }, whose, study, named.portal_session_id!.toLowerCase());
        return noContent();
      },
    }),
  ];
}

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
      'Each refresh token is valid once, for PORTAL_REFRESH_DAYS. A second use ends the login that it came ' +
      'from, portal tokens included. It is invalid after a withdrawal, a changed address of the ' +
      'person, a logout, or where staff ended the login. Without a body the cookie `portal_refresh` counts, ' +
      'with `X-Portal-CSRF: 1`, and new cookies are set.',
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
      'Ends the login of the request’s portal token or cookies, and that of the refresh token in the body. The ' +
      'cookies are revoked. An unknown login has ended already.',
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
  ...loginsOf(
    '/api/participants/{participant_id}/portal-sessions',
    { kind: 'Participant', word: 'participant' },
    async (tx, { participant_id }) => {
      const { id, study_id } = await getParticipantOrThrow(tx, participant_id!);
      return { whose: { participant_id: id }, study: study_id };
    },
  ),
  ...loginsOf(
    '/api/studies/{study_id}/caregivers/{caregiver_id}/portal-sessions',
    { kind: 'Caregiver', word: 'caregiver' },
    async (tx, { study_id: studyId, caregiver_id }) => {
      const { id, study_id } = await getCaregiverOrThrow(tx, studyId!, caregiver_id!);
      return { whose: { caregiver_id: id }, study: study_id };
    },
  ),
];
