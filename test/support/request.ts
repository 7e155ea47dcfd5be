import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

/** Idle connections are kept as long as `fetch` does. They keep no process alive. */
const agent = new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 4_000 });
/** What `fetch` says of itself. */
const OWN = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip, deflate',
};
const decoder = new TextDecoder();

/** What a server answers: all of it, unpacked. */
export class Reply {
  constructor(
    private readonly message: IncomingMessage,
    readonly bytes: Buffer,
  ) {}

  get status(): number {
    return this.message.statusCode!;
  }

  get text(): string {
    return decoder.decode(this.bytes);
  }

  /** A header that comes once. */
  header(name: string): string | undefined {
    return this.message.headers[name]?.toString();
  }

  get headers(): Headers {
    const { rawHeaders } = this.message;
    const headers = new Headers();
    for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
    return headers;
  }
}

/**
 * As `fetch`, which takes three times its processor time: one request, without following where it is sent on to.
 * @throws TypeError, as `fetch` does, where the connection ends before the whole answer is there
 */
export function ask(
  url: string,
  method = 'GET',
  headers: Record<string, string> = {},
  content?: string | Uint8Array,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const failed = (cause: Error): void => {
      const { host, pathname } = new URL(url);
      reject(new TypeError(`${method} ${host}${pathname}: ${cause.message}`, { cause }));
    };
    const length = content === undefined ? {} : { 'content-length': String(Buffer.byteLength(content)) };
    const sent = request(new URL(url), { agent, method, headers: { ...OWN, ...headers, ...length } }, (message) => {
      const parts: Buffer[] = [];
      message.on('data', (part: Buffer) => parts.push(part));
      message.once('error', failed);
      message.once('end', () => {
        try {
          resolve(new Reply(message, unpacked(message, parts.length === 1 ? parts[0]! : Buffer.concat(parts))));
        } catch (fault) {
          failed(fault as Error);
        }
      });
    });
    // A server may answer and close the connection while it is still being sent to.
    sent.on('error', failed);
    sent.end(content);
  });
}

function unpacked({ headers }: IncomingMessage, bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes;
  switch (headers['content-encoding']) {
    case 'gzip':
      return gunzipSync(bytes);
    case 'deflate':
      return inflateSync(bytes);
    case 'br':
      return brotliDecompressSync(bytes);
    default:
      return bytes;
  }
}
