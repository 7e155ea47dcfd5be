import { begin } from '../../../db/client/opening.js';
import type { Database } from '../../../db/client/database.js';
import { listAsCaller, lookUp, queryAsCaller } from '../../../db/client/request.js';
import type { Statement } from '../../../db/client/one-trip.js';
import { beginAudited, openingOf, withFileLimits } from '../../../db/client/transaction.js';
import type { Dependencies } from '../../dependencies.js';
import { callerOf } from '../caller.js';
import type { CallerClaim } from '../caller.js';
import { Problem } from '../errors.js';
import type { Route, TransactionKind } from '../route.js';
import { expiredInstead, lockNamedSession, sessionIdOf } from '../security/session-credential.js';
import type { OpenTransaction, RouteContext, RouteMiddleware } from '../state.js';
import { untilStreamed } from '../stream-in-transaction.js';
import { checkedQuery } from '../validation/query.js';

/** What the handler gets of a transaction, and how it ends. Nothing is open for a route without one. */
interface Opened {
  row?: unknown;
  given: OpenTransaction;
  commit: () => Promise<void>;
  rollback: () => Promise<void>;
}
const nothing = () => Promise.resolve();

/**
 * Loads the caller with the first statement of the route's transaction, admits it (401, 403, 404 without access to the
 * study, site or participant), and ends the transaction after the rest of the pipeline.
 */
export function authorize(
  route: Route,
  { database }: Pick<Dependencies, 'database'>,
  transaction: TransactionKind | undefined,
): RouteMiddleware {
  if (transaction === 'session') return ofSession(database);
  if (!route.access.token && transaction === undefined) return (_ctx, next) => next();
  return async (ctx, next) => {
    const { state } = ctx;
    // Without a principal it was admitted as a request from the local machine.
    if (route.access.onThisMachine && !state.principal) return next();
    const caller = route.access.token ? callerOf(ctx, route.access) : undefined;
    const { row, given, commit, rollback } = await open(database, caller, transaction, ctx, route);
    try {
      if (caller) state.actor = await caller.admit(row, given.tx);
      if (given.tx) {
        if (caller?.enter) await caller.enter(state.actor!, given.tx, given.audit);
        if (transaction === 'snapshot' || (transaction === 'change' && state.upload)) await withFileLimits(given.tx);
      }
      state.opened = given;
      await next();
    } catch (fault) {
      await rollback();
      throw fault;
    }
    await commit();
  };
}

/** Without a token no study's rows are seen; a service that needs them (a trigger, a link) opens its own scope. */
const ANYONE = { lookup: openingOf([]), isUser: false };
/** The look-up of a session sees every study; everything after it sees the session's own. */
const EVERY_STUDY = openingOf('*');

async function open(
  database: Database,
  caller: CallerClaim | undefined,
  kind: TransactionKind | undefined,
  ctx: RouteContext,
  route: Route,
): Promise<Opened> {
  const { lookup, isUser } = caller ?? ANYONE;
  // For a portal token the handler streams without a transaction.
  if (kind === undefined || (kind === 'snapshot' && !isUser))
    return { row: await lookUp(database, lookup), given: {}, commit: nothing, rollback: nothing };
  if (kind === 'snapshot')
    return untilStreamed(
      () => readOnly(database, lookup),
      () => ctx.state.reply!,
    );
  const first = isUser ? prefetch(ctx, route) : undefined;
  if (kind === 'change') {
    const mode = isUser && route.isTrial?.(ctx.state) ? 'trial' : 'write';
    const options = { mode, opening: lookup, first: first ?? [] } as const;
    const { rows, tx, audit, first: prefetched, commit, rollback } = await beginAudited(database, options);
    return { row: rows[0], given: { tx, audit, prefetched }, commit, rollback };
  }
  if (kind === 'once' && first) {
    const { row, first: prefetched } = await queryAsCaller(database, lookup, first);
    return { row, given: { prefetched }, commit: nothing, rollback: nothing };
  }
  if (kind === 'list' && first?.[0]) {
    const { row, page } = await listAsCaller(database, lookup, first[0]);
    return { row, given: { prefetched: [[page]] }, commit: nothing, rollback: nothing };
  }
  return readOnly(database, lookup, first);
}

async function readOnly(database: Database, opening: Statement, first: readonly Statement[] = []): Promise<Opened> {
  const { rows, tx, first: prefetched, commit, rollback } = await begin(database, { mode: 'read', opening, first });
  return { row: rows[0], given: { tx, prefetched }, commit, rollback };
}

/** The statements for the round trip that opens the route's transaction. */
function prefetch({ state }: RouteContext, route: Route): readonly Statement[] | undefined {
  if (!route.prefetch) return undefined;
  try {
    state.query = checkedQuery(route, state.search);
  } catch (fault) {
    // `validate` refuses an invalid query later.
    if (fault instanceof Problem) return undefined;
    throw fault;
  }
  return route.prefetch({ params: state.params, query: state.query, studyId: state.studyId });
}

/** The session in X-Session-ID is the credential; it is locked until the commit. */
function ofSession(database: Database): RouteMiddleware {
  return async (ctx, next) => {
    const { state } = ctx;
    const id = sessionIdOf(ctx.headers);
    const { tx, audit, commit, rollback } = await beginAudited(database, { mode: 'write', opening: EVERY_STUDY });
    try {
      const session = await lockNamedSession(tx, id);
      state.opened = { tx, audit, session };
      await next();
    } catch (fault) {
      await rollback();
      throw expiredInstead(state.opened.session, fault);
    }
    await commit();
  };
}
