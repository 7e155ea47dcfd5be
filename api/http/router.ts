import { METHODS } from 'node:http';
import { Router } from '@koa/router';
import type { RouterMiddleware } from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { Dependencies } from '../dependencies.js';
import { problem } from './errors.js';
import { answerFaults } from './middleware/answer-faults.js';
import { codecCors } from './middleware/codec-cors.js';
import { isPreflight } from './middleware/cors.js';
import { countRequest } from './middleware/rate-limit.js';
import { pipeline } from './pipeline.js';
import type { Route } from './route.js';

const STRICT = { strict: true, sensitive: true };

/**
 * All routes, mounted as one router for each resource and path length: the library tries every path of a router, and
 * most of hundreds cannot match.
 */
export function mountedRoutes(routes: readonly Route[], dependencies: Dependencies): Middleware {
  const routers = new Map<string, Router>();
  for (const [path, ofPath] of byPath(routes)) {
    const mount = mountOf(path);
    const router = routers.get(mount) ?? newRouter(path, dependencies);
    routers.set(mount, router);
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const route of ofPath) router.register(pattern, [route.method], middlewaresOf(route, dependencies));
    // Only the most specific path decides the methods: /exports/csv is not an export with the id csv.
    router.register(pattern, METHODS, otherMethods(ofPath, dependencies));
  }
  const mounted = new Map([...routers].map(([mount, router]) => [mount, router.routes() as unknown as Middleware]));
  return (ctx, next) => mounted.get(mountOf(ctx.path))?.(ctx, next) ?? next();
}

/** The Temporal UI, of another origin, calls the codec. */
function newRouter(path: string, { settings }: Dependencies): Router {
  const router = new Router(STRICT);
  if (path.startsWith('/codec/')) router.use(codecCors(settings));
  return router;
}

/** The library does not know the type of a request's state. */
const middlewaresOf = (route: Route, dependencies: Dependencies) =>
  pipeline(route, dependencies) as unknown as RouterMiddleware[];

/** The answer to a method that a path does not have: for a page, a page. */
function otherMethods(ofPath: readonly Route[], dependencies: Dependencies): RouterMiddleware[] {
  const page = ofPath.find(({ onFault }) => onFault);
  const refuse = refuseMethod(ofPath, dependencies);
  return page ? [answerFaults(page, dependencies) as unknown as RouterMiddleware, refuse] : [refuse];
}

/** Answers OPTIONS, and refuses an unsupported method of a known path with a list of the supported ones. */
function refuseMethod(routes: readonly Route[], dependencies: Dependencies) {
  const methods = [...new Set(routes.map(({ method }) => method))];
  const allow = { Allow: [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ') };
  return async (ctx: Context): Promise<void> => {
    const limit = isPreflight(ctx, dependencies.settings.CORS_ORIGINS ?? []) ? 'none' : 'general';
    await countRequest(ctx, limit, undefined, dependencies);
    if (ctx.method !== 'OPTIONS') throw problem('METHOD_NOT_ALLOWED', { headers: allow });
    ctx.set(allow);
    ctx.status = 204;
  };
}

/** The routes of each path, more specific ones (with fixed segments) first. */
function byPath(routes: readonly Route[]): [string, Route[]][] {
  const paths = new Map<string, Route[]>();
  for (const route of routes) {
    const known = paths.get(route.path) ?? [];
    if (known.some(({ method }) => method === route.method))
      throw new Error(`${route.method} ${route.path} is declared twice`);
    paths.set(route.path, [...known, route]);
  }
  return [...paths].sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
}

/** A fixed segment has priority over a parameter. */
const rank = (path: string): string =>
  path
    .split('/')
    .map((segment) => (segment.includes('{') ? '1' : `0${segment}`))
    .join('/');

/** The mount point of a path: `/api/studies` and its number of segments, which no parameter changes. */
function mountOf(path: string): string {
  const { length, 1: first = '', 2: second = '' } = path.split('/');
  return first === 'api' ? `/api/${second} ${length}` : `/${first} ${length}`;
}
