import { h } from 'preact';
import { readAsCaller } from '../../../db/client/request.js';
import { Problem } from '../../http/errors.js';
import { noContent } from '../../http/route.js';
import type { Reply } from '../../http/reply.js';
import type { PageFault } from '../../http/route.js';
import type { Actor } from '../../http/access.js';
import { authorizeUser, signedIn } from '../../http/access.js';
import type { Credential } from '../../http/request-context.js';
import { clearedLogin, consoleUser } from '../../http/security/console-login.js';
import { LoginPage } from '../session/login.page.js';
import { formToShow } from './form-fields.js';
import { ownPath } from './own-path.js';
import { ProblemPage } from '../html/problem.js';
import { redirect, renderView } from './render.js';
import type { View } from './render.js';
import { uiOf } from '../html/ui.js';
import type { Ui } from '../html/ui.js';

/** The most fields of a typed form. */
const MAX_KEPT = 1_000;
/** Fields that are never shown again: secrets, and what a page writes for itself. */
const NEVER_KEPT =
  /^_|password|token|secret|^again$|^shown|^(?:seen|version|policy_version|preview_hash|import_id|sort_order)$/;

/** The page of a form, by its hidden field. */
export const formAt = (form: URLSearchParams, otherwise: string): string => {
  const back = form.get('_back');
  return back === null ? otherwise : ownPath(back);
};

/** The typed fields of a form, by name. The code of a login is a secret, that of a record is none. */
export function typedEntries(form: URLSearchParams): [string, string][] {
  const isLogin = (form.get('_back') ?? '').startsWith('/console/login');
  const isKept = (name: string) => !NEVER_KEPT.test(name) && !(isLogin && name === 'code');
  return [...form].filter(([name, value]) => value !== '' && isKept(name)).slice(0, MAX_KEPT);
}

/** The error page. */
export const faultView = (ui: Ui, fault: Problem, requestId: string, form?: URLSearchParams): View => ({
  title: ui.words.problems.title,
  status: fault.status,
  content: h(ProblemPage, {
    fault,
    requestId,
    ...(form && { typed: typedEntries(form), back: formAt(form, '/console/inbox') }),
  }),
});

/** Answers an error as a page: the login if one is needed, else the error in words. */
export async function onPageFault(
  { fault, state, method, url, headers, services, body }: PageFault,
  background: boolean,
): Promise<Reply> {
  if (background && fault.status !== 405) return noContent();
  const { settings } = services;
  const isChange = method === 'POST';
  const form = isChange ? formToShow(await body()) : undefined;
  if (fault.status === 401 && !state.handled) {
    const ended = fault.code === 'INVALID_TOKEN';
    const cookies = ended ? [clearedLogin(settings)] : [];
    if (!form) return redirect(loginAt(url, ended), cookies);
    const ui = uiOf({ settings, headers, path: url });
    // A file, and a form too long to be read, are sent to the address of their page.
    const next = formAt(form, form.size === 0 ? ownPath(url) : '/console/inbox');
    return renderView(settings, ui, {
      title: ui.words.login.title,
      status: 401,
      content: h(LoginPage, { next, ended: true, kept: typedEntries(form) }),
      headers: { 'Set-Cookie': cookies },
    });
  }
  const { actor, credential, cookies } = await readerOf(fault, { state, headers, services });
  // A form's own address shows nothing.
  const path = isChange ? '/console/inbox' : ownPath(url);
  const ui = uiOf({ settings, headers, path, actor, credential });
  const view = faultView(ui, fault, state.context.requestId, form ?? askedIn(url, fault));
  return renderView(settings, ui, { ...view, ...(cookies && { headers: { 'Set-Cookie': cookies } }) });
}

/** Who reads the page of a refusal: its menu leads to the other pages. */
interface Reader {
  actor?: Actor | undefined;
  credential?: Credential | undefined;
  /** They extend a login that nothing else has looked at. */
  cookies?: string[] | undefined;
}

/** The user who was admitted before the refusal, else the one whom the request's login names. */
async function readerOf(
  { status }: Problem,
  { state, headers, services }: Pick<PageFault, 'state' | 'headers' | 'services'>,
): Promise<Reader> {
  const admitted = state.actor as Actor | undefined;
  const named = state.principal?.kind === 'user' ? state.principal : undefined;
  if (admitted) return { actor: admitted, credential: named?.credential };
  if (![403, 404, 405].includes(status)) return {};
  try {
    const { principal, extended } = named
      ? { principal: named, extended: undefined }
      : consoleUser(headers, services.settings);
    const { userId, credential, epoch } = principal;
    const actor = await readAsCaller(
      services.database,
      { userId, login: credential.sid },
      (row) => authorizeUser(signedIn, row, undefined, credential.audience === 'api' ? epoch : undefined),
      (_tx, actor) => Promise.resolve(actor),
    );
    return { actor, credential, cookies: extended === undefined ? undefined : [extended] };
  } catch (thrown) {
    // Without a login, or with one that has ended, the page has no menu.
    if (!(thrown instanceof Problem) || thrown.status >= 500)
      services.log.warn(
        { request_id: state.context.requestId, err: { type: (thrown as Error).name } },
        'page of a refusal',
      );
    return {};
  }
}

/** A refused query as the form that it came from: its values are shown, and its page is one step back. */
function askedIn(url: string, { status }: Problem): URLSearchParams | undefined {
  if ((status !== 400 && status !== 422) || !url.includes('?')) return undefined;
  const asked = new URLSearchParams(url.slice(url.indexOf('?')));
  asked.set('_back', url.slice(0, url.indexOf('?')));
  return asked;
}

/** The login page that leads back to this page. */
const loginAt = (url: string, ended: boolean): string => {
  const next = ownPath(url);
  const asked = new URLSearchParams({ ...(next !== '/console/inbox' && { next }), ...(ended && { ended: '1' }) });
  return asked.size > 0 ? `/console/login?${asked.toString()}` : '/console/login';
};
