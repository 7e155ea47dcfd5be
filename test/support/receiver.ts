import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a subscriber was sent. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  bytes: Buffer;
  at: number;
}
export type Answering = (request: Received, response: ServerResponse, count: number) => void;

/** An HTTP server that keeps what it is sent and answers as told (204 where nothing is said). */
export class Receiver {
  readonly received: Received[] = [];
  answer: Answering = (_request, response) => {
    response.writeHead(204).end();
  };
  private constructor(private readonly server: ReturnType<typeof createServer>) {}

  static async open(): Promise<Receiver> {
    const receiver: Receiver = new Receiver(
      createServer((request, response) => {
        void receiver.take(request, response);
      }),
    );
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
  /** Those at one path: a test with paths of its own shares the server with others. */
  at(path: string): Received[] {
    return this.received.filter((one) => one.path === path);
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const one: Received = {
      path: request.url ?? '',
      headers: request.headers,
      body: bytes.toString('utf8'),
      bytes,
      at: performance.now(),
    };
    this.received.push(one);
    response.on('error', () => response.destroy());
    this.answer(one, response, this.at(one.path).length);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
