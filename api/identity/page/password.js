'use strict';
const token = new URLSearchParams(location.search).get('token') || '';
// Out of the address bar and the history: it must not be read over a shoulder or sent on.
history.replaceState(null, '', location.pathname);
const form = document.getElementById('form'),
  said = document.getElementById('said');
/** The sentences of the page's language. */
const words = said.dataset;
const REFUSALS = { INVALID_LINK: words.invalid, PASSWORD_TOO_COMMON: words.common };
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const password = document.getElementById('password').value;
  if (token === '') {
    said.textContent = words.open;
    return;
  }
  if (password !== document.getElementById('again').value) {
    said.textContent = words.differ;
    return;
  }
  said.textContent = '';
  try {
    const answer = await fetch('/api/auth/password/reset', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        token,
        new_password: password,
        revoke_api_tokens: document.getElementById('revoke').checked,
      }),
    });
    if (answer.ok) {
      const left = answer.status === 200 ? (await answer.json()).api_tokens.length : 0;
      form.hidden = true;
      said.textContent = words.saved + (left > 0 ? ' ' + words.tokens.replace('{n}', left) : '');
      return;
    }
    said.textContent = REFUSALS[(await answer.json()).code] ?? words.later;
  } catch {
    said.textContent = words.unreachable;
  }
});
