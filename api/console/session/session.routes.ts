import { h } from 'preact';
import { anyone, outsideStudy, signedIn } from '../../http/access.js';
import { Type } from '../../http/common.schemas.js';
import { reply } from '../../http/reply.js';
import { clearedLogin, consoleCookie } from '../../http/security/console-login.js';
import { revokeAllLogins, revokeLogin } from '../../identity/account.service.js';
import { Navigation } from '../html/document.js';
import { consolePath, ownPath } from '../routing/own-path.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { LANGUAGE_COOKIE, THEME_COOKIE, themes } from '../html/ui.js';
import { languages } from '../words/words.js';

const YEAR_SECONDS = 365 * 86_400;

/** Session routes besides the login pages: logout, extension, counts and preferences. */
export const consoleSessionRoutes = [
  consoleForm({
    path: '/console/logout',
    summary: 'Log out of the console, or everywhere',
    access: outsideStudy(signedIn),
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, credential, services, form }) => {
      const change = { tx, audit, actor, context };
      if (form.get('everywhere') === '1') await revokeAllLogins(change);
      else await revokeLogin(change, credential!.sid!);
      return redirect('/console/login?out=1', [clearedLogin(services.settings)]);
    },
  }),
  consoleForm({
    path: '/console/preferences',
    summary: 'Choose theme and language of the console',
    access: anyone,
    submit: ({ services: { settings }, form }) => {
      const theme = themes.find((one) => one === form.get('theme'));
      const language = Object.keys(languages).find((one) => one === form.get('language'));
      return redirect(consolePath(form.get('_back')), [
        ...(theme ? [consoleCookie(settings, THEME_COOKIE, theme, YEAR_SECONDS)] : []),
        ...(language ? [consoleCookie(settings, LANGUAGE_COOKIE, language, YEAR_SECONDS)] : []),
      ]);
    },
  }),
  consolePage({
    path: '/console/stay',
    summary: 'Keep a login of the console',
    access: outsideStudy(signedIn),
    query: Type.Object({ user: Type.Optional(Type.String()) }),
    // To a page of the same user: its forms may be of an earlier login.
    view: ({ ui, actor, query }) =>
      reply(204, undefined, {
        'Cache-Control': 'no-store',
        ...(query.user === actor.id && { 'Form-Token': ui.formToken }),
      }),
  }),
  consolePage({
    path: '/console/counts',
    summary: 'Get the menu of the console with its counts',
    access: outsideStudy(signedIn),
    transaction: 'read',
    background: true,
    query: Type.Object({ at: Type.Optional(Type.String()) }),
    view: ({ ui, query }) => {
      ui.path = ownPath(query.at);
      return { title: '', content: h(Navigation, {}), fragment: true };
    },
  }),
];
