import { setTimeout as sleep } from 'node:timers/promises';

/** The service has answered, and doing the same again will not help. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly body: unknown,
  ) {
    super(`${status} ${code}: ${detail}`);
    this.name = 'Refused';
  }
}

/** No answer came, or only ones that say "later". Whether the request arrived is not known. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** How often a call is made, and the waits between: at random up to a bound that doubles, so that devices that lost the same connection do not come back together. */
export interface Patience {
  attempts: number;
  firstWaitMs: number;
  longestWaitMs: number;
  /** How long one attempt may take. */
  timeoutMs: number;
}
export const PATIENT: Patience = { attempts: 6, firstWaitMs: 500, longestWaitMs: 30_000, timeoutMs: 30_000 };

/** Said to be passing: too slow, still running, too many requests, a part that restarts. */
const LATER = new Set([408, 429, 500, 502, 503, 504]);
const isLater = (status: number, code: string): boolean => LATER.has(status) || code === 'IDEMPOTENCY_IN_PROGRESS';

export interface Request {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  /** Made anew for each attempt: a clock goes on. */
  headers?: () => Record<string, string>;
}

/**
 * One request, repeated until there is an answer. Only what may arrive twice is asked this way.
 * @throws Refused, Unreachable
 */
export async function call<T>(api: string, request: Request, patience: Patience): Promise<T> {
  let last = 'no attempt was made';
  for (let attempt = 1; attempt <= patience.attempts; attempt += 1) {
    const outcome = await attemptOnce<T>(api, request, patience.timeoutMs);
    if ('answer' in outcome) return outcome.answer;
    last = outcome.reason;
    if (attempt < patience.attempts) await sleep(waitMs(attempt, outcome.retryAfterMs, patience));
  }
  throw new Unreachable(`${request.method} ${request.path}: ${last}`);
}

/** "Full jitter", and no sooner than the service asks for. */
function waitMs(attempt: number, retryAfterMs: number, { firstWaitMs, longestWaitMs }: Patience): number {
  const bound = Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1));
  return retryAfterMs + Math.random() * bound;
}

type Outcome<T> = { answer: T } | { reason: string; retryAfterMs: number };

async function attemptOnce<T>(api: string, request: Request, timeoutMs: number): Promise<Outcome<T>> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${api}${request.path}`, {
      method: request.method,
      headers: { ...(request.body !== undefined && { 'Content-Type': 'application/json' }), ...request.headers?.() },
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    // An answer that was cut in the middle is no answer.
    text = await response.text();
  } catch (fault) {
    return { reason: String(fault), retryAfterMs: 0 };
  }
  const { status, headers } = response;
  const body = parsed(text);
  if (response.ok && body !== undefined) return { answer: body as T };
  const { code = 'UNKNOWN', detail = text.slice(0, 200) } = (body ?? {}) as { code?: string; detail?: string };
  // A success that cannot be read, or an error that is not the service's own: something in between has answered.
  if (body === undefined || isLater(status, code))
    return { reason: `${status} ${code}`, retryAfterMs: 1000 * (Number(headers.get('retry-after')) || 0) };
  throw new Refused(status, code, detail, body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
