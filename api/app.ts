import Koa from 'koa';
import { deprecation } from './deprecation.js';
import { problem } from './errors.js';
import { compress } from './middleware/compress.js';
import { codecCors } from './middleware/codec-cors.js';
import { cors } from './middleware/cors.js';
import { count } from './middleware/count.js';
import { envelope } from './middleware/envelope.js';
import { isAcceptable } from './negotiation.js';
import type { Route } from './route.js';
import { Router } from './router.js';
import { largestBody } from './body-limit.js';
import { serve } from './serve.js';
import type { State } from './serve.js';
import type { Services } from './services.js';

/** The Koa application over `routes`. `isDraining`: answers close their connections from then on. */
export function createApp(services: Services, routes: readonly Route[], isDraining: () => boolean = () => false): Koa {
  const app = new Koa();
  if (services.settings.TRUST_PROXY) {
    app.proxy = true;
    // The last address is the one that our own proxy saw; those before it are whatever the client wrote.
    app.maxIpsCount = 1;
  }
  const router = new Router(routes);
  if (services.tracing) app.use(services.tracing.middleware);
  app.use(envelope(services, isDraining));
  app.use(cors(services.settings.CORS_ORIGINS ?? [], routes));
  app.use(codecCors(services.settings));
  app.use(compress);
  app.use(async (ctx) => {
    const match = router.match(ctx.method, ctx.path);
    // What no route answers counts for the address: nobody has looked at a token yet.
    if (match.kind !== 'route') await count(ctx, 'general', undefined, services);
    if (match.kind === 'none') throw problem('NOT_FOUND', { detail: 'There is nothing at this path.' });
    if (match.kind === 'method') {
      const allow = { Allow: match.allow.join(', ') };
      if (ctx.method !== 'OPTIONS') throw problem('METHOD_NOT_ALLOWED', { headers: allow });
      ctx.set(allow);
      ctx.status = 204;
      return;
    }
    Object.assign(ctx.state, {
      route: match.route.path,
      largest: largestBody(match.route, services.settings),
    } satisfies Partial<State>);
    if (match.route.deprecated) ctx.set(deprecation(match.route.deprecated));
    if (!isAcceptable(ctx, match.route)) {
      await count(ctx, match.route.limit ?? 'general', undefined, services);
      throw problem('NOT_ACCEPTABLE');
    }
    await serve(ctx, match.route, match.params, services);
  });
  // What fails after the answer began (a client that went away) has no answer left to give.
  app.on('error', (error: Error) =>
    services.log.warn({ err: { type: error.name, code: (error as { code?: unknown }).code } }, 'connection'),
  );
  return app;
}
