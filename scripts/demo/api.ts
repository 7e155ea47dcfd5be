import { setTimeout as sleep } from 'node:timers/promises';
import { DemoFault } from './telling.js';

/** Longer than the rate limit's window. */
const MAX_WAIT_SECONDS = 90;

/** A caller of the REST API. */
export class Api {
  constructor(
    readonly base: string,
    readonly token?: string,
    readonly userId = '',
  ) {}

  get<T>(path: string): Promise<T> {
    return this.expect<T>(200, 'GET', path);
  }

  /** The body of an answer with the expected status. @throws DemoFault with the actual answer */
  async expect<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.send(method, path, body);
    if (answer.status !== status)
      throw new DemoFault(`${method} ${path} answered ${answer.status} instead of ${status}: ${detailOf(answer.text)}`);
    return (answer.text === '' ? undefined : JSON.parse(answer.text)) as T;
  }

  /** The status of an answer, whatever it is. */
  async status(method: string, path: string, body?: unknown): Promise<number> {
    return (await this.send(method, path, body)).status;
  }

  private async send(method: string, path: string, body: unknown): Promise<{ status: number; text: string }> {
    for (let waited = 0; ;) {
      const response = await this.fetch(method, path, body);
      const text = await response.text();
      // A demo shortly after another one may hit the rate limits: it waits, as every client should.
      const again = Number(response.headers.get('retry-after') ?? '1');
      if (response.status !== 429 || waited + again > MAX_WAIT_SECONDS) return { status: response.status, text };
      process.stderr.write(`        (too many requests a minute: going on in ${again} s)\n`);
      await sleep(again * 1000);
      waited += again;
    }
  }

  private async fetch(method: string, path: string, body: unknown): Promise<Response> {
    try {
      return await fetch(`${this.base}${path}`, {
        method,
        headers: {
          ...(this.token && { Authorization: `Bearer ${this.token}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(30_000),
      });
    } catch (fault) {
      const cause = fault instanceof Error && fault.cause instanceof Error ? fault.cause.message : String(fault);
      throw new DemoFault(
        `The service does not answer at ${this.base} (${cause}). Is it running? Start it with "npm start".`,
        { cause: fault },
      );
    }
  }
}

/** The sentence of an error answer; otherwise its text. */
function detailOf(text: string): string {
  try {
    const body = JSON.parse(text) as { detail?: string; errors?: { message: string }[] };
    return [body.detail ?? text, ...(body.errors ?? []).map((error) => error.message)].join(' ');
  } catch {
    return text.slice(0, 300);
  }
}

/** Logs in. @throws DemoFault */
export async function logIn(base: string, email: string, password: string): Promise<Api> {
  const { user, tokens } = await new Api(base).expect<{ user: { id: string }; tokens: { access_token: string } }>(
    200,
    'POST',
    '/api/auth/login',
    { email, password },
  );
  return new Api(base, tokens.access_token, user.id);
}

/** Repeats a request until there is an answer. @param what completes "… did not happen within 30 s" */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined>,
  { seconds = 30, every = 400 } = {},
): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new DemoFault(`${what} did not happen within ${seconds} s.`);
    await sleep(every);
  }
}
