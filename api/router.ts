import { Router as KoaRouter } from '@koa/router';
import type { Route } from './route.js';

export type Match =
  | { kind: 'route'; route: Route; params: Record<string, string> }
  | { kind: 'method'; allow: string[] }
  | { kind: 'none' };

/** Finds a request's route, and tells a known path with an unknown method from an unknown path. */
export class Router {
  /** By the number of segments: the library tries every layer it has, and of hundreds most cannot fit. */
  private readonly routers = new Map<number, KoaRouter>();
  private readonly routes = new Map<string, Route>();

  constructor(routes: readonly Route[]) {
    for (const route of [...routes].sort((a, b) => (rank(a.path) < rank(b.path) ? -1 : 1))) {
      const name = `${route.method} ${route.path}`;
      if (this.routes.has(name)) throw new Error(`${name} is declared twice`);
      this.routes.set(name, route);
      // What is done with a match is the frame's (serve.ts): a layer only bears the route's name.
      this.ofLength(segmentsOf(route.path)).register(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), [route.method], (_ctx, next) => next(), { name });
    }
  }

  match(method: string, path: string): Match {
    const router = this.routers.get(segmentsOf(path));
    if (!router) return { kind: 'none' };
    const { path: fitting, pathAndMethod } = router.match(path, method);
    if (fitting.length === 0) return { kind: 'none' };
    // The most specific template alone says which methods there are: /exports/csv is no export called csv.
    const known = fitting.filter((one) => one.path === fitting[0]!.path);
    const layer = pathAndMethod.find((one) => known.includes(one));
    if (!layer) {
      const methods = [...new Set(known.flatMap((one) => one.methods))];
      return { kind: 'method', allow: [...methods.filter((m) => m !== 'HEAD'), ...methods.filter((m) => m === 'HEAD'), 'OPTIONS'] };
    }
    const values = layer.captures(path).map(decoded);
    const params: Record<string, string> = {};
    for (const [i, { name }] of layer.paramNames.entries()) {
      const value = values[i];
      if (value === undefined) return { kind: 'none' };
      params[name] = value;
    }
    return { kind: 'route', route: this.routes.get(layer.name!)!, params };
  }

  private ofLength(segments: number): KoaRouter {
    let router = this.routers.get(segments);
    if (!router) this.routers.set(segments, router = new KoaRouter({ strict: true, sensitive: true }));
    return router;
  }
}

const segmentsOf = (path: string): number => path.split('/').length;

/** A fixed segment goes before a parameter. */
const rank = (path: string): string => path.split('/').map((segment) => (segment.includes('{') ? '1' : `0${segment}`)).join('/');

function decoded(segment: string): string | undefined {
  try {
    const value = decodeURIComponent(segment);
    return value.includes('\0') ? undefined : value;
  } catch (fault) {
    // A broken escape names no resource.
    if (fault instanceof URIError) return undefined;
    throw fault;
  }
}
