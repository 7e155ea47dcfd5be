import { expect } from 'chai';
import { Http } from '../support/http.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { goodPassword, user } from '../support/http.js';
import { ask } from '../support/request.js';

/** A policy under which an override waits for a researcher. */
export const withApproval = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_set: ['admin', 'coordinator'],
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};

type Named = Http & { email: string };
export interface Waiting {
  study: AnchorStudy;
  person: Person;
  request: string;
  asker: Named;
  approver: Named;
}

/** A study whose overrides wait for an approval, with who asks and who decides. */
export async function withApprover(stage: Stage): Promise<Pick<Waiting, 'study' | 'asker' | 'approver'>> {
  const study = await stage.study(withApproval);
  const approver = await user(stage.admin, 'researcher', { study_ids: [study.id] });
  const asker = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
  return { study, asker, approver };
}

/**
 * A participant whose override waits for an approval.
 * @param options at: the study, and who asks and decides there; a new one unless told
 */
export async function waiting(
  stage: Stage,
  {
    reason = 'the form was misread',
    code,
    at,
  }: { reason?: string; code?: string; at?: Awaited<ReturnType<typeof withApprover>> } = {},
): Promise<Waiting> {
  const { study, asker, approver } = at ?? (await withApprover(stage));
  const person = await study.person(code ? { participant_code: code } : {});
  await person.set(DAY);
  const { status, body } = await person.override('2024-03-17', asker, { reason });
  expect(status).to.equal(202);
  return { study, person, request: body.override_request_id, asker, approver };
}

/** A browser without a browser: cookies, forms and pages over HTTP. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  constructor(readonly base: string) {}

  /** Somebody who has logged in. */
  static async of(base: string, email: string, password = goodPassword): Promise<Visitor> {
    const visitor = new Visitor(base);
    expect((await visitor.login(email, password)).status).to.equal(303);
    return visitor;
  }

  async send(method: string, path: string, form?: Record<string, string>, headers: Record<string, string> = {}) {
    const all = {
      cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...headers,
    };
    const reply = await ask(`${this.base}${path}`, method, all, form && new URLSearchParams(form).toString());
    for (const line of reply.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return { status: reply.status, headers: reply.headers, text: reply.text };
  }

  get(path: string) {
    return this.send('GET', path);
  }

  /** Sends a form of the page at `from`, with its token. */
  async post(from: string, action: string, fields: Record<string, string>) {
    const { text } = await this.get(from);
    return this.send('POST', action, { _token: tokenIn(text), _back: from, ...fields });
  }

  async login(email: string, password: string, next?: string) {
    const from = `/console/login${next === undefined ? '' : `?next=${encodeURIComponent(next)}`}`;
    return this.post(from, '/console/login', { email, password, ...(next !== undefined && { next }) });
  }
}

/** The token of a page's forms. */
export const tokenIn = (html: string): string => /name="_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
/** A hidden field of a page. */
export const hiddenIn = (html: string, name: string): string =>
  (new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');

/** Sends a file of participants by the console's form, by HTTP alone. */
export async function sendImport(
  visitor: Visitor,
  studyId: string,
  content: string,
  fields: Record<string, string>,
): Promise<{ status: number; headers: Headers; bytes: Buffer; text: string }> {
  const path = `/console/studies/${studyId}/import`;
  const page = (await visitor.get(path)).text;
  const form = new FormData();
  const all = { _token: tokenIn(page), _back: path, import_id: hiddenIn(page, 'import_id'), ...fields };
  for (const [name, value] of Object.entries(all)) form.set(name, value);
  form.set('file', new Blob([content], { type: 'text/csv' }), 'people.csv');
  const response = await fetch(`${visitor.base}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    body: form,
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes, text: new TextDecoder().decode(bytes) };
}
