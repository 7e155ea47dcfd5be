import type { Context } from 'koa';
import type { Dependencies } from '../../dependencies.js';
import { largestBody } from '../body/limit.js';
import { deprecation } from '../conventions/deprecation.js';
import { problem } from '../errors.js';
import { isAcceptable } from '../conventions/negotiation.js';
import type { Route } from '../route.js';
import type { RouteStep } from '../state.js';
import { countRequest } from './rate-limit.js';

/**
 * Begins a request to a route: its state, its deprecation headers.
 * @throws 404 for a path with an invalid escape, 406 for an Accept that the route cannot satisfy
 */
export function begin(route: Route, dependencies: Dependencies): RouteStep {
  const bodyLimit = largestBody(route, dependencies.settings);
  const headers = route.deprecated && deprecation(route.deprecated);
  return async (ctx) => {
    const { state } = ctx;
    const { params, captures } = ctx as unknown as { params: Record<string, string>; captures: string[] };
    if (!captures.every(isDecodable)) await refuseUnknownPath(ctx, dependencies);
    state.params = params;
    state.route = route.path;
    state.bodyLimit = bodyLimit;
    state.search = new URLSearchParams(ctx.querystring);
    // A page's form sends all of its fields: empty ones count as absent.
    if (route.onFault)
      for (const [name] of [...state.search].filter(([, value]) => value === '')) state.search.delete(name, '');
    state.raw = NOTHING;
    state.opened = {};
    state.handled = false;
    if (headers) ctx.set(headers);
    if (!isAcceptable(ctx, route)) {
      await countRequest(ctx, route.rateLimit ?? 'general', undefined, dependencies);
      throw problem('NOT_ACCEPTABLE');
    }
  };
}

const NOTHING = Buffer.alloc(0);

/** @throws 404, counted for the address: the token was not checked yet */
export async function refuseUnknownPath(ctx: Context, dependencies: Dependencies): Promise<never> {
  await countRequest(ctx, 'general', undefined, dependencies);
  throw problem('NOT_FOUND', { detail: 'There is nothing at this path.' });
}

/** An invalid escape names no resource. */
function isDecodable(segment: string): boolean {
  try {
    return !decodeURIComponent(segment).includes('\0');
  } catch (fault) {
    if (fault instanceof URIError) return false;
    throw fault;
  }
}
