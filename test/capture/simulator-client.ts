import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Simulator } from '../capture-simulator/server.js';

/** Tokens of the shipped projects' users. */
export const TOKENS = {
  longitudinal: '5E11B2A09C7D4F63A1B8C2D4E6F70921',
  groupMember: 'A40C77E1B35D4E0F9C6A2B8D1E3F5A72',
  readOnly: '0D9F3C5B7A1E48629D4B6F8A0C2E1357',
  classic: 'C3A7E95D1B2F4086A5D7C9E1F3B50682',
} as const;
export const LONGITUDINAL = 21;
export const CLASSIC = 22;

export interface ApiResult {
  status: number;
  type: string;
  text: string;
}

/** One API call with a token; rejects as fetch does when the connection is dropped. */
export async function callApi(
  simulator: Simulator,
  token: string,
  parameters: Record<string, string>,
  signal?: AbortSignal,
): Promise<ApiResult> {
  const response = await fetch(simulator.apiUrl, {
    method: 'POST',
    body: new URLSearchParams({ token, ...parameters }),
    redirect: 'manual',
    ...(signal ? { signal } : {}),
  });
  return { status: response.status, type: response.headers.get('content-type') ?? '', text: await response.text() };
}

export const importRow = (row: Record<string, unknown>, more: Record<string, string> = {}): Record<string, string> => ({
  content: 'record',
  format: 'json',
  data: JSON.stringify([row]),
  ...more,
});

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A listener that keeps what it is sent and answers with the status it is told. */
export class Receiver {
  readonly received: Received[] = [];
  status = 200;
  url = '';
  #server: Server | undefined;

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.received.push({
          path: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        });
        response.writeHead(this.status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/det`;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}
