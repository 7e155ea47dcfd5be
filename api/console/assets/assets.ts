import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { paletteCss } from '../../../activities/html/palette.js';
import { anyone } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import { reply, route } from '../../http/route.js';

interface Asset {
  /** Its address contains the hash of its content: it may be cached forever. */
  href: string;
  content: Buffer;
  type: string;
}

const SCRIPT = 'text/javascript; charset=utf-8';

function asset(name: string, ending: string, type: string, content: Buffer): Asset {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 16);
  return { href: `/console/assets/${name}-${hash}.${ending}`, content, type };
}
const own = (file: string): Buffer => readFileSync(fileURLToPath(new URL(file, import.meta.url)));
const packaged = (file: string): Buffer => readFileSync(createRequire(import.meta.url).resolve(file));

/** The style sheet’s parts, in this order: what a narrow screen or paper needs comes last, over the rest. */
const STYLES = [
  'base.css',
  'parts.css',
  'approvals.css',
  'work.css',
  'participants.css',
  'studies.css',
  'admin.css',
  'edit.css',
  'narrow-and-print.css',
];

/**
 * Tables become cards where there is no room for their columns: five and more of them need more than a tablet has.
 * Paper is as narrow, but its letters are smaller.
 */
function cardsCss(): Buffer {
  const rules = own('cards.css').toString('utf8');
  const wide = rules.replaceAll('table.cards', 'table.cards.wide');
  return Buffer.from(`@media screen and (max-width: 40rem) {${rules}}@media screen and (max-width: 60rem) {${wide}}`);
}

/** All files that the pages load: nothing comes from other servers. */
export const assets = {
  style: asset(
    'console',
    'css',
    'text/css; charset=utf-8',
    Buffer.concat([Buffer.from(paletteCss('chosen')), ...STYLES.map(own), cardsCss()]),
  ),
  script: asset('console', 'js', SCRIPT, own('console.js')),
  icon: asset('icon', 'svg', 'image/svg+xml', own('icon.svg')),
  htmx: asset('htmx', 'js', SCRIPT, packaged('htmx.org/dist/htmx.min.js')),
};
const byHref = new Map(Object.values(assets).map((one) => [one.href, one]));

export const assetRoutes = [
  route({
    method: 'GET',
    path: '/console/assets/{file}',
    tag: 'Console',
    hidden: true,
    summary: 'Get a style or script of the console',
    access: anyone,
    rateLimit: 'none',
    responses: { 200: undefined },
    handle: ({ params }) => {
      const found = byHref.get(`/console/assets/${params.file}`);
      if (!found) throw problem('NOT_FOUND');
      return reply(200, found.content, {
        'Content-Type': found.type,
        'Cache-Control': 'public, max-age=31536000, immutable',
      });
    },
  }),
];
