import { principalOf } from '../security/principal.js';
import type { Principal } from '../security/principal.js';
import { isOnThisMachine } from '../security/this-machine.js';
import type { Dependencies } from '../../dependencies.js';
import type { Route } from '../route.js';
import type { RouteContext, RouteStep } from '../state.js';
import { countRequest } from './rate-limit.js';

/** Verifies the token of a request (401). Attempts with a bad token count for the address. */
export function authenticate({ access }: Route, dependencies: Dependencies): RouteStep {
  const principalOrCounted = async (ctx: RouteContext): Promise<Principal> => {
    try {
      return principalOf(ctx, access, dependencies.settings, ctx.state.params.study_id);
    } catch (fault) {
      // Limits attempts to guess tokens.
      await countRequest(ctx, 'general', undefined, dependencies);
      throw fault;
    }
  };
  return async (ctx) => {
    if (access.onThisMachine && isOnThisMachine(ctx, dependencies.settings)) return;
    const principal = await principalOrCounted(ctx);
    ctx.state.principal = principal;
    if (principal.kind === 'user' || principal.kind === 'token') ctx.state.userId = principal.userId;
  };
}
