import type { AuditTrail } from '../../db/audit/audit.js';
import type { Statement } from '../../db/client/one-trip.js';
import { callerLookup } from '../../db/client/request.js';
import type { CallerRow } from '../../db/client/request.js';
import type { Tx } from '../../db/client/database.js';
import type { PortalCallerRow } from '../../db/participants/portal-caller.js';
import {
  asCaregiver,
  enterStudy,
  haveAllWithdrawn,
  isEndedLogin,
  portalLookup,
  withWithdrawn,
} from '../../db/portal/portal.queries.js';
import type { CaregiverCallerRow } from '../../db/portal/portal.queries.js';
import {
  authorizeCaregiver,
  authorizeCaregiverAlone,
  authorizeParticipant,
  authorizeUser,
  loginEnded,
} from './access.js';
import type { Access, AnyCaller, Named } from './access.js';
import { namedIn } from './context.js';
import type { PortalPrincipal } from './security/portal.js';
import type { Principal } from './security/principal.js';
import type { RouteContext } from './state.js';

/** The caller of a request before it is admitted. */
export interface CallerClaim {
  /** The statement that finds the caller, and narrows the rest of its transaction to what the caller may see. */
  lookup: Statement;
  /** Admits the caller of that row. @throws 401, 403, 404 without access to the study, site or participant */
  admit: (row: unknown, tx: Tx | undefined) => AnyCaller | Promise<AnyCaller>;
  /** A user's statements may run in the round trip that looks it up. */
  isUser: boolean;
  /** Of a portal token: what its transaction needs besides. */
  enter?: (actor: AnyCaller, tx: Tx, audit: AuditTrail | undefined) => Promise<void>;
}

/** The caller of a request, by its token and by the objects that the request names. @throws 400, 422 */
export function callerOf(ctx: RouteContext, access: Access): CallerClaim {
  const { state } = ctx;
  const principal = state.principal!;
  const named = namedIn(ctx, access);
  state.studyId = named.studyId;
  state.siteId = named.siteId;
  if (principal.kind === 'participant' || principal.kind === 'caregiver') return portalCaller(access, principal, named);
  return userCaller(access, principal, {
    ...named,
    ...(access.studyContext === 'filter' && { studyId: undefined }),
    participantId: state.params.participant_id,
  });
}

/** A user, by an access token or a token of /api/v1. */
function userCaller(access: Access, principal: Exclude<Principal, PortalPrincipal>, named: Named): CallerClaim {
  const credential = principal.kind === 'user' ? principal.credential : undefined;
  const epoch = principal.kind === 'user' && credential?.audience === 'api' ? principal.epoch : undefined;
  return {
    isUser: true,
    lookup: callerLookup({
      userId: principal.userId,
      login: credential?.sid,
      ...named,
      token: principal.kind === 'token' ? { id: principal.id, hash: principal.hash } : undefined,
    }),
    admit: (row) => authorizeUser(access, row as CallerRow | undefined, named.studyId, epoch),
  };
}

/** The participant of a portal token, or a caregiver for the request's participant. */
function portalCaller(access: Access, principal: PortalPrincipal, named: Named): CallerClaim {
  if (principal.kind === 'participant')
    return {
      isUser: false,
      lookup: portalLookup({ kind: 'participant', id: principal.id, login: principal.login }),
      admit: (row) =>
        authorizeParticipant(row as PortalCallerRow | undefined, named, {
          late: access.evenWithdrawn,
          expiredLogin: principal.expired ? principal.login : undefined,
        }),
      // The look-up of a withdrawn one opens no study; a route that admits it needs its study.
      enter: async (actor, tx) => {
        if (actor.role !== 'participant' || actor.status !== 'withdrawn') return;
        await enterStudy(tx, actor.study_id);
        if (principal.login && (await isEndedLogin(tx, principal.login))) throw loginEnded();
      },
    };
  const { id, login, epoch } = principal;
  const { participantId } = named;
  const authorize = (row: CaregiverCallerRow | undefined) =>
    access.token === 'anyPortalUser'
      ? authorizeCaregiverAlone(row, named, epoch)
      : authorizeCaregiver(row, named, epoch, principal.expired ? login : undefined);
  return {
    isUser: false,
    lookup: portalLookup({ kind: 'caregiver', id, participantId, login }),
    admit: async (found, tx) => {
      const row = found as CaregiverCallerRow | undefined;
      if (!row || !tx) return authorize(row);
      if (access.evenWithdrawn) return authorize(await withWithdrawn(tx, row, { participantId, login }));
      return authorize({ ...row, all_withdrawn: await haveAllWithdrawn(tx, row, login) });
    },
    // Each record names the caregiver.
    enter: async (_actor, _tx, audit) => audit?.inEach(asCaregiver(id)),
  };
}
