import type { Dependencies } from '../dependencies.js';
import { admit } from './middleware/admit.js';
import { auditDenials } from './middleware/audit-denials.js';
import { authorize } from './middleware/authorize.js';
import { answerFaults } from './middleware/answer-faults.js';
import { handle } from './middleware/handle.js';
import { idempotency } from './middleware/idempotency.js';
import { respond } from './middleware/respond.js';
import { takesKey } from './route.js';
import type { Route } from './route.js';
import type { RouteMiddleware } from './state.js';

/**
 * The middlewares of a request to a route, in this order, so that nobody learns more than they may: token (401), rate
 * (429), names in the path (404), body read (413, 415, 400), all in `admit`; role (403), access to study, site and
 * participant (404) in `authorize`; Idempotency-Key (409); schema (422) and handler in `handle`. A route has the
 * middlewares that it needs. app.ts has those of every request.
 */
export function pipeline(route: Route, dependencies: Dependencies): RouteMiddleware[] {
  const { access, transaction } = route;
  return [
    ...(route.onFault ? [answerFaults(route, dependencies)] : []),
    admit(route, dependencies),
    respond(dependencies),
    ...(access.token ? [auditDenials(route, dependencies)] : []),
    ...(claimsBeforeReading(route)
      ? [onlyWithKey(authorize(route, dependencies, undefined)), idempotency(route, dependencies)]
      : []),
    authorize(route, dependencies, transaction),
    ...(takesKey(route) && !claimsBeforeReading(route) ? [idempotency(route, dependencies)] : []),
    handle(route, dependencies),
  ];
}

/**
 * Claim and answer commit with the change, if the route has a writing transaction. A reading transaction is opened
 * after the claim, which commits separately: otherwise a request would hold one connection while it waits for a second.
 * The caller is admitted before the claim.
 */
const claimsBeforeReading = (route: Route): boolean =>
  takesKey(route) && ['read', 'once', 'list', 'snapshot'].includes(route.transaction ?? '');

const onlyWithKey =
  (middleware: RouteMiddleware): RouteMiddleware =>
  (ctx, next) =>
    ctx.headers['idempotency-key'] === undefined ? next() : middleware(ctx, next);
