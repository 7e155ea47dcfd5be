import { readFileSync } from 'node:fs';
import { HtmlDocument } from '../../activities/html/html-document.js';
import { renderPage } from '../../activities/html/render.js';
import { smallPageCss } from '../../activities/html/style.js';
import { acceptedLanguage } from '../../workflows/domain/notifications/built-in.js';
import type { BuiltInLanguage } from '../../workflows/domain/notifications/built-in.js';
import { anyone } from '../http/access.js';
import { pageFile } from '../http/page-file.js';
import { reply, route } from '../http/route.js';
import { passwordPageWords } from './password-page-words.js';

/** Scripts and styles as files of this service; the form is only sent by the script. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action " +
  "'none'; frame-ancestors 'none'";

function page(language: BuiltInLanguage): string {
  const { title, password, again, revoke, save, said } = passwordPageWords[language];
  return renderPage(
    <HtmlDocument
      language={language}
      title={title}
      head={
        <>
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <link rel="stylesheet" href="/account/password.css" />
        </>
      }
    >
      <main>
        <h1>{title}</h1>
        <form id="form">
          <label for="password">{password}</label>
          <input id="password" type="password" autocomplete="new-password" minLength={12} maxLength={200} required />
          <label for="again">{again}</label>
          <input id="again" type="password" autocomplete="new-password" required />
          <label class="check">
            <input id="revoke" type="checkbox" /> {revoke}
          </label>
          <button>{save}</button>
        </form>
        <p
          id="said"
          role="status"
          aria-live="polite"
          {...Object.fromEntries(Object.entries(said).map(([key, text]) => [`data-${key}`, text]))}
        ></p>
      </main>
      <script src="/account/password.js"></script>
    </HtmlDocument>,
  );
}

/** In this file's folder, also when built: scripts/build.mjs copies files that are not TypeScript. */
const script = () => readFileSync(new URL('page/password.js', import.meta.url), 'utf8');

const file = (path: string, summary: string, content: () => string, type: string) =>
  pageFile({ path, summary, type, content, headers: { 'Content-Security-Policy': POLICY } });

/** The page behind links in mails to users (account.service.ts). Not part of the contract. */
export const accountPages = [
  route({
    method: 'GET',
    path: '/account/password',
    hidden: true,
    tag: 'Pages',
    summary: 'Choose a password by a mailed link',
    access: anyone,
    rateLimit: 'none',
    responses: { 200: undefined },
    handle: ({ headers }) =>
      reply(200, page(acceptedLanguage(headers['accept-language'])), {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': POLICY,
        Vary: 'Accept-Language',
      }),
  }),
  file('/account/password.js', 'Its script', script, 'text/javascript; charset=utf-8'),
  file('/account/password.css', 'Its style', () => smallPageCss, 'text/css; charset=utf-8'),
];
