import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import type { Transform } from 'node:stream';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { captureUrlFault } from '../../../workflows/domain/capture/addresses.js';
import { publicAddresses } from '../../util/public-addresses.js';
import { retryAfter } from '../../util/retry-after.js';
import { inTurn } from './call-queue.js';
import { CaptureFailure } from './failure.js';

export interface PostOptions {
  allowPrivate: boolean;
  /** From the call to the last byte of the answer. */
  timeoutMs: number;
  maxBytes: number;
}
export interface HttpAnswer {
  status: number;
  contentType: string;
  location: string | undefined;
  retryAfterSeconds: number | undefined;
  body: string;
  /** The bytes are in no known character set: some letters of `body` are wrong. */
  garbled: boolean;
}

const publicLookup = publicAddresses(
  () =>
    new CaptureFailure('configuration', 'api_url points to a private address, which ALLOW_PRIVATE_URLS forbids here.'),
);

// How many sockets are open at a time, inTurn decides.
const agentOptions = { keepAlive: true, timeout: 60_000 };
const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) };

/**
 * POSTs a form in its turn and reads the answer as text, whatever its status; redirects are not followed.
 * @throws CaptureFailure connection_error, timeout, invalid_response (too large, incomplete), configuration (the URL)
 */
export function postForm(target: string, form: URLSearchParams, options: PostOptions): Promise<HttpAnswer> {
  const fault = captureUrlFault(target, options.allowPrivate);
  if (fault) return Promise.reject(new CaptureFailure('configuration', `${fault}.`));
  const url = new URL(target);
  const body = Buffer.from(form.toString());
  const until = performance.now() + options.timeoutMs;
  return inTurn(url.host, until, () =>
    post(url, body, { ...options, timeoutMs: Math.max(1, until - performance.now()) }),
  );
}

function post(url: URL, body: Buffer, options: PostOptions): Promise<HttpAnswer> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    let late: CaptureFailure | undefined;
    const request = send(
      url,
      {
        method: 'POST',
        agent: agents[url.protocol as keyof typeof agents],
        ...(!options.allowPrivate && { lookup: publicLookup }),
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          'Content-Length': body.length,
          Accept: 'application/json',
          'Accept-Encoding': 'identity',
        },
      },
      (response) => {
        const contentType = response.headers['content-type'] ?? '';
        readBytes(response, options.maxBytes)
          .then(
            (bytes) =>
              resolve({
                status: response.statusCode ?? 0,
                contentType,
                location: response.headers.location,
                retryAfterSeconds: retryAfter(response.headers['retry-after']),
                ...textOf(bytes, contentType),
              }),
            (failure) => {
              request.destroy();
              reject(late ?? failure);
            },
          )
          .finally(() => clearTimeout(timer));
      },
    );
    const timer = setTimeout(() => {
      late = new CaptureFailure('timeout', 'The capture system did not answer in time.');
      request.destroy(late);
    }, options.timeoutMs);
    request.on('error', (error) => {
      clearTimeout(timer);
      reject(
        error instanceof CaptureFailure
          ? error
          : new CaptureFailure('connection_error', connectionWords(error), { cause: error }),
      );
    });
    request.end(body);
  });
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The bytes of an answer: some proxies compress it although they are asked not to. */
function contentOf(response: IncomingMessage): AsyncIterable<Buffer> {
  const encoding = (response.headers['content-encoding'] ?? '').trim().toLowerCase();
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]!() : undefined;
  if (!decoder) return response;
  // The reader gets the fault.
  return pipeline(response, decoder, () => undefined);
}

async function readBytes(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of contentOf(response)) {
      size += chunk.length;
      if (size > maxBytes)
        throw new CaptureFailure('invalid_response', `The capture system's answer is larger than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof CaptureFailure) throw error;
    throw new CaptureFailure('connection_error', 'The capture system broke off its answer.', { cause: error });
  }
  return Buffer.concat(chunks, size);
}

/**
 * The text of an answer. JSON is UTF-8 whatever the header says, or UTF-16, in which its first sign has a zero byte:
 * another character set that the header names is tried only for bytes that are neither.
 */
function textOf(bytes: Buffer, contentType: string): { body: string; garbled: boolean } {
  const named = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
  const [first, second] = bytes;
  const wide =
    (first === 0xff && second === 0xfe) || second === 0
      ? 'utf-16le'
      : (first === 0xfe && second === 0xff) || first === 0
        ? 'utf-16be'
        : undefined;
  for (const charset of [...(wide === undefined ? [] : [wide]), 'utf-8', ...(named === undefined ? [] : [named])]) {
    try {
      return { body: new TextDecoder(charset, { fatal: true }).decode(bytes), garbled: false };
    } catch (fault) {
      // Bytes of another character set, or one that is not known here: the next is tried.
      if (!(fault instanceof TypeError || fault instanceof RangeError)) throw fault;
    }
  }
  return { body: bytes.toString('utf8'), garbled: true };
}

/** The socket's error code is enough; its message may contain addresses inside a hospital's network. */
function connectionWords(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  const words: Record<string, string> = {
    ECONNREFUSED: 'The capture system refuses the connection.',
    ENOTFOUND: 'The host name of api_url is not known.',
    EAI_AGAIN: 'The host name of api_url cannot be looked up at the moment.',
    ECONNRESET: 'The capture system broke off the connection.',
    ETIMEDOUT: 'The capture system is not reached.',
    EHOSTUNREACH: 'The capture system is not reached.',
  };
  return words[code ?? ''] ?? `The capture system is not reached (${code ?? 'connection failed'}).`;
}
