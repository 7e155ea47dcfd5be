import { Router as KoaRouter } from '@koa/router';
import type { Route } from './route.js';

export type Match =
  | { kind: 'route'; route: Route; params: Record<string, string> }
  | { kind: 'method'; allow: string[] }
  | { kind: 'none' };

const ANY = '{}';

/**
 * Finds a request's route, and tells a known path with an unknown method from an unknown path. The library tries every
 * layer that it has, and of hundreds most cannot fit: each shelf has those that may, by the number of segments, the
 * resource and what of it.
 */
export class Router {
  private readonly shelves = new Map<string, KoaRouter>();
  private readonly routes = new Map<string, Route>();

  constructor(routes: readonly Route[]) {
    for (const { path } of routes)
      for (const shelf of [shelfOf(path), shelfOf(path, ANY)])
        this.shelves.set(shelf, new KoaRouter({ strict: true, sensitive: true }));
    for (const route of [...routes].sort((a, b) => (rank(a.path) < rank(b.path) ? -1 : 1))) {
      const name = `${route.method} ${route.path}`;
      if (this.routes.has(name)) throw new Error(`${name} is declared twice`);
      this.routes.set(name, route);
      for (const [shelf, router] of this.shelves) {
        // What is done with a match is the frame's (serve.ts): a layer only bears the route's name.
        if (mayFit(route.path, shelf))
          router.register(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), [route.method], (_ctx, next) => next(), { name });
      }
    }
  }

  match(method: string, path: string): Match {
    const router = this.shelves.get(shelfOf(path)) ?? this.shelves.get(shelfOf(path, ANY));
    if (!router) return { kind: 'none' };
    const { path: fitting, pathAndMethod } = router.match(path, method);
    if (fitting.length === 0) return { kind: 'none' };
    // The most specific template alone says which methods there are: /exports/csv is no export called csv.
    const known = fitting.filter((one) => one.path === fitting[0]!.path);
    const layer = pathAndMethod.find((one) => known.includes(one));
    if (!layer) {
      const methods = [...new Set(known.flatMap((one) => one.methods))];
      return {
        kind: 'method',
        allow: [...methods.filter((m) => m !== 'HEAD'), ...methods.filter((m) => m === 'HEAD'), 'OPTIONS'],
      };
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
}

/** Where a path is looked for: /api/studies/{id}/sites on `5/studies/sites`. */
function shelfOf(path: string, part?: string): string {
  const segments = path.split('/');
  return `${segments.length}/${segments[2] ?? ''}/${part ?? segments[4] ?? ''}`;
}

/** Whether a template fits paths of that shelf: where it has a parameter, whatever stands there. */
function mayFit(template: string, shelf: string): boolean {
  const segments = template.split('/');
  if (segments.slice(0, 3).some((segment) => segment.startsWith('{')))
    throw new Error(`${template}: what a path is of is fixed`);
  return (
    shelfOf(template) === shelf || (segments[4]?.startsWith('{') === true && shelf.startsWith(shelfOf(template, '')))
  );
}

/** A fixed segment goes before a parameter. */
const rank = (path: string): string =>
  path
    .split('/')
    .map((segment) => (segment.includes('{') ? '1' : `0${segment}`))
    .join('/');

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
