import Koa from 'koa';
import type { Dependencies } from './dependencies.js';
import { compress } from './http/middleware/compression.js';
import { cors } from './http/middleware/cors.js';
import { requestLogger } from './http/middleware/request-logger.js';
import type { Route } from './http/route.js';
import { mountedRoutes, notFound } from './http/router.js';

/** The Koa application over `routes`. `isDraining`: answers close their connections from then on. */
export function createApp(
  dependencies: Dependencies,
  routes: readonly Route[],
  isDraining: () => boolean = () => false,
): Koa {
  const { settings, tracing, log } = dependencies;
  const app = new Koa();
  if (settings.TRUST_PROXY) {
    app.proxy = true;
    // The last address is the one that our own proxy saw; those before it are whatever the client wrote.
    app.maxIpsCount = 1;
  }
  if (tracing) app.use(tracing.middleware);
  app.use(requestLogger(dependencies, isDraining));
  if (settings.CORS_ORIGINS?.length) app.use(cors(settings.CORS_ORIGINS, routes));
  app.use(compress);
  app.use(mountedRoutes(routes, dependencies));
  app.use(notFound(dependencies));
  // What fails after the answer began (a client that went away) has no answer left to give.
  app.on('error', (error: Error) =>
    log.warn({ err: { type: error.name, code: (error as { code?: unknown }).code } }, 'connection'),
  );
  return app;
}
