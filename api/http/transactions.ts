import type { Statement } from '../../db/client/one-trip.js';
import { changeAsPortal, enterStudy, loadPortalCaller, readAsPortal } from '../../db/portal/portal.queries.js';
import type { CaregiverCallerRow, PortalAsker } from '../../db/portal/portal.queries.js';
import { writeAsCaller, loadCaller, queryAsCaller, listAsCaller, readAsCaller } from '../../db/client/request.js';
import type { Caller, CallerRow } from '../../db/client/request.js';
import type { PortalPrincipal } from './security/portal.js';
import type { Principal } from './security/principal.js';
import { authorizeCaregiver, authorizeCaregiverAlone, authorizeParticipant, authorizeUser } from './access.js';
import type { Access, AnyCaller, CaregiverCaller, Named, ParticipantCaller } from './access.js';
import type { OpenTransaction } from './state.js';
import type { PortalCallerRow } from '../../db/participants/portal-caller.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

/** The work of a transaction, after the caller was admitted. */
export type Work = (actor: AnyCaller, opened: OpenTransaction) => Promise<void>;

/**
 * The transactions of one caller. Each loads and admits the caller (401, 403, 404) with its first statement, which
 * narrows the rest to what the caller may see.
 */
export interface TransactionFactory {
  /** Loads the caller without a transaction. */
  load: () => Promise<AnyCaller>;
  read: (work: Work, prefetch?: readonly Statement[]) => Promise<void>;
  /** `trial`: a dry run reads one snapshot; users only. */
  change: (work: Work, prefetch?: readonly Statement[], trial?: boolean) => Promise<void>;
  /** Users only. */
  once?: (work: Work, prefetch: readonly Statement[]) => Promise<void>;
  /** Users only. */
  list?: (work: Work, statement: Statement) => Promise<void>;
  /** Users only. */
  snapshot?: (work: Work) => Promise<void>;
}

/** For a user, by an access token or a token of /api/v1. */
export function userTransactions(
  database: Database,
  access: Access,
  principal: Exclude<Principal, PortalPrincipal>,
  named: Named,
): TransactionFactory {
  const credential = principal.kind === 'user' ? principal.credential : undefined;
  const epoch = principal.kind === 'user' && credential?.audience === 'api' ? principal.epoch : undefined;
  const caller: Caller = {
    userId: principal.userId,
    login: credential?.sid,
    ...named,
    token: principal.kind === 'token' ? { id: principal.id, hash: principal.hash } : undefined,
  };
  const enter = (row: CallerRow | undefined) => authorizeUser(access, row, named.studyId, epoch);
  return {
    load: async () => enter(await loadCaller(database, caller)),
    read: (work, first) =>
      readAsCaller(
        database,
        caller,
        enter,
        (tx, actor, prefetched) => work(actor, { tx, prefetched }),
        first ? { first } : {},
      ),
    change: (work, first, trial = false) =>
      writeAsCaller(
        database,
        caller,
        enter,
        ({ tx, audit }, actor, prefetched) => work(actor, { tx, audit, prefetched }),
        { trial, ...(first && { first }) },
      ),
    once: async (work, statements) => {
      const { admitted, first } = await queryAsCaller(database, caller, enter, statements);
      return work(admitted, { prefetched: first });
    },
    list: async (work, statement) => {
      let actor: AnyCaller | undefined;
      const page = await listAsCaller(database, caller, (row) => (actor = enter(row)), statement);
      return work(actor!, { prefetched: [[page]] });
    },
    snapshot: (work) => readAsCaller(database, caller, enter, (tx, actor) => work(actor, { tx })),
  };
}

/** For a portal token: the participant itself, or a caregiver for the request's participant. */
export function portalTransactions(
  database: Database,
  access: Access,
  principal: PortalPrincipal,
  named: Named,
): TransactionFactory {
  if (principal.kind === 'participant')
    return ofPortal(database, { kind: 'participant', id: principal.id, login: principal.login }, (row) =>
      authorizeParticipant(row as PortalCallerRow | undefined, named, {
        late: access.evenWithdrawn,
        expiredLogin: principal.expired ? principal.login : undefined,
      }),
    );
  const authorize = access.token === 'anyPortalUser' ? authorizeCaregiverAlone : authorizeCaregiver;
  return ofPortal(
    database,
    { kind: 'caregiver', id: principal.id, participantId: named.participantId, login: principal.login },
    (row) => authorize(row as CaregiverCallerRow | undefined, named, principal.epoch),
  );
}

function ofPortal(
  database: Database,
  asker: PortalAsker,
  enter: (row: PortalCallerRow | CaregiverCallerRow | undefined) => ParticipantCaller | CaregiverCaller,
): TransactionFactory {
  return {
    load: async () => enter(await loadPortalCaller(database, asker)),
    read: (work) =>
      readAsPortal(database, asker, enter, async (tx, actor) => {
        await enterStudyOfWithdrawn(tx, actor);
        return work(actor, { tx });
      }),
    change: (work) =>
      changeAsPortal(database, asker, enter, async ({ tx, audit }, actor) => {
        await enterStudyOfWithdrawn(tx, actor);
        return work(actor, { tx, audit });
      }),
  };
}

/** A withdrawn participant's look-up opens no study; a route that admits it needs its study. */
async function enterStudyOfWithdrawn(tx: Tx, actor: ParticipantCaller | CaregiverCaller): Promise<void> {
  if (actor.role === 'participant' && actor.status === 'withdrawn') await enterStudy(tx, actor.study_id);
}
