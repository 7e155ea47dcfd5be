import { setTimeout as sleep } from 'node:timers/promises';

/** The service has answered, and doing the same again will not help. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(`${status} ${code}: ${detail}`);
  }
}

/** No answer came, or only ones that say "later". Whether the request arrived is not known. */
export class Unreachable extends Error {}

export interface Patience {
  attempts: number;
  /** The bound of the first wait; it doubles with each, up to 64 times this. */
  firstWaitMs: number;
}
export const PATIENT: Patience = { attempts: 6, firstWaitMs: 500 };
const TIMEOUT_MS = 30_000;

/** Said to be passing: too slow, too many requests, a part that restarts. */
const LATER = [408, 429, 500, 502, 503, 504];

export interface Request {
  /** With a body it is a POST. */
  body?: object;
  /** Made anew for each attempt: a clock goes on. */
  headers?: () => Record<string, string>;
}

/**
 * One request, repeated until there is an answer. Only what may arrive twice is asked this way.
 * @throws Refused, Unreachable
 */
export async function call<T>(url: string, request: Request, { attempts, firstWaitMs }: Patience): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    // An answer that was cut in the middle, or that something in between has given, is none.
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
    // At random, so that devices that lost the same connection do not come back together; no sooner than is asked for.
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
