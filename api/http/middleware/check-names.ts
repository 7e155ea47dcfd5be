import { sessionIdOf } from '../security/session-credential.js';
import { problem } from '../errors.js';
import { isUuidParam } from '../route.js';
import type { Route } from '../route.js';
import type { RouteStep } from '../state.js';
import { UUID } from '../../../db/client/uuid.js';

/**
 * Refuses path ids that are no uuids, since nothing has them (404), and an invalid session id (401). An id in capitals,
 * as some platforms write it, is the same one: it also names workflows, files and audit records.
 */
export function checkNames(route: Route): RouteStep {
  const ids = idsOf(route);
  const { transaction } = route;
  return (ctx) => {
    const { params } = ctx.state;
    for (const name of ids) {
      if (!UUID.test(params[name]!)) throw problem('NOT_FOUND');
      params[name] = params[name]!.toLowerCase();
    }
    if (transaction === 'session') sessionIdOf(ctx.headers);
  };
}

/** Whether a route has such names. */
export const hasNames = (route: Route): boolean => idsOf(route).length > 0 || route.transaction === 'session';

const idsOf = ({ path }: Route): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!).filter(isUuidParam);
