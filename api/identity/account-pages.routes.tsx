import { readFileSync } from 'node:fs';
import { HtmlDocument } from '../../activities/html/html-document.js';
import { renderPage } from '../../activities/html/render.js';
import { smallPageCss } from '../../activities/html/style.js';
import { pageFile } from '../http/page-file.js';

/** Scripts and styles as files of this service; the form is only sent by the script. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action " +
  "'none'; frame-ancestors 'none'";

const page = () =>
  renderPage(
    <HtmlDocument
      language="en"
      title="Choose a password"
      head={
        <>
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <link rel="stylesheet" href="/account/password.css" />
        </>
      }
    >
      <main>
        <h1>Choose a password</h1>
        <form id="form">
          <label for="password">New password, at least 12 characters</label>
          <input id="password" type="password" autocomplete="new-password" minLength={12} maxLength={200} required />
          <label for="again">Once more</label>
          <input id="again" type="password" autocomplete="new-password" required />
          <label class="check">
            <input id="revoke" type="checkbox" /> End my access tokens (programs) too
          </label>
          <button>Save</button>
        </form>
        <p id="said" role="status" aria-live="polite"></p>
      </main>
      <script src="/account/password.js"></script>
    </HtmlDocument>,
  );

/** In this file's folder, also when built: scripts/build.mjs copies files that are not TypeScript. */
const script = () => readFileSync(new URL('page/password.js', import.meta.url), 'utf8');

const file = (path: string, summary: string, content: () => string, type: string) =>
  pageFile({ path, summary, type, content, headers: { 'Content-Security-Policy': POLICY } });

/** The page behind links in mails to users (account.service.ts). Not part of the contract. */
export const accountPages = [
  file('/account/password', 'Choose a password by a mailed link', page, 'text/html; charset=utf-8'),
  file('/account/password.js', 'Its script', script, 'text/javascript; charset=utf-8'),
  file('/account/password.css', 'Its style', () => smallPageCss, 'text/css; charset=utf-8'),
];
