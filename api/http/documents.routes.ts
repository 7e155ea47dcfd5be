import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { anyone } from './access.js';
import { brokenRule, problem } from './errors.js';
import { Type } from './common.schemas.js';
import { openapi } from './openapi/document.js';
import { version30 } from './openapi/version-3-0.js';
import { reply, route } from './route.js';
import type { Route } from './route.js';
import type { Dependencies } from '../dependencies.js';

const require = createRequire(import.meta.url);
const swagger = dirname(require.resolve('swagger-ui-dist/package.json'));
const redoc = join(dirname(require.resolve('redoc/package.json')), 'bundles');

/** Everything comes from this service; scripts only as files. Both pages write their styles into the document. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const swaggerPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Research Assessment Platform: API</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/docs/swagger-ui.css"><link rel="icon" type="image/png" href="/docs/favicon-32x32.png"></head>
<body><form id="login" aria-label="Login" style="max-width:1460px;margin:1rem auto 0;padding:0 20px;font:1rem sans-serif">
<input name="email" type="email" placeholder="Email" aria-label="Email" autocomplete="username"> <input name="password" type="password" placeholder="Password" aria-label="Password" autocomplete="current-password">
<input name="code" placeholder="Code" aria-label="Code" inputmode="numeric" autocomplete="one-time-code" hidden> <button>Log in</button> <span id="said" role="status" aria-live="polite"></span></form><div id="swagger-ui"></div><script src="/docs/swagger-ui-bundle.js" charset="utf-8"></script><script src="/docs/start.js" charset="utf-8"></script></body></html>`;
/** The login of the page: its token is given to the operations that are tried, and to nothing else. */
const swaggerStart = `'use strict';
const ui = SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, docExpansion: 'none', filter: true, persistAuthorization: false, validatorUrl: null, presets: [SwaggerUIBundle.presets.apis] });
const form = document.getElementById('login'), said = document.getElementById('said');
const field = (name) => form.elements.namedItem(name);
let mfaToken;
const ask = async (path, body) => {
  const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
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
    } else said.textContent = answer.mfa_setup_required ? 'Your role needs a second factor: set one up first.' : answer.detail;
  } catch { said.textContent = 'The service is not reached at the moment: try again.'; }
});
`;
const redocPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Research Assessment Platform: API reference</title><meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><redoc spec-url="/openapi.json" disable-search="true"></redoc><script src="/redoc/redoc.standalone.js" charset="utf-8"></script></body></html>`;

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
};
/** What the pages load, by name: nothing else of the packages is served. */
const files: Record<string, string> = {
  '/docs/swagger-ui.css': join(swagger, 'swagger-ui.css'),
  '/docs/swagger-ui-bundle.js': join(swagger, 'swagger-ui-bundle.js'),
  '/docs/favicon-32x32.png': join(swagger, 'favicon-32x32.png'),
  '/redoc/redoc.standalone.js': join(redoc, 'redoc.standalone.js'),
};

/** The versions of OpenAPI that the contract is told in. */
const VIEWS = new Map<string, (document: Record<string, unknown>) => Record<string, unknown>>([
  ['3.1', (document) => document],
  ['3.0', version30],
]);

/** The contract and its pages (interface, "Contract discovery"): 404 when ENABLE_API_DOCS is false. */
export function documentRoutes(described: readonly Route[]): Route[] {
  const documents = new Map<string, string>();
  const page = (path: string, summary: string, content: () => string | Promise<string | Buffer>, type: string) =>
    route({
      method: 'GET',
      path,
      hidden: true,
      tag: 'Contract',
      summary,
      access: anyone,
      rateLimit: 'none',
      responses: { 200: undefined },
      handle: async ({ services }) => {
        requireEnabled(services);
        return reply(200, await content(), {
          'Content-Type': type,
          'Content-Security-Policy': POLICY,
          'Cache-Control': type.startsWith('text/html') ? 'no-cache' : 'max-age=3600',
        });
      },
    });
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      hidden: true,
      tag: 'Contract',
      summary: 'The OpenAPI document: 3.1, or 3.0 by ?version=3.0',
      access: anyone,
      rateLimit: 'none',
      query: Type.Object({ version: Type.Optional(Type.String()) }),
      responses: { 200: undefined },
      handle: ({ services, query: { version = '3.1' } }) => {
        requireEnabled(services);
        const view = VIEWS.get(version);
        if (!view) throw brokenRule('version', 'UNKNOWN_VERSION', `must be ${[...VIEWS.keys()].join(' or ')}`);
        if (!documents.has(version)) documents.set(version, JSON.stringify(view(openapi(described))));
        return reply(200, documents.get(version), {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Security-Policy': POLICY,
          'Cache-Control': 'no-cache',
        });
      },
    }),
    page('/docs', 'Interactive documentation', () => swaggerPage, 'text/html; charset=utf-8'),
    page('/docs/start.js', 'Starts the documentation', () => swaggerStart, TYPES.js!),
    page('/redoc', 'Reference documentation', () => redocPage, 'text/html; charset=utf-8'),
    page(
      '/docs/expressions',
      'Names and functions of expressions',
      () => written('expressions.md'),
      'text/markdown; charset=utf-8',
    ),
    page(
      '/docs/examples.json',
      'A request and an answer of each operation',
      () => written('examples.json'),
      'application/json; charset=utf-8',
    ),
    ...Object.entries(files).map(([path, file]) =>
      page(path, 'A file of the documentation', () => read(file), TYPES[path.slice(path.lastIndexOf('.') + 1)]!),
    ),
  ];
}

/** The package shows its maker's logo from the maker's server: nothing is asked there, the page has an empty one. */
const ELSEWHERE = /https:\/\/cdn\.redoc\.ly\/[\w/.-]+/g;
const NO_IMAGE = 'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22/%3E';
async function read(file: string): Promise<string | Buffer> {
  const content = await readFile(file);
  return file.endsWith('redoc.standalone.js') ? content.toString('utf8').replaceAll(ELSEWHERE, NO_IMAGE) : content;
}

/** A page of docs/: two folders up from here in the sources, three in the build. */
async function written(name: string): Promise<Buffer> {
  const [found] = ['../../docs', '../../../docs']
    .map((folder) => fileURLToPath(new URL(`${folder}/${name}`, import.meta.url)))
    .filter((path) => existsSync(path));
  if (found === undefined) throw problem('NOT_FOUND', { detail: 'The page is not a part of this installation.' });
  return readFile(found);
}

function requireEnabled({ settings }: Dependencies): void {
  if (!settings.ENABLE_API_DOCS) throw problem('NOT_FOUND', { detail: 'There is nothing at this path.' });
}
