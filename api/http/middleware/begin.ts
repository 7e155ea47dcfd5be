import type { Dependencies } from '../../dependencies.js';
import { largestBody } from '../body/limit.js';
import { deprecation } from '../deprecation.js';
import { problem } from '../errors.js';
import { isAcceptable } from '../negotiation.js';
import type { Route } from '../route.js';
import type { RouteMiddleware } from '../state.js';
import { countRequest } from './rate-limit.js';

/** Begins a request to a route: its state, its deprecation headers. @throws 406 for an Accept that it cannot answer */
export function begin(route: Route, dependencies: Dependencies): RouteMiddleware {
  const bodyLimit = largestBody(route, dependencies.settings);
  const headers = route.deprecated && deprecation(route.deprecated);
  return async (ctx, next) => {
    const { state } = ctx;
    state.route = route.path;
    state.bodyLimit = bodyLimit;
    state.search = new URLSearchParams(ctx.querystring);
    state.raw = NOTHING;
    state.opened = {};
    state.handled = false;
    if (headers) ctx.set(headers);
    if (!isAcceptable(ctx, route)) {
      await countRequest(ctx, route.rateLimit ?? 'general', undefined, dependencies);
      throw problem('NOT_ACCEPTABLE');
    }
    return next();
  };
}

const NOTHING = Buffer.alloc(0);
