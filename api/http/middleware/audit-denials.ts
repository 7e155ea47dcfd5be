import type { Dependencies } from '../../dependencies.js';
import { auditAccessDenied, auditRefusal } from './access-denied-audit.js';
import { Problem } from '../errors.js';
import type { Route } from '../route.js';
import type { RouteMiddleware } from '../state.js';

/**
 * Records a user's refusals after the request's own transaction was rolled back: a role or token without access to the
 * route, a wrong proof of identity. The handler's other refusals record themselves.
 */
export function auditDenials(route: Route, { database }: Pick<Dependencies, 'database'>): RouteMiddleware {
  const audit = route.access.refusalAction === undefined ? auditAccessDenied : auditRefusal;
  return async (ctx, next) => {
    const { state } = ctx;
    try {
      await next();
    } catch (fault) {
      if (fault instanceof Problem && state.userId !== undefined) {
        if (!state.handled) await audit(database, route, state, fault);
        await fault.afterRollback?.(database, state.context);
      }
      throw fault;
    }
  };
}
