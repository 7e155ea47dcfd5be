import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Span {
  trace: string;
  id: string;
  parent: string | undefined;
  name: string;
  part: string;
  attributes: Record<string, unknown>;
}
interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string };
}
interface Sent {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: { traceId: string; spanId: string; parentSpanId?: string; name: string; attributes: Attribute[] }[];
    }[];
  }[];
}

/** An OTLP receiver over HTTP: decodes what it is sent (JSON, as the specification writes it). */
export class Collector {
  readonly spans: Span[] = [];
  /** Every body as it came. */
  text = '';
  private constructor(private readonly server: ReturnType<typeof createServer>) {}

  static async open(): Promise<Collector> {
    const collector: Collector = new Collector(
      createServer((request, response) => {
        request.toArray().then(
          (chunks: Buffer[]) => {
            const path = request.url;
            if (path !== '/v1/traces' || !request.headers['content-type']?.startsWith('application/json'))
              return void response.writeHead(400).end();
            collector.take(Buffer.concat(chunks).toString('utf8'));
            response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
          },
          () => response.destroy(),
        );
      }),
    );
    collector.server.listen(0, '127.0.0.1');
    await once(collector.server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
  /** The spans of one trace. */
  of(trace: string): Span[] {
    return this.spans.filter((span) => span.trace === trace);
  }

  private take(body: string): void {
    this.text += body;
    for (const { resource, scopeSpans } of (JSON.parse(body) as Sent).resourceSpans) {
      const part = String(named(resource.attributes).part);
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        this.spans.push({
          trace: span.traceId,
          id: span.spanId,
          parent: span.parentSpanId,
          name: span.name,
          part,
          attributes: named(span.attributes),
        });
      }
    }
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

const named = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
