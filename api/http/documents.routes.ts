import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReferencePage, TryPage } from './documents/pages.js';
import { renderPage } from '../../activities/html/render.js';
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

/** Everything comes from this service; scripts only as files. Both pages write styles into the document. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src " +
  "'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
};
const START = fileURLToPath(new URL('documents/start.js', import.meta.url));
/** The files of the packages that are served, by name; no others are. */
const files: Record<string, string> = {
  '/docs/swagger-ui.css': join(swagger, 'swagger-ui.css'),
  '/docs/swagger-ui-bundle.js': join(swagger, 'swagger-ui-bundle.js'),
  '/docs/favicon-32x32.png': join(swagger, 'favicon-32x32.png'),
  '/redoc/redoc.standalone.js': join(redoc, 'redoc.standalone.js'),
};

/** The OpenAPI versions of the contract. */
const VIEWS = new Map<string, (document: Record<string, unknown>) => Record<string, unknown>>([
  ['3.1', (document) => document],
  ['3.0', version30],
]);

/** The contract and its pages: 404 when ENABLE_API_DOCS is false. */
export function documentRoutes(described: readonly Route[]): Route[] {
  const documents = new Map<string, Buffer>();
  const page = (path: string, summary: string, content: () => string | Promise<string | Buffer>, type: string) => {
    // Made at its first request, then kept: anybody may ask for it at any rate.
    let made: Buffer | undefined;
    return route({
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
        made ??= Buffer.from(await content());
        return reply(200, made, {
          'Content-Type': type,
          'Content-Security-Policy': POLICY,
          'Cache-Control': type.startsWith('text/html') ? 'no-cache' : 'max-age=3600',
        });
      },
    });
  };
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
        if (!documents.has(version)) documents.set(version, Buffer.from(JSON.stringify(view(openapi(described)))));
        return reply(200, documents.get(version), {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Security-Policy': POLICY,
          'Cache-Control': 'no-cache',
        });
      },
    }),
    page('/docs', 'Interactive documentation', () => renderPage(TryPage()), 'text/html; charset=utf-8'),
    page('/docs/start.js', 'Starts the documentation', () => read(START), TYPES.js!),
    page('/redoc', 'Reference documentation', () => renderPage(ReferencePage()), 'text/html; charset=utf-8'),
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

/**
 * The package shows a logo from its maker's server: it is replaced by an empty one, so that nothing is requested there.
 */
const ELSEWHERE = /https:\/\/cdn\.redoc\.ly\/[\w/.-]+/g;
const NO_IMAGE = 'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22/%3E';
async function read(file: string): Promise<string | Buffer> {
  const content = await readFile(file);
  return file.endsWith('redoc.standalone.js') ? content.toString('utf8').replaceAll(ELSEWHERE, NO_IMAGE) : content;
}

/** A page of docs/: two folders up in the sources, three in the build. */
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
