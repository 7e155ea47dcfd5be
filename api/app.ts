import Koa from 'koa';
import type { Dependencies } from './dependencies.js';
import { compress } from './http/middleware/compression.js';
import { cors } from './http/middleware/cors.js';
import { proxiedAddress } from './http/middleware/proxied-address.js';
import { requestLogger } from './http/middleware/request-logger.js';
import type { Route } from './http/route.js';
import { unknownPath } from './http/middleware/unknown-path.js';
import { mountedRoutes } from './http/router.js';

/** The Koa application over `routes`. */
export function createApp(dependencies: Dependencies, routes: readonly Route[]): Koa {
  const { settings, tracing, log } = dependencies;
  const app = new Koa();
  if (settings.TRUST_PROXY) {
    app.proxy = true;
    // Our own proxy added the last address; the client may have written the others.
    app.maxIpsCount = 1;
    app.use(proxiedAddress);
  }
  if (tracing) app.use(tracing.middleware);
  app.use(requestLogger(dependencies));
  if (settings.CORS_ORIGINS?.length) app.use(cors(settings.CORS_ORIGINS, routes));
  app.use(compress);
  app.use(mountedRoutes(routes, dependencies));
  app.use(unknownPath(routes, dependencies));
  // After the answer has begun (the client disconnected), an error can't be answered.
  app.on('error', (error: Error) =>
    log.warn({ err: { type: error.name, code: (error as { code?: unknown }).code } }, 'connection'),
  );
  return app;
}
