import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { Services } from './services.js';
import { createApp } from './app.js';
import type { Route } from './route.js';

export interface Listening {
  server: Server;
  url: string;
  /** Takes nothing new, finishes what runs (8 s at most), then closes. */
  drain: () => Promise<void>;
}

const DRAIN_MS = 8_000;
/** For so long open connections are used up: each answer closes its own. */
const LAST_CALL_MS = 500;

/**
 * Serves `routes` on `host`:`port` (`auto`: a free one).
 * @throws Error in one sentence when the port is taken or not allowed
 */
export async function listen(services: Services, routes: readonly Route[]): Promise<Listening> {
  const { HOST, PORT } = services.settings;
  let draining = false;
  const handler = createApp(services, routes, () => draining).callback();
  const server = createServer((request, response) => { void handler(request, response); });
  // A client that sends its headers or body a byte at a time does not hold a socket for good.
  server.headersTimeout = 15_000;
  server.requestTimeout = 120_000;
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (fault: NodeJS.ErrnoException) => reject(new Error(
      fault.code === 'EADDRINUSE' ? `Port ${PORT} is taken: set PORT to a free one, or to auto.`
        : fault.code === 'EACCES' ? `Port ${PORT} may not be used by this account: set PORT to one above 1023, or to auto.`
          : fault.code === 'EADDRNOTAVAIL' ? `HOST ${HOST} is not an address of this machine.`
            : `The API cannot listen on ${HOST}:${PORT}: ${fault.message}`, { cause: fault })));
    server.listen({ host: HOST, port: PORT === 'auto' ? 0 : PORT }, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : PORT;
  const shown = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return {
    server,
    url: `http://${shown}:${port}`,
    drain: () => new Promise((resolve) => {
      draining = true;
      // Requests that are on their way on open connections are still taken: closing now would reset them.
      const force = setTimeout(() => { server.closeAllConnections(); }, DRAIN_MS);
      setTimeout(() => {
        server.close(() => { clearTimeout(force); resolve(); });
        server.closeIdleConnections();
      }, LAST_CALL_MS);
    }),
  };
}
