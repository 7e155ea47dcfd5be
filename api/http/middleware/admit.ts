import type { Dependencies } from '../../dependencies.js';
import { requestBody } from '../route.js';
import type { Route } from '../route.js';
import type { RouteMiddleware, RouteStep } from '../state.js';
import { authenticate } from './authenticate.js';
import { begin } from './begin.js';
import { checkNames, hasNames } from './check-names.js';
import { rateLimit } from './rate-limit.js';
import { readBody } from './read-body.js';
import { mayBeLong } from '../body/limit.js';
import { requireSession } from '../security/session-credential.js';

/**
 * The first steps of a request, before any transaction: token (401), rate (429), address (403), names in the path
 * (404), body (413, 415, 400). A route has the steps that it needs.
 */
export function admit(route: Route, dependencies: Dependencies): RouteMiddleware {
  const steps: RouteStep[] = [
    begin(route, dependencies),
    ...(route.access.token ? [authenticate(route, dependencies)] : []),
    rateLimit(route, dependencies),
    ...(route.access.checkAddress ? [allowedAddress(route.access.checkAddress, dependencies)] : []),
    ...(hasNames(route) ? [checkNames(route)] : []),
    ...(route.transaction === 'session' && requestBody(route) ? [knownSession(dependencies)] : []),
    ...(requestBody(route) ? [readBody(route, dependencies)] : []),
  ];
  return async (ctx, next) => {
    for (const step of steps) await step(ctx);
    return next();
  };
}

const allowedAddress =
  (check: NonNullable<Route['access']['checkAddress']>, { settings }: Pick<Dependencies, 'settings'>): RouteStep =>
  (ctx) =>
    check(ctx.ip, settings);

/** A session is looked for before a long body is read; of a short one, with the rest of the request. */
function knownSession({ database }: Pick<Dependencies, 'database'>): RouteStep {
  return (ctx) => (mayBeLong(ctx.req) ? requireSession(database, ctx.headers) : undefined);
}
