import { randomUUID } from 'node:crypto';
import { STATUS_CODES, createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Dependencies } from './dependencies.js';
import { createApp } from './app.js';
import { problem } from './http/errors.js';
import type { Problem } from './http/errors.js';
import type { Route } from './http/route.js';

export interface Listening {
  server: Server;
  url: string;
  /** Called once `draining` is aborted: refuses new requests, finishes running ones (8 s at most), then closes. */
  drain: () => Promise<void>;
}

const DRAIN_MS = 8_000;
/** How long open connections still accept requests: each answer closes its own. */
const LAST_CALL_MS = 500;
const HEADERS_MS = 15_000;
/** Added to the application's own timeout for slow bodies: for clients that were answered and continue sending. */
const GRACE_MS = 5_000;

/**
 * Serves `routes` on `host`:`port` (`auto`: a free one).
 * @throws Error in one sentence when the port is taken or not allowed
 */
export async function listen(services: Dependencies, routes: readonly Route[]): Promise<Listening> {
  const { HOST, PORT, REQUEST_ARRIVAL_SECONDS } = services.settings;
  const handler = createApp(services, routes).callback();
  const arrivalMs = Math.ceil(REQUEST_ARRIVAL_SECONDS * 1000);
  const answering = new WeakMap<Duplex, ServerResponse>();
  // A client that sends headers or body a byte at a time can't hold a socket forever.
  const limits = {
    headersTimeout: Math.min(HEADERS_MS, arrivalMs),
    requestTimeout: arrivalMs + GRACE_MS,
    connectionsCheckingInterval: Math.min(5_000, arrivalMs),
    requireHostHeader: false,
  };
  const server = createServer(limits, (request, response) => {
    answering.set(request.socket, response);
    if (request.headers.host === undefined && request.httpVersion !== '1.0')
      refuseUnserved(response, problem('BAD_REQUEST', { detail: 'The request names no Host.' }));
    else void handler(request, response);
  });
  server.on('checkExpectation', (_request, response: ServerResponse) =>
    refuseUnserved(response, problem('EXPECTATION_FAILED')),
  );
  const most = 4 * services.settings.MAX_BODY_BYTES;
  server.on('clientError', (fault: NodeJS.ErrnoException, socket) =>
    refuse(fault, socket as Socket, answering.get(socket), most),
  );
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (fault: NodeJS.ErrnoException) =>
      reject(
        new Error(
          fault.code === 'EADDRINUSE'
            ? `Port ${PORT} is taken: set PORT to a free one, or to auto.`
            : fault.code === 'EACCES'
              ? `Port ${PORT} may not be used by this account: set PORT to one above 1023, or to auto.`
              : fault.code === 'EADDRNOTAVAIL' || fault.code === 'ENOTFOUND'
                ? `HOST ${HOST} is not an address of this machine.`
                : `The API cannot listen on ${HOST}:${PORT}: ${fault.message}`,
          { cause: fault },
        ),
      ),
    );
    server.listen({ host: HOST, port: PORT === 'auto' ? 0 : PORT }, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : PORT;
  const shown = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return {
    server,
    url: `http://${shown}:${port}`,
    drain: () =>
      new Promise((resolve) => {
        // Requests in transit on open connections are still accepted: closing now would reset them.
        const force = setTimeout(() => {
          server.closeAllConnections();
        }, DRAIN_MS);
        setTimeout(() => {
          server.close(() => {
            clearTimeout(force);
            resolve();
          });
          server.closeIdleConnections();
        }, LAST_CALL_MS);
      }),
  };
}

/** Errors before a valid request, by the codes of Node's parser; any other is an unreadable request. */
const UNREAD: Record<string, Problem> = {
  ERR_HTTP_REQUEST_TIMEOUT: problem('REQUEST_TIMEOUT'),
  HPE_HEADER_OVERFLOW: problem('HEADERS_TOO_LARGE'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: problem('TOO_LARGE'),
};

/** The answer if no request reaches the application. */
function plain(fault: Problem): { headers: Record<string, string>; body: string } {
  const requestId = randomUUID();
  const body = JSON.stringify(fault.body(requestId));
  return {
    body,
    headers: {
      Connection: 'close',
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      'X-Request-ID': requestId,
      'X-Correlation-ID': randomUUID(),
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    },
  };
}

/** Answers requests that Node would refuse without a reason. */
function refuseUnserved(response: ServerResponse, fault: Problem): void {
  const { headers, body } = plain(fault);
  response.writeHead(fault.status, headers).end(body);
}

/** Connections refused this way, with the number of bytes received until then. */
const refused = new WeakMap<Duplex, number>();

/**
 * Answers unreadable requests like all others; if an answer has already begun, the connection ends with it. Further
 * bytes are discarded, so that the sender gets to read the answer (api/http/body/drain.ts): each piece causes another
 * parser error.
 */
function refuse(fault: NodeJS.ErrnoException, socket: Socket, answer: ServerResponse | undefined, most: number): void {
  const before = refused.get(socket);
  if (before !== undefined) {
    if (socket.bytesRead - before > most) socket.destroy();
    return;
  }
  if (!socket.writable || (answer?.headersSent && !answer.writableFinished)) {
    socket.destroy(fault);
    return;
  }
  const found = UNREAD[fault.code ?? ''] ?? problem('BAD_REQUEST');
  const { headers, body } = plain(found);
  const head = [
    `HTTP/1.1 ${found.status} ${STATUS_CODES[found.status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  refused.set(socket, socket.bytesRead);
  const patience = setTimeout(() => {
    socket.destroy();
  }, GRACE_MS);
  socket.once('close', () => {
    clearTimeout(patience);
  });
}
