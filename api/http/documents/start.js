'use strict';
// The login of the page: its token is given to the operations that are tried, and to nothing else.
const ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  persistAuthorization: false,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
const form = document.getElementById('login'),
  said = document.getElementById('said');
const field = (name) => form.elements.namedItem(name);
let mfaToken;
const ask = async (path, body) => {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { ok: answer.ok, ...(await answer.json()) };
};
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  try {
    const answer = mfaToken
      ? await ask('/api/auth/mfa/login', { mfa_token: mfaToken, code: field('code').value })
      : await ask('/api/auth/login', { email: field('email').value, password: field('password').value });
    if (answer.tokens) {
      ui.preauthorizeApiKey('bearer', answer.tokens.access_token);
      said.textContent = 'Logged in as ' + answer.user.email + '. Operations are called with this login.';
      form.reset();
    } else if (answer.mfa_required) {
      mfaToken = answer.mfa_token;
      field('code').hidden = false;
      field('code').focus();
      said.textContent = 'Give the code of your authenticator.';
    } else
      said.textContent = answer.mfa_setup_required
        ? 'Your role needs a second factor: set one up first.'
        : answer.detail;
  } catch {
    said.textContent = 'The service is not reached at the moment: try again.';
  }
});
