import { randomBytes } from 'node:crypto';
import { holdAgainstContract } from './contract.js';
import { beginning, collect } from './examples.js';
import { ask } from './request.js';
import { service } from './service.js';

/** What tests read of an answer without saying more of it. */
export interface Loose {
  id: string;
  items: Loose[];
  total: number;
  code: string;
  detail: string;
  status: string;
  request_id: string;
  version: number;
  errors: { path?: string; row?: number; code: string; message: string }[];
  [key: string]: unknown;
}
export interface Answer<T> {
  status: number;
  headers: Headers;
  body: T;
  text: string;
}
export interface Options {
  headers?: Record<string, string>;
  /** Sent as it is, with this content type. */
  raw?: { type: string; content: string | Uint8Array };
}
/** The least that is an upload of a file. */
export const leastFile: Options['raw'] & {} = {
  type: 'multipart/form-data; boundary=b',
  content: '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nparticipant\r\n--b--\r\n',
};
export type Role = 'admin' | 'researcher' | 'coordinator' | 'investigator' | 'data_manager';

/** A caller of the API. Every answer is compared with the committed contract. */
export class Http {
  constructor(
    readonly base: string,
    readonly token?: string,
    readonly userId?: string,
  ) {}

  async send<T = Loose>(method: string, path: string, body?: unknown, options: Options = {}): Promise<Answer<T>> {
    const type = options.raw?.type ?? (body === undefined ? undefined : 'application/json');
    const content = options.raw?.content ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = {
      ...(this.token && { Authorization: `Bearer ${this.token}` }),
      ...(type && { 'Content-Type': type }),
      ...options.headers,
    };
    const reply = await ask(`${this.base}${path}`, method, headers, content);
    const { status, text } = reply;
    const contentType = reply.header('content-type') ?? '';
    const parsed: unknown = contentType.startsWith('application/json') && text !== '' ? JSON.parse(text) : undefined;
    holdAgainstContract(method, new URL(path, this.base).pathname, status, contentType, parsed);
    collect(method, path, status, () => ({
      given: type !== undefined && content !== undefined && body === undefined ? beginning(type, content) : { body },
      answered:
        parsed === undefined && text !== ''
          ? beginning(contentType, text, reply.header('content-disposition'))
          : { body: parsed },
    }));
    return {
      status,
      text,
      body: parsed as T,
      get headers() {
        return reply.headers;
      },
    };
  }

  get<T = Loose>(path: string, options?: Options) {
    return this.send<T>('GET', path, undefined, options);
  }
  post<T = Loose>(path: string, body?: unknown, options?: Options) {
    return this.send<T>('POST', path, body, options);
  }
  put<T = Loose>(path: string, body?: unknown, options?: Options) {
    return this.send<T>('PUT', path, body, options);
  }
  patch<T = Loose>(path: string, body?: unknown, options?: Options) {
    return this.send<T>('PATCH', path, body, options);
  }
  delete<T = Loose>(path: string, options?: Options) {
    return this.send<T>('DELETE', path, undefined, options);
  }

  /** The body of an answer that must have this status. */
  async expect<T = Loose>(status: number, method: string, path: string, body?: unknown, options?: Options): Promise<T> {
    const answer = await this.send<T>(method, path, body, options);
    if (answer.status !== status)
      throw new Error(`${method} ${path} answered ${answer.status}, not ${status}: ${answer.text.slice(0, 600)}`);
    return answer.body;
  }
}

/** A short word that no other test uses: two of a thousand are the same in one of half a billion runs. */
export const unique = (prefix = 't'): string => `${prefix}-${randomBytes(6).toString('hex')}`;
export const goodPassword = 'correct blue staple 42';

/** Logs in; tokens in the answer. */
export async function login(base: string, email: string, password: string) {
  const answer = await new Http(base).expect<{
    user: Loose;
    tokens: { access_token: string; refresh_token: string; token_type: string; expires_in: number };
  }>(200, 'POST', '/api/auth/login', { email, password });
  return { ...answer, http: new Http(base, answer.tokens.access_token, answer.user.id) };
}

const admins = new Map<string, { since: number; http: Promise<Http> }>();
/**
 * All tests together take longer than an access token lives, and what asks who it is again looks at the login's age.
 */
const LOGIN_MS = 3 * 60_000;
/** The first admin of the shared service, or of the one at `base`. */
export async function admin(base?: string): Promise<Http> {
  const run = await service();
  const at = base ?? run.api;
  let known = admins.get(at);
  if (!known || performance.now() - known.since > LOGIN_MS) {
    known = {
      since: performance.now(),
      http: login(at, run.admin_email, run.admin_password ?? '').then(({ http }) => http),
    };
    admins.set(at, known);
  }
  return known.http;
}

/** A new user of a role, logged in. */
export async function user(
  by: Http,
  role: Role,
  assigned: { study_ids?: string[]; site_ids?: string[]; name?: string } = {},
): Promise<Http & { email: string }> {
  const email = `${unique(role)}@example.org`;
  await by.expect(201, 'POST', '/api/auth/register', {
    email,
    name: `A ${role}`,
    password: goodPassword,
    role,
    ...assigned,
  });
  const { http } = await login(by.base, email, goodPassword);
  return Object.assign(http, { email });
}

export const newStudy = (by: Http, fields: Record<string, unknown> = {}): Promise<Loose> =>
  by.expect(201, 'POST', '/api/studies', { study_code: unique('S'), study_name: 'A study', ...fields });
export const newParticipant = (by: Http, studyId: string, fields: Record<string, unknown> = {}): Promise<Loose> =>
  by.expect(201, 'POST', `/api/studies/${studyId}/participants`, { participant_code: unique('P'), ...fields });
