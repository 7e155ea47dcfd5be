import { anyone } from '../http/access.js';
import { reply, route } from '../http/route.js';

/** Scripts and styles as files of the service itself; the form goes nowhere but through the script. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const html = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Choose a password</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<link rel="stylesheet" href="/account/password.css"></head>
<body><main><h1>Choose a password</h1>
<form id="form"><label for="password">New password, at least 12 characters</label><input id="password" type="password" autocomplete="new-password" minlength="12" maxlength="200" required>
<label for="again">Once more</label><input id="again" type="password" autocomplete="new-password" required><label><input id="revoke" type="checkbox"> End my access tokens (programs) too</label><button>Save</button></form>
<p id="said" role="status" aria-live="polite"></p></main><script src="/account/password.js"></script></body></html>`;

const script = `'use strict';
const token = new URLSearchParams(location.search).get('token') || '';
// Out of the address bar and the history: it must not be read over a shoulder or sent on.
history.replaceState(null, '', location.pathname);
const form = document.getElementById('form'), said = document.getElementById('said');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const password = document.getElementById('password').value;
  if (password !== document.getElementById('again').value) { said.textContent = 'The two are not the same.'; return; }
  said.textContent = '';
  try {
    const answer = await fetch('/api/auth/password/reset', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token, new_password: password, revoke_api_tokens: document.getElementById('revoke').checked }) });
    if (answer.ok) {
      const left = answer.status === 200 ? (await answer.json()).api_tokens.length : 0;
      form.hidden = true;
      said.textContent = 'Saved. You can log in now.' + (left > 0 ? ' Access tokens of yours that still work: ' + left + '.' : '');
      return;
    }
    said.textContent = (await answer.json()).detail;
  } catch { said.textContent = 'The service is not reached at the moment: try again.'; }
});
`;

const css = `body{font:1rem/1.5 system-ui,sans-serif;margin:0;display:grid;place-items:center;min-height:100vh;background:#f6f7f9;color:#1b1f24}
main{background:#fff;padding:2rem;border-radius:.5rem;width:min(24rem,90vw);box-shadow:0 1px 4px #0002}h1{font-size:1.25rem;margin-top:0}
label{display:block;margin-top:1rem}#revoke{width:auto}input,button{font:inherit;box-sizing:border-box;width:100%;padding:.5rem;border:1px solid #8a939e;border-radius:.25rem}
button{margin-top:1.5rem;background:#1f5fbf;border-color:#1f5fbf;color:#fff;cursor:pointer}`;

const file = (path: string, summary: string, content: string, type: string) =>
  route({
    method: 'GET',
    path,
    hidden: true,
    tag: 'Pages',
    summary,
    access: anyone,
    rateLimit: 'none',
    responses: { 200: undefined },
    handle: () => reply(200, content, { 'Content-Type': type, 'Content-Security-Policy': POLICY }),
  });

/** The page that the links of mails to users open (services/account.ts). Not part of the contract. */
export const accountPages = [
  file('/account/password', 'Choose a password by a mailed link', html, 'text/html; charset=utf-8'),
  file('/account/password.js', 'Its script', script, 'text/javascript; charset=utf-8'),
  file('/account/password.css', 'Its style', css, 'text/css; charset=utf-8'),
];
