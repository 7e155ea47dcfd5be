import { studyExists } from '../../../db/studies/study-config.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { Database } from '../../../db/client/database.js';
import type { Dependencies } from '../../dependencies.js';
import { Problem } from '../errors.js';
import type { Route } from '../route.js';
import type { RouteMiddleware, RouteState } from '../state.js';

/**
 * Records a user's refusals after the request's own transaction was rolled back: a role, token or site without access,
 * whether the route or its handler finds that, and a wrong proof of identity. Refused messages to a participant's
 * workflow are recorded where they are refused.
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
        else if (fault.options.recorded === undefined && fault.afterRollback === undefined)
          await auditAccessDenied(database, route, state, fault);
        await fault.afterRollback?.(database, state.context);
      }
      throw fault;
    }
  };
}

/**
 * Records in the service's own chain that a caller tried something their role or token does not allow; by the route's
 * pattern, never its path.
 */
async function auditAccessDenied(
  database: Database,
  route: Route,
  { userId, studyId, context }: RouteState,
  fault: Problem,
): Promise<void> {
  if (fault.status !== 403) return;
  await withStudyScope(database, [], async ({ audit }) =>
    audit.record({
      study_id: null,
      user_id: userId!,
      action: 'access_refused',
      resource_type: 'route',
      resource_id: `${route.method} ${route.path}`,
      request_id: context.requestId,
      metadata: { code: fault.code, study_id: studyId ?? null },
    }),
  );
}

/**
 * Records the pipeline's refusals in the study's chain too (every refused decision is an audit record). A study that
 * does not exist has no chain.
 */
async function auditRefusal(
  database: Database,
  { access }: Route,
  { userId, studyId, params, context }: RouteState,
  fault: Problem,
): Promise<void> {
  if (![401, 403, 404].includes(fault.status) || studyId === undefined) return;
  await withStudyScope(database, '*', async ({ tx, audit }) => {
    if (!(await studyExists(tx, studyId))) return;
    audit.record({
      study_id: studyId,
      user_id: userId!,
      action: access.refusalAction!,
      resource_type: 'participant',
      resource_id: params.participant_id ?? null,
      request_id: context.requestId,
      metadata: {
        code: fault.code,
        override_request_id: params.override_request_id ?? null,
        via: 'rest',
        identity: 'verified',
      },
    });
  });
}
