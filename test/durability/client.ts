import { setTimeout as sleep } from 'node:timers/promises';
import { holdAgainstContract } from '../support/contract.js';

export interface Heard<T> {
  status: number;
  body: T;
}
export interface Call {
  token?: string;
  /** Idempotency-Key. */
  key?: string;
  headers?: Record<string, string>;
  /** Sent as it is. */
  raw?: { type: string; content: string };
}

/** How long one attempt may take: longer than the service itself waits for anybody. */
const ATTEMPT_MS = 20_000;
const PATIENCE_MS = 240_000;

/** What clients met that no good service answers, whatever dies behind it. */
export interface Offence {
  what: string;
  status: number;
  text: string;
}

/**
 * A client as it is to be: what was not answered, or answered by "not now", is sent again under the same key, until
 * somebody says yes or no.
 */
export class CarefulClient {
  readonly offences: Offence[] = [];
  readonly counts = { requests: 0, unanswered: 0, unavailable: 0 };
  constructor(private readonly base: string) {}

  /**
   * The answer that counts. @param fine statuses that are an answer; everything else but 503 and its like is an
   * offence.
   */
  async insist<T>(
    method: string,
    path: string,
    body: unknown,
    fine: readonly number[],
    call: Call = {},
  ): Promise<Heard<T>> {
    const deadline = performance.now() + PATIENCE_MS;
    for (let wait = 100; ; wait = Math.min(wait * 1.6, 1_500)) {
      const heard = await this.once<T & { code?: string }>(method, path, body, call);
      if (heard && fine.includes(heard.status)) return heard;
      if (heard && !isLater(heard.status, heard.body?.code)) {
        this.offences.push({
          what: `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, '…')}`,
          status: heard.status,
          text: JSON.stringify(heard.body).slice(0, 300),
        });
        // A fault of the service's is told, and the client tries on; a refusal is final.
        if (heard.status < 500)
          throw new Error(`${method} ${path} answered ${heard.status}: ${JSON.stringify(heard.body).slice(0, 300)}`);
      }
      if (performance.now() > deadline)
        throw new Error(
          `${method} ${path}: no answer that counts in ${PATIENCE_MS / 1000} s; at last ` +
            `${heard ? heard.status : 'none'}`,
        );
      await sleep(wait);
    }
  }

  /** One attempt; undefined: no answer came. */
  async once<T>(
    method: string,
    path: string,
    body: unknown,
    { token, key, headers, raw }: Call = {},
  ): Promise<Heard<T> | undefined> {
    this.counts.requests += 1;
    let status: number, text: string, type: string;
    try {
      const response = await fetch(`${this.base}${path}`, {
        method,
        signal: AbortSignal.timeout(ATTEMPT_MS),
        headers: {
          ...(token && { Authorization: `Bearer ${token}` }),
          ...(key && { 'Idempotency-Key': key }),
          ...(raw ? { 'Content-Type': raw.type } : body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(raw ? { body: raw.content } : body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      [status, text, type] = [response.status, await response.text(), response.headers.get('content-type') ?? ''];
    } catch (fault) {
      // Refused, reset, cut in the middle, or too late: whether it was done nobody knows.
      if (!(fault instanceof TypeError) && !(fault instanceof DOMException)) throw fault;
      this.counts.unanswered += 1;
      return undefined;
    }
    if (status === 503) this.counts.unavailable += 1;
    const parsed: unknown = type.startsWith('application/json') && text !== '' ? JSON.parse(text) : undefined;
    holdAgainstContract(method, new URL(path, this.base).pathname, status, type, parsed);
    return { status, body: parsed as T };
  }
}

/** "Not now": the same again may be answered. */
const isLater = (status: number, code: string | undefined): boolean =>
  status === 503 || status === 429 || code === 'IDEMPOTENCY_IN_PROGRESS';
