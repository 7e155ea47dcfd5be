import { h } from 'preact';
import { loadCaller } from '../../../db/client/request.js';
import { anyone, authorizeUser, signedIn } from '../../http/access.js';
import type { Actor } from '../../http/access.js';
import { Type, text } from '../../http/common.schemas.js';
import { Problem, problem } from '../../http/errors.js';
import type { Reply } from '../../http/reply.js';
import type { Credential, RequestContext } from '../../http/request-context.js';
import { consoleCookie, cookieOf, loginCookie } from '../../http/security/console-login.js';
import { verifyToken } from '../../http/security/tokens.js';
import { login } from '../../identity/auth.service.js';
import type { Tokens } from '../../identity/auth.service.js';
import { loginByMfa, setUpMfa, verifyMfa } from '../../identity/mfa.service.js';
import type { Dependencies } from '../../dependencies.js';
import { ownPath } from '../routing/own-path.js';
import { consoleForm, consolePage } from '../routing/page.js';
import type { AgainInput } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { readJson } from '../studies/edit/edit.js';
import type { View } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { CodePage, LoginPage, SetupPage } from './login.page.js';
import type { LoginCarries, NewFactor } from './login.page.js';
import { ResumedPage } from './resumed.page.js';

/** The token between password and second factor. */
const FACTOR_COOKIE = 'console_factor';
const FACTOR_SECONDS = 15 * 60;

/** The target page in a login form. */
function carriedIn(form: URLSearchParams): LoginCarries {
  const kept = keptIn(form.get('kept'));
  return { next: ownPath(form.get('next')), ...(kept.length > 0 && { kept }) };
}

/** The fields typed before the login, as this page wrote them. */
function keptIn(text: string | null): [string, string][] {
  if (text === null) return [];
  try {
    const kept: unknown = JSON.parse(text);
    const isPair = (one: unknown): one is [string, string] =>
      Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === 'string');
    return Array.isArray(kept) ? kept.filter(isPair) : [];
  } catch (fault) {
    if (fault instanceof SyntaxError) return [];
    throw fault;
  }
}

/** The new second factor, as its page wrote it; undefined: it has none. */
function madeIn(text: string | null): NewFactor | undefined {
  const made = readJson(text ?? '') as Partial<NewFactor> | null | undefined;
  const { secret, otpauth_url, recovery_codes } = made ?? {};
  const isText = (one: unknown): one is string => typeof one === 'string';
  if (!isText(secret) || !isText(otpauth_url) || !otpauth_url.startsWith('otpauth://')) return undefined;
  if (!Array.isArray(recovery_codes) || !recovery_codes.every(isText)) return undefined;
  return { secret, otpauth_url, recovery_codes };
}

/** The answer of a complete login: its cookie, and the redirect to the target. */
function enter({ settings }: Dependencies, ui: Ui, tokens: Tokens, { next, kept }: LoginCarries): View | Reply {
  const { sub, role, sid, epoch } = verifyToken(settings, 'api', tokens.access_token);
  const cookies = [
    loginCookie(settings, { userId: sub, role, sid: sid!, epoch }),
    consoleCookie(settings, FACTOR_COOKIE, '', 0),
  ];
  if (!kept) return redirect(next, cookies);
  return { title: ui.words.login.resumed, content: h(ResumedPage, { next, kept }), headers: { 'Set-Cookie': cookies } };
}

/** The message of a refused login. */
const wrongOf = ({ words }: Ui, fault: Problem, otherwise: string): string =>
  fault.status === 429
    ? words.problems.byStatus[429]!.what
    : fault.status === 503
      ? words.problems.byStatus[503]!.what
      : fault.status === 403
        ? words.problems.byCode.CSRF_REFUSED!.what
        : otherwise;

/** The login again, if the token between password and second factor has expired. */
const startOver = ({ ui, form }: AgainInput<string>): View => ({
  title: ui.words.login.title,
  content: h(LoginPage, { ...carriedIn(form), ended: true }),
});
const isOver = (fault: Problem): boolean => fault.code === 'INVALID_TOKEN' || fault.code === 'UNAUTHENTICATED';

const factorToken = (headers: Parameters<typeof cookieOf>[0]): string => {
  const token = cookieOf(headers, FACTOR_COOKIE);
  if (!token) throw problem('UNAUTHENTICATED');
  return token;
};

/** The user who has given the right password and is setting up a second factor. */
async function settingUp(
  services: Dependencies,
  token: string,
  context: RequestContext,
): Promise<{ services: Dependencies; actor: Actor; credential: Credential; context: RequestContext }> {
  const { sub, jti } = verifyToken(services.settings, 'mfa', token);
  const actor = authorizeUser(signedIn, await loadCaller(services.database, { userId: sub }), undefined);
  return { services, actor, credential: { audience: 'mfa', jti, sid: undefined }, context };
}

export const loginRoutes = [
  consolePage({
    path: '/console/login',
    summary: 'Log in to the console',
    access: anyone,
    query: Type.Object({
      next: Type.Optional(Type.String()),
      ended: Type.Optional(Type.String()),
      out: Type.Optional(Type.String()),
      saved: Type.Optional(Type.String()),
    }),
    view: ({ ui: { words }, query }) => ({
      title: words.login.title,
      content: h(LoginPage, {
        next: ownPath(query.next),
        ended: query.ended !== undefined,
        ...(query.out !== undefined && { said: words.login.loggedOut }),
        ...(query.saved !== undefined && { said: words.login.passwordSaved }),
      }),
    }),
  }),
  consoleForm({
    path: '/console/login',
    summary: 'Log in to the console with email and password',
    access: anyone,
    rateLimit: 'auth',
    fields: Type.Object({ email: text(320, 1), password: text(1000, 1) }),
    submit: async ({ services, context, form, ui }) => {
      const given = { email: form.get('email')!, password: form.get('password')! };
      const entered = await login(services, given, context);
      const carried = carriedIn(form);
      if ('tokens' in entered) return enter(services, ui, entered.tokens, carried);
      const cookie = consoleCookie(services.settings, FACTOR_COOKIE, entered.mfa_token, FACTOR_SECONDS);
      const headers = { 'Set-Cookie': [cookie] };
      if ('mfa_required' in entered) return { title: ui.words.login.codeTitle, content: h(CodePage, carried), headers };
      const made = await setUpMfa(await settingUp(services, entered.mfa_token, context), undefined);
      return { title: ui.words.login.setupTitle, content: h(SetupPage, { ...carried, made }), headers };
    },
    again: ({ form, ui, fault }) => ({
      title: ui.words.login.title,
      content: h(LoginPage, {
        ...carriedIn(form),
        email: form.get('email') ?? '',
        wrong: wrongOf(ui, fault, ui.words.login.wrong),
      }),
    }),
  }),
  consoleForm({
    path: '/console/login/code',
    summary: 'Complete a login of the console with a second factor',
    access: anyone,
    fields: Type.Object({ code: text(100, 1) }),
    submit: async ({ services, context, form, headers, ui }) => {
      const mfa_token = factorToken(headers);
      const given = form.get('code')!.trim();
      const proof = /^[0-9]{6}$/.test(given) ? { code: given } : { recovery_code: given };
      const { tokens } = await loginByMfa(services, { mfa_token, ...proof }, context);
      return enter(services, ui, tokens, carriedIn(form));
    },
    again: (input) => {
      const { form, ui, fault } = input;
      if (isOver(fault)) return startOver(input);
      const wrong = wrongOf(ui, fault, ui.words.login.codeWrong);
      return { title: ui.words.login.codeTitle, content: h(CodePage, { ...carriedIn(form), wrong }) };
    },
  }),
  consoleForm({
    path: '/console/login/setup',
    summary: 'Complete a login of the console by setting up a second factor',
    access: anyone,
    fields: Type.Object({ code: text(100, 1) }),
    submit: async ({ services, context, form, headers, ui }) => {
      const done = await verifyMfa(await settingUp(services, factorToken(headers), context), form.get('code')!.trim());
      if (!('tokens' in done)) throw problem('INVALID_TOKEN');
      return enter(services, ui, done.tokens, carriedIn(form));
    },
    again: (input) => {
      const { form, ui, fault } = input;
      if (isOver(fault)) return startOver(input);
      const wrong = wrongOf(ui, fault, ui.words.login.codeWrong);
      return {
        title: ui.words.login.setupTitle,
        content: h(SetupPage, { ...carriedIn(form), made: madeIn(form.get('made_secret')), wrong }),
      };
    },
  }),
];
