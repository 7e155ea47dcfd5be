import { setTimeout as sleep } from 'node:timers/promises';

/** The service has refused: a retry would not help. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(`${status} ${code}: ${detail}`);
  }
}

/** No answer, or only temporary errors. Whether the request arrived is unknown. */
export class Unreachable extends Error {}

export interface Patience {
  attempts: number;
  /** The limit of the first wait; it doubles with each, up to 64 times this. */
  firstWaitMs: number;
}
export const PATIENT: Patience = { attempts: 6, firstWaitMs: 500 };
const TIMEOUT_MS = 30_000;

/** Temporary errors: timeout, rate limit, a restarting part. */
const LATER = [408, 429, 500, 502, 503, 504];

export interface Request {
  /** A request with a body is a POST. */
  body?: object;
  /** Created for each attempt, since the time changes. */
  headers?: () => Record<string, string>;
}

/**
 * One request, retried until there is an answer. Only for idempotent requests.
 * @throws Refused, Unreachable
 */
export async function call<T>(url: string, request: Request, { attempts, firstWaitMs }: Patience): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    // An incomplete answer, or one from a proxy, counts as none.
    const { status, retryAfter, answer } = await attemptOnce(url, request).catch((fault: unknown) => ({
      status: 0,
      retryAfter: 0,
      answer: { detail: String(fault) },
    }));
    if (status >= 200 && status < 300) return answer as T;
    const { code = 'UNKNOWN', detail = '' } = (answer ?? {}) as { code?: string; detail?: string };
    const isLater = status === 0 || LATER.includes(status) || code === 'IDEMPOTENCY_IN_PROGRESS';
    if (!isLater) throw new Refused(status, code, detail);
    if (attempt >= attempts) throw new Unreachable(`${url}: ${status} ${detail}`);
    // With jitter, so that devices that lost the same connection do not retry together; not before Retry-After.
    await sleep(1000 * retryAfter + Math.random() * firstWaitMs * Math.min(2 ** (attempt - 1), 64));
  }
}

async function attemptOnce(url: string, { body, headers }: Request) {
  const response = await fetch(url, {
    headers: { 'Content-Type': 'application/json', ...headers?.() },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  const retryAfter = Number(response.headers.get('retry-after')) || 0;
  return { status: response.status, retryAfter, answer: (await response.json()) as unknown };
}
