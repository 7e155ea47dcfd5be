import type { Statement } from '../../../db/client/one-trip.js';
import { withStudyScope, readInScope, withFileLimits } from '../../../db/client/transaction.js';
import type { Dependencies } from '../../dependencies.js';
import { inSession, sessionIdOf } from '../security/session-credential.js';
import { participantContext, siteContext, studyContext } from '../context.js';
import { Problem } from '../errors.js';
import type { Route, TransactionKind } from '../route.js';
import type { RouteContext, RouteMiddleware } from '../state.js';
import { streamInTransaction } from '../stream-in-transaction.js';
import { portalTransactions, userTransactions } from '../transactions.js';
import type { TransactionFactory, Work } from '../transactions.js';
import { checkedQuery } from './validate.js';

/**
 * Loads the caller, admits it (401, 403, 404 without access to the study, site or participant), and keeps the route's
 * transaction open while the rest of the pipeline runs in it.
 */
export function authorize(
  route: Route,
  { database }: Pick<Dependencies, 'database'>,
  transaction: TransactionKind | undefined,
): RouteMiddleware {
  if (transaction === 'session')
    return (ctx, next) =>
      inSession(database, sessionIdOf(ctx.headers), ({ tx, audit }, session) => {
        ctx.state.opened = { tx, audit, session };
        return next();
      });
  if (!route.access.token) return anonymous(database, transaction);
  return async (ctx, next) => {
    const { state } = ctx;
    // Without a principal it was admitted as a request from the local machine.
    if (route.access.onThisMachine && !state.principal) return next();
    const transactions = transactionsOf(ctx, route, database);
    await run(route, transactions, transaction, ctx, (actor, opened) => {
      state.actor = actor;
      state.opened = opened;
      return next();
    });
  };
}

/** Routes without a token see no study's rows; a service that needs them (a trigger, a link) opens its own scope. */
function anonymous(database: Dependencies['database'], transaction: TransactionKind | undefined): RouteMiddleware {
  if (transaction === 'change')
    return (ctx, next) =>
      withStudyScope(database, [], ({ tx, audit }) => {
        ctx.state.opened = { tx, audit };
        return next();
      });
  if (transaction === 'read')
    return (ctx, next) =>
      readInScope(database, [], (tx) => {
        ctx.state.opened = { tx };
        return next();
      });
  return (_ctx, next) => next();
}

/** By the caller's token and the objects that the request names (400, 422). */
function transactionsOf(ctx: RouteContext, { access }: Route, database: Dependencies['database']): TransactionFactory {
  const { params, search, principal } = ctx.state;
  const studyId = studyContext(ctx, access, params, search);
  const siteId = siteContext(ctx);
  // For staff it is only validated.
  const participantId =
    access.token === 'portal' || access.token === 'either' ? participantContext(ctx, params, search) : undefined;
  ctx.state.studyId = studyId;
  if (principal!.kind === 'participant' || principal!.kind === 'caregiver')
    return portalTransactions(database, access, principal!, { studyId, siteId, participantId });
  return userTransactions(database, access, principal!, {
    studyId: access.studyContext === 'filter' ? undefined : studyId,
    siteId,
    participantId: params.participant_id,
  });
}

async function run(
  route: Route,
  transactions: TransactionFactory,
  kind: TransactionKind | undefined,
  ctx: RouteContext,
  work: Work,
): Promise<void> {
  if (kind === undefined) return work(await transactions.load(), {});
  if (kind === 'snapshot') {
    // None for a portal token: the handler streams without a transaction.
    const { snapshot } = transactions;
    if (!snapshot) return work(await transactions.load(), {});
    return streamInTransaction(async (streamed) =>
      snapshot(async (actor, opened) => {
        await withFileLimits(opened.tx!);
        await work(actor, opened);
        await streamed(ctx.state.reply!);
      }),
    );
  }
  const statements = prefetch(ctx, route);
  if (kind === 'once' && statements && transactions.once) return transactions.once(work, statements);
  if (kind === 'list' && statements?.[0] && transactions.list) return transactions.list(work, statements[0]);
  if (kind === 'change')
    return transactions.change(
      async (actor, opened) => {
        if (ctx.state.upload) await withFileLimits(opened.tx!);
        return work(actor, opened);
      },
      statements,
      route.isTrial?.(ctx.state),
    );
  return transactions.read(work, statements);
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
