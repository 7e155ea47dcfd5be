import { hasFailedSync, portalVisits } from '../../db/queries/portal.js';
import { anyone, portal, staff } from '../access.js';
import { accepted, reply, route } from '../route.js';
import { Type, listOf, paging } from '../schemas/common.js';
import { DataStatus, LinkQueued, MagicLink, OpenLink, PortalParticipant, PortalSession, PortalVisit } from '../schemas/portal.js';
import { openSession, requestLink } from '../services/portal.js';

/** Of a route that a participant calls for itself. */
const own = { tag: 'Portal', may: portal, within: 'read', studyContext: false } as const;

export const portalRoutes = [
  route({
    method: 'POST', path: '/api/portal/magic-link', tag: 'Portal', summary: 'Send a participant a link to its portal', may: staff.participants, within: 'change',
    description: 'The link opens once, within MAGIC_LINK_MINUTES, and stands in the message alone. Without an address for the channel 400 NO_ADDRESS; withdrawn 409 PARTICIPANT_WITHDRAWN.',
    body: MagicLink, answers: { 202: LinkQueued, 400: undefined, 409: undefined },
    handle: async ({ tx, audit, actor, context, body }) => {
      await requestLink({ tx, audit, actor, context }, body);
      return accepted({ status: 'queued' });
    },
  }),
  route({
    method: 'POST', path: '/api/portal/session', tag: 'Portal', summary: 'Open a link: a portal token, and the same as a cookie', may: anyone, secret: true,
    description: 'The link bears the token as `?token=`. A link that was used, has expired or is not known is 401 INVALID_LINK. The cookie `portal_session` is HttpOnly and SameSite=Strict.',
    body: OpenLink, answers: { 200: PortalSession, 401: undefined, 503: undefined },
    handle: async ({ services, body, context }) => {
      const session = await openSession(services, body.token, context);
      return reply(200, session.body, { 'Set-Cookie': session.cookie });
    },
  }),
  route({
    ...own, method: 'GET', path: '/api/portal/me', summary: 'Whom the portal token belongs to', answers: { 200: PortalParticipant },
    handle: ({ actor: { id, study_id, participant_code, preferred_language, status } }) => ({ id, study_id, participant_code, preferred_language, status }),
  }),
  route({
    ...own, method: 'GET', path: '/api/portal/visits', summary: 'One’s own visits that count, by target date', description: 'Neither superseded nor cancelled ones.',
    query: Type.Object({ ...paging }), answers: { 200: listOf(PortalVisit) },
    handle: ({ tx, actor, query }) => portalVisits(tx, actor.id, { skip: query.skip ?? 0, limit: query.limit ?? 50 }),
  }),
  route({
    ...own, method: 'GET', path: '/api/portal/data-status', summary: 'Whether results of a visit did not reach the capture system', answers: { 200: DataStatus },
    handle: async ({ tx, actor }) => ({ has_failed_sync: await hasFailedSync(tx, actor.id) }),
  }),
];
