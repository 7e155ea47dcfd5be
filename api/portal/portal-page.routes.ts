import { readFileSync } from 'node:fs';
import { h } from 'preact';
import { paletteCss } from '../../activities/html/palette.js';
import { renderPage } from '../../activities/html/render.js';
import { pageFile } from '../http/page-file.js';
import { PortalPage } from './portal.page.js';

/** Scripts and styles as files of this service; nothing is sent elsewhere, and no other page may frame this one. */
const POLICY =
  "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
  "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** In this file's folder, also when built: scripts/build.mjs copies files that are not TypeScript. */
const asset = (name: string): string => readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');

const file = (
  path: string,
  summary: string,
  content: string | (() => string),
  type: string,
  more: Record<string, string> = {},
) =>
  pageFile({
    path,
    summary,
    type,
    content: typeof content === 'string' ? () => asset(content) : content,
    headers: {
      'Content-Security-Policy': POLICY,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
      ...more,
    },
  });

/**
 * The page behind a participant's magic link. Its button uses up the link, not the request of the page: mail scanners
 * that follow links must not use it up. Not part of the contract.
 */
export const portalPages = [
  file('/portal', 'The participant’s page', () => renderPage(h(PortalPage, {})), 'text/html; charset=utf-8'),
  file('/portal/page.js', 'Its script', 'page.js', 'text/javascript; charset=utf-8'),
  file('/portal/elements.js', 'Its elements', 'elements.js', 'text/javascript; charset=utf-8'),
  file('/portal/words.js', 'Its words', 'words.js', 'text/javascript; charset=utf-8'),
  file('/portal/icon.svg', 'Its icon', 'icon.svg', 'image/svg+xml'),
  // Browsers request it automatically, for pages that name no icon.
  file('/favicon.ico', 'The icon of all pages', 'icon.svg', 'image/svg+xml'),
  // The page is one segment above its script.
  file('/portal/worker.js', 'What shows its push messages', 'worker.js', 'text/javascript; charset=utf-8', {
    'Service-Worker-Allowed': '/portal',
  }),
  file('/portal/page.css', 'Its style', () => paletteCss('auto') + asset('page.css'), 'text/css; charset=utf-8'),
];
