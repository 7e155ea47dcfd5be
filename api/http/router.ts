import { METHODS } from 'node:http';
import { Router } from '@koa/router';
import type { RouterMiddleware } from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { Dependencies } from '../dependencies.js';
import { problem } from './errors.js';
import { answerFaults } from './middleware/answer-faults.js';
import { codecCors } from './middleware/codec-cors.js';
import { refuseUnknownPath } from './middleware/begin.js';
import { countRequest } from './middleware/rate-limit.js';
import { pipeline } from './pipeline.js';
import type { Route } from './route.js';

const STRICT = { strict: true, sensitive: true };

/**
 * All routes, mounted as one router for each resource and length of path: the library tries every path that a router has,
 * and of hundreds most cannot fit.
 */
export function mountedRoutes(routes: readonly Route[], dependencies: Dependencies): Middleware {
  const routers = new Map<string, Router>();
  for (const [path, ofPath] of byPath(routes)) {
    const mount = mountOf(path);
    const router = routers.get(mount) ?? newRouter(path, dependencies);
    routers.set(mount, router);
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const route of ofPath) router.register(pattern, [route.method], middlewaresOf(route, dependencies));
    // The most specific path alone says which methods there are: /exports/csv is no export called csv.
    router.register(pattern, METHODS, otherMethods(ofPath, dependencies));
  }
  const mounted = new Map([...routers].map(([mount, router]) => [mount, router.routes() as unknown as Middleware]));
  return (ctx, next) => mounted.get(mountOf(ctx.path))?.(ctx, next) ?? next();
}

/** The Temporal UI, which is another origin, asks the codec. */
function newRouter(path: string, { settings }: Dependencies): Router {
  const router = new Router(STRICT);
  if (path.startsWith('/codec/')) router.use(codecCors(settings));
  return router;
}

/** The library does not know what the state of a request is. */
const middlewaresOf = (route: Route, dependencies: Dependencies) =>
  pipeline(route, dependencies) as unknown as RouterMiddleware[];

/** What is answered to a method that a path does not have: of a page by a page. */
function otherMethods(ofPath: readonly Route[], dependencies: Dependencies): RouterMiddleware[] {
  const page = ofPath.find(({ onFault }) => onFault);
  const refuse = refuseMethod(ofPath, dependencies);
  return page ? [answerFaults(page, dependencies) as unknown as RouterMiddleware, refuse] : [refuse];
}

/** Where no route is found. */
export const notFound = (dependencies: Dependencies) => (ctx: Context) => refuseUnknownPath(ctx, dependencies);

/** Answers OPTIONS, and refuses a method that a known path does not have, with the methods that it has. */
function refuseMethod(routes: readonly Route[], dependencies: Dependencies) {
  const methods = [...new Set(routes.map(({ method }) => method))];
  const allow = { Allow: [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ') };
  return async (ctx: Context): Promise<void> => {
    await countRequest(ctx, 'general', undefined, dependencies);
    if (ctx.method !== 'OPTIONS') throw problem('METHOD_NOT_ALLOWED', { headers: allow });
    ctx.set(allow);
    ctx.status = 204;
  };
}

/** The routes of each path, those first that a fixed segment makes more specific. */
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

/** A fixed segment goes before a parameter. */
const rank = (path: string): string =>
  path
    .split('/')
    .map((segment) => (segment.includes('{') ? '1' : `0${segment}`))
    .join('/');

/** Where a path is mounted: `/api/studies` and its number of segments, which no parameter changes. */
function mountOf(path: string): string {
  const { length, 1: first = '', 2: second = '' } = path.split('/');
  return first === 'api' ? `/api/${second} ${length}` : `/${first} ${length}`;
}
