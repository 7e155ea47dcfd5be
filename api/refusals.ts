import type { Caller } from '../db/request.js';
import { inScope } from '../db/transaction.js';
import { Problem } from './errors.js';
import type { Route } from './route.js';
import type { Services } from './services.js';

interface Refusable {
  route: Route;
  services: Services;
  state: { context: { requestId: string }; handled?: boolean };
}

/**
 * That somebody tried what their role or token does not allow is a record of the service's own chain; by the route's
 * pattern, never its path.
 */
export async function recordingForbidden<T>(
  { route, services, state }: Refusable,
  caller: Caller,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof Problem && fault.status === 403 && !state.handled) {
      await inScope(services.database, [], async ({ audit }) =>
        audit.record({
          study_id: null,
          user_id: caller.userId,
          action: 'access_refused',
          resource_type: 'route',
          resource_id: `${route.method} ${route.path}`,
          request_id: state.context.requestId,
          metadata: { code: fault.code, study_id: caller.studyId ?? null },
        }),
      );
    }
    throw fault;
  }
}
