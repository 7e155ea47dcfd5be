import type { CaregiverCallerRow, PortalCaregiver } from '../../db/portal/portal.queries.js';
import type { CallerRow } from '../../db/client/request.js';
import type { Scope } from '../../db/client/transaction.js';
import type { Settings } from '../../settings.js';
import { problem, problemOf } from './errors.js';
import type { Problem } from './errors.js';
import type { PortalCallerRow } from '../../db/participants/portal-caller.js';

export type Role = CallerRow['role'];
export const allRoles: readonly Role[] = ['admin', 'researcher', 'coordinator', 'investigator', 'data_manager'];

/**
 * The token that a route accepts: none, a user's (`true`), the participant's own of the portal, or either; a user's or
 * the mfa token of a user who must set up a second factor (`setup`); a scoped token of /api/v1 (`scoped`). A
 * caregiver's token is accepted wherever a participant's is; `anyPortalUser`: the caregiver as itself, without a
 * participant.
 */
export type TokenKind = boolean | 'portal' | 'anyPortalUser' | 'either' | 'setup' | 'scoped';

/** Scopes of a token of /api/v1. */
export const scopes = [
  'studies:read',
  'participants:read',
  'schedules:read',
  'anchors:read',
  'sessions:read',
  'exports:read',
  'snapshots:read',
  'authoring:write',
] as const;
export type TokenScope = (typeof scopes)[number];

/** Who may call a route, as declared; the pipeline checks it, the OpenAPI document and the role matrix show it. */
export interface Access<Kind extends TokenKind = TokenKind> {
  token: Kind;
  roles: readonly Role[];
  /** The route works inside one study, or on data of studies: isolation decides what is found. */
  study: boolean;
  /** The scope that a scoped token needs. */
  scope?: TokenScope;
  /** A rule that the route's own service also checks, in words (the anchor policy's roles). */
  note?: string;
  /**
   * Path, X-Study-ID or query name the request's study (default). `none`: the route's `study_id` means something else.
   * `filter`: the handler gets it, but it may be a deleted one, and the transaction is not narrowed to it.
   */
  studyContext?: 'none' | 'filter';
  /** Accepts the token of a withdrawn participant: the handler decides for what. */
  evenWithdrawn?: true;
  /**
   * Accepts only the console's cookie. `background`: the page itself makes the request, which does not count as use of
   * the login.
   */
  byConsole?: 'active' | 'background';
  /** Without a bearer token, a ticket in the query opens the route's event stream. */
  byTicket?: true;
  /** In development it needs no token from the local machine. */
  onThisMachine?: true;
  /** Refuses addresses that may not call the route, before anything of the body is looked at. @throws 403 */
  checkAddress?: (address: string, settings: Settings) => void;
  /** A refusal before the handler (token, role, no access) is an audit record of the study, with this action. */
  refusalAction?: string;
}

/** Anyone, without a token. */
export const anyone: Access<false> = { token: false, roles: [], study: false };
/** Any logged-in user. */
export const signedIn: Access<true> = { token: true, roles: allRoles, study: false };
/** As `signedIn`, and with the mfa token of a user who must have a second factor and has none yet. */
export const signedInOrSetup: Access<'setup'> = { token: 'setup', roles: allRoles, study: false };
/** Some roles, for objects outside of studies. Admins may do everything. */
export const roles = (...list: Role[]): Access<true> => ({ token: true, roles: withAdmin(list), study: false });
/** Some roles (none named: all), in their assigned studies. Admins may do everything, everywhere. */
export const inStudy = (...list: Role[]): Access<true> => ({
  token: true,
  roles: list.length === 0 ? allRoles : withAdmin(list),
  study: true,
});
/** The roles that each scope requires of the token's creator, at every use. */
export const rolesOfScope: Record<TokenScope, readonly Role[]> = {
  'studies:read': allRoles,
  'participants:read': allRoles,
  'schedules:read': allRoles,
  'anchors:read': allRoles,
  'sessions:read': allRoles,
  'exports:read': ['admin', 'researcher', 'data_manager'],
  'snapshots:read': ['admin', 'researcher', 'data_manager'],
  'authoring:write': ['admin', 'researcher'],
};
/** With a token of /api/v1 that has the scope, in its studies, within its user's current rights. */
export const scoped = (scope: TokenScope): Access<'scoped'> => ({
  token: 'scoped',
  roles: rolesOfScope[scope],
  study: true,
  scope,
});
/** The participant, or its caregiver, with a portal token. */
export const portal: Access<'portal'> = { token: 'portal', roles: [], study: false };
/** Any holder of a portal token, as itself. */
export const anyPortalUser: Access<'anyPortalUser'> = { token: 'anyPortalUser', roles: [], study: false };
/** As `access`, and the participant named in the path, or its caregiver, with a portal token. */
export const staffOrParticipant = (access: Access<true>): Access<'either'> => ({ ...access, token: 'either' });
/** As `access`, with a further rule in words that the service checks. */
export const withNote = (access: Access<true>, note: string): Access<true> => ({ ...access, note });

/** As `access`, if a `study_id` of the request is not the study that it is narrowed to. */
export const outsideStudy = <S extends TokenKind>(access: Access<S>): Access<S> => ({
  ...access,
  studyContext: 'none',
});
/** As `access`, if the study is a filter: it may be a deleted one. */
export const studyAsFilter = <S extends TokenKind>(access: Access<S>): Access<S> => ({
  ...access,
  studyContext: 'filter',
});
/** As `access`, and with the token of a withdrawn participant. */
export const evenWithdrawn = <S extends TokenKind>(access: Access<S>): Access<S> => ({
  ...access,
  evenWithdrawn: true,
});
/** As `access`, and with a ticket that opens an event stream. */
export const orByTicket = <S extends TokenKind>(access: Access<S>): Access<S> => ({ ...access, byTicket: true });
/** As `access`, and in development without a token from the local machine. */
export const orOnThisMachine = (access: Access<true>): Access<true> => ({ ...access, onThisMachine: true });
/** As `access`, only with the console's cookie. `background`: the page requests it, not the user. */
export const byConsole = (access: Access<true>, use: 'active' | 'background' = 'active'): Access<true> => ({
  ...access,
  byConsole: use,
});
/** As `access`; refusals before the handler are recorded in the study's audit log as `action`. */
export const auditedRefusals = <S extends TokenKind>(access: Access<S>, action: string): Access<S> => ({
  ...access,
  refusalAction: action,
});

const withAdmin = (list: Role[]): Role[] => ['admin', ...list.filter((role) => role !== 'admin')];

/** Staff roles by work area. */
export const staff = {
  read: inStudy(),
  participants: inStudy('researcher', 'coordinator', 'investigator'),
  configure: inStudy('researcher'),
};

/** Roles that export data and import whole studies. */
export const exporterAccess = inStudy('researcher', 'data_manager');

/** The caller of a request, as loaded for this request. */
export interface Actor {
  id: string;
  email: string;
  name: string;
  role: Role;
  study_ids: string[];
  /** Sites that a coordinator or investigator is assigned to; empty: all of the studies. */
  site_ids: string[];
  /** The scope of this request's transactions: narrowed to the named study. */
  scope: Scope;
  isAdmin: boolean;
  /** Of its logins: tokens from before they were ended have an earlier one. */
  session_epoch: number;
  /** The token of /api/v1 of this request. */
  tokenId?: string;
}

/**
 * Admits the caller or refuses.
 * @param epoch of the logins, from the access token; undefined: it has none
 * @throws 401 unknown or deactivated, 403 another role, 404 no access to the study, site or participant
 */
export function authorizeUser(
  access: Access,
  row: CallerRow | undefined,
  studyId: string | undefined,
  epoch?: number,
): Actor {
  if (access.scope && !row) throw problem('INVALID_TOKEN', { detail: 'The token was revoked or has expired.' });
  if (!row || row.status !== 'active')
    throw problem('INVALID_TOKEN', { detail: 'The account of this access token is not active.' });
  if (row.login_ended || (epoch !== undefined && epoch !== row.session_epoch))
    throw problem('INVALID_TOKEN', { detail: 'The login of this access token was ended.' });
  if (access.scope && !row.scopes?.includes(access.scope))
    throw problem('MISSING_SCOPE', {
      detail: `The token lacks the scope ${access.scope}.`,
      extra: { scope: access.scope },
    });
  if (!access.roles.includes(row.role))
    throw problem('FORBIDDEN', { detail: `The role ${row.role} does not allow this.` });
  if (!row.study_seen) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  if (!row.site_seen) throw problem('NOT_FOUND', { detail: 'There is no such site.' });
  if (!row.participant_seen) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  const isAdmin = row.role === 'admin';
  const siteBound = row.role === 'coordinator' || row.role === 'investigator';
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    study_ids: row.study_ids,
    isAdmin,
    session_epoch: row.session_epoch,
    site_ids: siteBound ? row.site_ids : [],
    scope: studyId ?? (isAdmin && !access.scope ? '*' : row.study_ids),
    ...(row.token_id && { tokenId: row.token_id }),
  };
}

/** The participant of a portal token, directly or through its caregiver, as loaded for this request. */
export interface ParticipantCaller {
  id: string;
  role: 'participant';
  study_id: string;
  participant_code: string;
  preferred_language: string | null;
  /** `withdrawn`: only if the route accepts it. */
  status: 'enrolled' | 'withdrawn';
  /** The login of its token, which has expired: only of a withdrawn one. */
  expiredLogin?: string;
  /** The scope of this request's transactions: its study. Queries also name the participant. */
  scope: string;
  /** The caller, if it is not the participant itself. */
  caregiver?: PortalCaregiver;
}

/** A caregiver without a particular participant. */
export type CaregiverCaller = PortalCaregiver & { role: 'caregiver'; scope: string };
export type AnyCaller = Actor | ParticipantCaller | CaregiverCaller;

/** The caller of a route, by the accepted token; `role` distinguishes a participant from a user. */
export type CallerOf<Kind> = Kind extends true | 'setup' | 'scoped'
  ? Actor
  : Kind extends 'portal'
    ? ParticipantCaller
    : Kind extends 'anyPortalUser'
      ? ParticipantCaller | CaregiverCaller
      : Kind extends 'either'
        ? Actor | ParticipantCaller
        : undefined;

/** The objects that a request with a portal token names. */
export interface Named {
  studyId?: string | undefined;
  siteId?: string | undefined;
  participantId?: string | undefined;
}
const other = (input: string | undefined, own: string | null) => input !== undefined && input.toLowerCase() !== own;

export const loginEnded = (): Problem =>
  problem('INVALID_TOKEN', { detail: 'The login of this portal token was ended.' });

const expiredToken = (): Problem =>
  problem('INVALID_TOKEN', { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } });

/** The refusal of a caregiver whose participants have all withdrawn: its token has ended, and its page says why. */
const allWithdrawn = (): Problem =>
  problemOf(401, 'PARTICIPANT_WITHDRAWN', 'The participants of this caregiver have withdrawn.');

/** The refusal of a withdrawn participant: its token identifies it, but is valid for nothing else. */
export const participantWithdrawn = (): Problem =>
  problemOf(403, 'PARTICIPANT_WITHDRAWN', 'The participant of this portal token has withdrawn.');

/**
 * Admits the participant or refuses. It sees only itself: any other named object does not exist for it.
 * @param terms late: admits a withdrawn participant; expiredLogin: the login of a token that has expired, which is good
 *   for a withdrawn participant alone
 * @throws 401 unknown, 403 PARTICIPANT_WITHDRAWN, 404 another study, site or participant
 */
export function authorizeParticipant(
  row: PortalCallerRow | undefined,
  named: Named,
  { late = false, expiredLogin }: { late?: boolean | undefined; expiredLogin?: string | undefined } = {},
): ParticipantCaller {
  if (!row)
    throw problem('INVALID_TOKEN', { detail: 'The participant of this portal token does not take part (any more).' });
  if (row.login_ended) throw loginEnded();
  if (row.status !== 'enrolled' && !late) throw participantWithdrawn();
  if (row.status === 'enrolled' && expiredLogin !== undefined) throw expiredToken();
  if (other(named.studyId, row.study_id)) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  if (other(named.siteId, row.site_id)) throw problem('NOT_FOUND', { detail: 'There is no such site.' });
  if (other(named.participantId, row.id)) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  const { id, study_id, participant_code, preferred_language, status } = row;
  return {
    id,
    role: 'participant',
    study_id,
    participant_code,
    preferred_language,
    status,
    scope: study_id,
    ...(expiredLogin !== undefined && { expiredLogin }),
  };
}

/**
 * Admits a caregiver, for the named participant or its only one; or refuses.
 * @param expiredLogin as of a participant
 * @throws 401 inactive, or without an enrolled participant; 404 another study, site or participant; 400
 * PARTICIPANT_REQUIRED
 */
export function authorizeCaregiver(
  row: CaregiverCallerRow | undefined,
  named: Named,
  epoch: number,
  expiredLogin?: string,
): ParticipantCaller {
  const {
    id: caregiverId,
    study_id: caregiverStudy,
    name,
    preferred_language: language,
  } = authorizeCaregiverAlone(row, named, epoch);
  const { id, study_id, site_id, participant_code, preferred_language, status } = row!;
  if (expiredLogin !== undefined && status !== 'withdrawn') throw expiredToken();
  if (id === null || study_id === null || participant_code === null) {
    if (named.participantId !== undefined) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
    const message = 'X-Participant-ID (or participant_id) must name one of the participants that you care for';
    throw problem('PARTICIPANT_REQUIRED', {
      errors: [{ path: 'header.x-participant-id', code: 'PARTICIPANT_REQUIRED', message }],
    });
  }
  if (other(named.siteId, site_id)) throw problem('NOT_FOUND', { detail: 'There is no such site.' });
  const caregiver = { id: caregiverId, study_id: caregiverStudy, name, preferred_language: language };
  return {
    id,
    role: 'participant',
    study_id,
    participant_code,
    preferred_language,
    status: status ?? 'enrolled',
    scope: study_id,
    ...(expiredLogin !== undefined && { expiredLogin }),
    caregiver,
  };
}

/**
 * Admits a caregiver as itself.
 * @param epoch of its token
 * @throws 401 as above, or the token was ended; 404 another study
 */
export function authorizeCaregiverAlone(
  row: CaregiverCallerRow | undefined,
  named: Named,
  epoch: number,
): CaregiverCaller {
  if (row?.all_withdrawn && row.caregiver_status === 'active' && epoch === row.session_epoch) throw allWithdrawn();
  if (!row || row.caregiver_status !== 'active' || row.cares_for === 0)
    throw problem('INVALID_TOKEN', {
      detail: 'No active participants are assigned to the caregiver of this portal token.',
    });
  if (row.login_ended) throw loginEnded();
  if (epoch !== row.session_epoch) throw problem('INVALID_TOKEN', { detail: 'This portal token was ended.' });
  if (other(named.studyId, row.caregiver_study)) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  const {
    caregiver_id: id,
    caregiver_study: study_id,
    caregiver_name: name,
    caregiver_language: preferred_language,
  } = row;
  return { id, role: 'caregiver', study_id, name, preferred_language, scope: study_id };
}
