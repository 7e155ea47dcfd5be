import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a bad connection does to a request. Each is survived by a device that follows docs/devices.md. */
export const FAULTS = ['lost request', 'lost answer', 'cut answer', 'delayed', 'twice', 'twice, late', 'busy'] as const;
export type Fault = (typeof FAULTS)[number];

const LATE_MS = 300;

/** A way to the service that does to each request what `fault` says; undefined: nothing. */
export class FaultyProxy {
  /** How often each fault was done. */
  readonly done = new Map<Fault, number>();
  /** Nothing comes through: every request is lost. */
  offline = false;
  private readonly pending = new Set<Promise<unknown>>();

  private constructor(
    private readonly server: Server,
    private readonly target: string,
    private readonly fault: (path: string) => Fault | undefined,
  ) {}

  static async open(target: string, fault: (path: string) => Fault | undefined): Promise<FaultyProxy> {
    const server = createServer();
    const proxy = new FaultyProxy(server, target, fault);
    server.on('request', (request, response) => {
      // What is told to nobody: the device has gone, or its connection was cut on purpose.
      const work: Promise<void> = proxy.pass(request, response).catch(() => void response.destroy());
      proxy.pending.add(work);
      void work.finally(() => proxy.pending.delete(work));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Until what was sent twice has arrived twice. */
  async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }

  async close(): Promise<void> {
    await this.settled();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const fault = this.offline ? 'lost request' : this.fault(request.url ?? '/');
    if (fault) this.done.set(fault, (this.done.get(fault) ?? 0) + 1);
    if (fault === 'lost request') return void response.destroy();
    if (fault === 'busy') {
      response.writeHead(503, { 'Content-Type': 'text/html', 'Retry-After': '0' });
      return void response.end('<h1>Bad gateway</h1>');
    }
    if (fault === 'delayed') await sleep(LATE_MS);
    const answer = fault === 'twice' ? (await this.both(request, body))[0] : await this.forward(request, body);
    if (fault === 'lost answer') return void response.destroy();
    response.writeHead(answer.status, {
      'Content-Type': answer.type,
      'Content-Length': answer.content.length,
      ...(answer.retryAfter !== null && { 'Retry-After': answer.retryAfter }),
    });
    if (fault === 'cut answer') {
      response.write(answer.content.subarray(0, Math.floor(answer.content.length / 2)));
      await sleep(5);
      return void response.destroy();
    }
    response.end(answer.content);
    if (fault === 'twice, late') {
      await sleep(LATE_MS);
      await this.forward(request, body);
    }
  }

  /** At the same time. */
  private both(request: IncomingMessage, body: Buffer) {
    return Promise.all([this.forward(request, body), this.forward(request, body)]);
  }

  private async forward({ method, url, headers }: IncomingMessage, body: Buffer) {
    const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers;
    const answer = await fetch(`${this.target}${url}`, {
      method: method!,
      headers: rest as Record<string, string>,
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
    return {
      status: answer.status,
      type: answer.headers.get('content-type') ?? 'application/json',
      retryAfter: answer.headers.get('retry-after'),
      content: Buffer.from(await answer.arrayBuffer()),
    };
  }
}
