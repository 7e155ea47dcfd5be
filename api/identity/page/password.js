'use strict';
const token = new URLSearchParams(location.search).get('token') || '';
// Out of the address bar and the history: it must not be read over a shoulder or sent on.
history.replaceState(null, '', location.pathname);
const form = document.getElementById('form'),
  said = document.getElementById('said');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const password = document.getElementById('password').value;
  if (password !== document.getElementById('again').value) {
    said.textContent = 'The two are not the same.';
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
      said.textContent =
        'Saved. You can log in now.' + (left > 0 ? ' Access tokens of yours that still work: ' + left + '.' : '');
      return;
    }
    said.textContent = (await answer.json()).detail;
  } catch {
    said.textContent = 'The service is not reached at the moment: try again.';
  }
});
