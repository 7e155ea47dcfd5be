import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { captureUrlFault } from '../../workflows/domain/capture/addresses.js';
import { publicAddresses } from '../util/public-addresses.js';
import { retryAfter } from '../util/retry-after.js';

/** The result of one request: the answer's status, or the error. */
export interface Posted {
  status: number | null;
  error: string | null;
  retryAfterSeconds: number | null;
}
export interface PostLimits {
  allowPrivate: boolean;
  timeoutMs: number;
}

/** An answer's body is not used: this much is read so that the connection can be reused, otherwise it is closed. */
const MAX_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_SECONDS = 6 * 3600;

const PRIVATE = 'the url points to a private address, which ALLOW_PRIVATE_URLS forbids here';
class Refused extends Error {}
const publicLookup = publicAddresses(() => new Refused(PRIVATE));

const agentOptions = { keepAlive: true, maxSockets: 8, maxTotalSockets: 128, timeout: 30_000 };
const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) };

/**
 * POSTs a signed event. Redirects are not followed; only the answer's status counts, its body is discarded. Never
 * throws for errors of network or subscriber.
 */
export function postEvent(
  target: string,
  headers: Record<string, string>,
  body: string,
  limits: PostLimits,
): Promise<Posted> {
  const fault = captureUrlFault(target, limits.allowPrivate, 'the url');
  if (fault) return Promise.resolve({ status: null, error: fault, retryAfterSeconds: null });
  const url = new URL(target);
  const bytes = Buffer.from(body);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    let answered = false;
    const request = send(
      url,
      {
        method: 'POST',
        agent: agents[url.protocol as keyof typeof agents],
        ...(!limits.allowPrivate && { lookup: publicLookup }),
        headers: {
          ...headers,
          'Content-Type': 'application/json',
          'Content-Length': bytes.length,
          'User-Agent': 'research-assessment-platform',
          Accept: '*/*',
          'Accept-Encoding': 'identity',
        },
      },
      (response) => {
        answered = true;
        const status = response.statusCode ?? 0;
        resolve({
          status,
          error: status >= 200 && status < 300 ? null : wordsOf(status),
          retryAfterSeconds: retryAfter(response.headers['retry-after'], MAX_RETRY_AFTER_SECONDS) ?? null,
        });
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_BYTES) request.destroy();
        });
        response.on('end', () => clearTimeout(timer));
        response.on('error', () => clearTimeout(timer));
      },
    );
    // From the call to the last byte, even if bytes keep arriving.
    const timer = setTimeout(() => {
      request.destroy();
      if (!answered)
        resolve({ status: null, error: `no answer within ${limits.timeoutMs / 1000} s`, retryAfterSeconds: null });
    }, limits.timeoutMs);
    timer.unref();
    request.on('error', (error) => {
      clearTimeout(timer);
      if (!answered) resolve({ status: null, error: connectionWords(error), retryAfterSeconds: null });
    });
    request.on('close', () => clearTimeout(timer));
    request.end(bytes);
  });
}

const wordsOf = (status: number): string =>
  status >= 300 && status < 400
    ? `the subscriber redirects (${status}), which is not followed`
    : `the subscriber answered ${status}`;

/** The socket's error code is enough; its message may contain private network addresses. */
function connectionWords(error: Error): string {
  if (error instanceof Refused) return error.message;
  const words: Record<string, string> = {
    ECONNREFUSED: 'the connection was refused',
    ENOTFOUND: 'the host name is not known',
    EAI_AGAIN: 'the host name cannot be looked up at the moment',
    ECONNRESET: 'the connection was broken off',
  };
  const { code } = error as NodeJS.ErrnoException;
  return words[code ?? ''] ?? `the subscriber is not reached (${code ?? 'connection failed'})`;
}
