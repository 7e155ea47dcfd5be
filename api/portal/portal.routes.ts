import { hasFailedSync } from '../../db/portal/portal.queries.js';
import { anyone, anyPortalUser, portal, staff, outsideStudy } from '../http/access.js';
import { accepted, reply, route } from '../http/route.js';
import { forgottenCookies } from '../http/security/portal.js';
import { Type, listOf, paging } from '../http/common.schemas.js';
import {
  DataStatus,
  Household,
  LinkQueued,
  LinkAsked,
  MagicLink,
  NewLink,
  OpenLink,
  PortalOverview,
  PortalParticipant,
  PortalResult,
  PortalSession,
  PortalVisit,
} from './portal.schemas.js';
import { requestNewLink } from '../identity/link-requests.service.js';
import { overview, ownVisits } from './portal-overview.service.js';
import { ownResults } from './portal-results.service.js';
import { householdOf, openSession, requestLink } from './portal.service.js';

/** For routes that a participant calls, or its caregiver. */
const own = { tag: 'Portal', access: outsideStudy(portal), transaction: 'read' } as const;

export const portalRoutes = [
  route({
    method: 'POST',
    path: '/api/portal/magic-link',
    operationId: 'sendPortalLink',
    tag: 'Portal',
    summary: 'Send a portal link to a participant or caregiver',
    access: staff.participants,
    transaction: 'change',
    description:
      'The link opens once, within MAGIC_LINK_MINUTES, and is in the message alone. Without an address for ' +
      'the channel 400 NO_ADDRESS; withdrawn 409 PARTICIPANT_WITHDRAWN; a caregiver that is not active 409 ' +
      'CAREGIVER_INACTIVE, without enrolled participants 409 CARES_FOR_NOBODY. More than LINKS_PER_HOUR to one ' +
      'recipient are 429 QUOTA_EXCEEDED.',
    body: MagicLink,
    responses: { 202: LinkQueued, 400: undefined, 409: undefined },
    handle: async ({ tx, audit, actor, context, services, body }) => {
      await requestLink({ tx, audit, actor, context }, services.settings, body);
      return accepted({ status: 'queued' });
    },
  }),
  route({
    method: 'POST',
    path: '/api/portal/new-link',
    operationId: 'requestPortalLink',
    tag: 'Portal',
    summary: 'Request a new portal link',
    access: anyone,
    rateLimit: 'auth',
    idempotencyKey: false,
    description:
      'Who takes part, or cares for somebody who does, and has this address in the study gets a link; the ' +
      'answer is the same for any address. It is limited as logins are, by the caller’s address and by the one ' +
      'that is given; a person gets three links in ten minutes at the most.',
    body: NewLink,
    responses: { 202: LinkAsked },
    handle: async ({ services, body, context }) => {
      await requestNewLink(services, body, context);
      return accepted({ status: 'accepted' });
    },
  }),
  route({
    method: 'POST',
    path: '/api/portal/session',
    operationId: 'openPortalSession',
    tag: 'Portal',
    summary: 'Exchange a portal link for tokens',
    access: anyone,
    idempotencyKey: false,
    description:
      'The link has the token as `?token=`. A link that was used, has expired or is not known is 401 ' +
      'INVALID_LINK. The cookie `portal_session` is HttpOnly and SameSite=Strict; with `remember` so is ' +
      '`portal_refresh`, with the refresh token. Of a caregiver’s link the answer has `caregiver` and ' +
      '`participants`; its token asks for the one that X-Participant-ID (or `participant_id`) names, or for ' +
      'the only one.',
    body: OpenLink,
    responses: { 200: PortalSession, 401: undefined, 503: undefined },
    handle: async ({ services, body, headers, context }) => {
      const session = await openSession(services, body, context);
      // A person who opens this link without staying logged in must not end up in the login that somebody else kept.
      const forgotten = body.remember ? [] : forgottenCookies(headers, services.settings);
      return reply(200, session.body, { 'Set-Cookie': [...session.cookies, ...forgotten] });
    },
  }),
  route({
    ...own,
    method: 'GET',
    path: '/api/portal/me',
    operationId: 'getPortalParticipant',
    summary: 'Get the participant of the portal token',
    description: 'The participant that the token speaks for, and the caregiver where one calls for it.',
    responses: { 200: PortalParticipant },
    handle: ({ actor: { id, study_id, participant_code, preferred_language, status } }) => ({
      id,
      study_id,
      participant_code,
      preferred_language,
      status,
    }),
  }),
  route({
    tag: 'Portal',
    access: outsideStudy(anyPortalUser),
    transaction: 'read',
    method: 'GET',
    path: '/api/portal/participants',
    operationId: 'listPortalParticipants',
    summary: 'List the participants of the portal token',
    description:
      'Those whom a caregiver cares for and who take part; of a participant’s own token the participant itself.',
    query: Type.Object({ ...paging }),
    responses: { 200: Household },
    handle: ({ tx, actor, query }) => householdOf(tx, actor, { skip: query.skip ?? 0, limit: query.limit ?? 50 }),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/api/portal/visits',
    operationId: 'listOwnVisits',
    summary: 'List own visits by target date',
    description:
      'Each visit with its window and status; neither superseded nor cancelled ones, and none ahead in a study that ' +
      'has ended.',
    query: Type.Object({ ...paging }),
    responses: { 200: listOf(PortalVisit) },
    handle: ({ tx, actor, query }) => ownVisits(tx, actor.id, { skip: query.skip ?? 0, limit: query.limit ?? 50 }),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/api/portal/overview',
    operationId: 'getPortalOverview',
    summary: 'Get the portal overview',
    description:
      'The study and whom to ask, on which channels the participant can be reached, and whether its results ' +
      'were passed on.',
    responses: { 200: PortalOverview },
    handle: ({ tx, actor }) => overview(tx, actor),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/api/portal/data-status',
    operationId: 'getOwnDataStatus',
    summary: 'Get the delivery status of results',
    description: 'Says whether results of the participant could not be handed to the capture system, without details.',
    responses: { 200: DataStatus },
    handle: async ({ tx, actor }) => ({ has_failed_sync: await hasFailedSync(tx, actor.id) }),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/api/portal/results',
    operationId: 'listOwnResults',
    summary: 'List own results, newest first',
    description:
      'Of completed sessions, what each task gave, where `config.portal_results` of the study is `summary`; ' +
      'else 403 RESULTS_NOT_SHARED. Titles are those that the battery’s modules had then (`title`, and `title` ' +
      'of a property in `result_schema`, of their settings), in the reader’s language.',
    query: Type.Object({ ...paging }),
    responses: { 200: listOf(PortalResult), 403: undefined },
    handle: ({ tx, actor, query }) => ownResults(tx, actor, { skip: query.skip ?? 0, limit: query.limit ?? 50 }),
  }),
];
