import { h } from 'preact';
import type { ComponentChildren } from 'preact';
import { renderPage, renderPart } from '../../../activities/html/render.js';
import type { Settings } from '../../../settings.js';
import { reply } from '../../http/reply.js';
import type { Reply } from '../../http/reply.js';
import { VISIT_COOKIE, consoleCookie } from '../../http/security/console-login.js';
import { Document } from '../html/document.js';
import { UiProvider } from '../html/ui.js';
import type { Ui } from '../html/ui.js';

/** Scripts and styles as files of this service, nothing from other servers. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action " +
  "'self'; base-uri 'none'; frame-ancestors 'none'";
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-store',
};

/** The content of a page. */
export interface View {
  title: string;
  content: ComponentChildren;
  /** Default 200. */
  status?: number;
  headers?: Record<string, string | string[]>;
  /** Only the content, without the page frame: a part that htmx replaces. */
  fragment?: boolean;
}

/** A view as the answer of a route. */
export function renderView(
  settings: Settings,
  ui: Ui,
  { title, content, status = 200, headers, fragment }: View,
): Reply {
  const html = fragment
    ? renderPart(h(UiProvider, { value: ui }, content))
    : renderPage(h(UiProvider, { value: ui }, h(Document, { title }, content)));
  const cookie = ui.newVisit && consoleCookie(settings, VISIT_COOKIE, ui.newVisit);
  return reply(status, html, {
    ...HEADERS,
    ...headers,
    ...(cookie && { 'Set-Cookie': [cookie, ...[headers?.['Set-Cookie'] ?? []].flat()] }),
  });
}

/** Redirects to another page of the console. */
export const redirect = (to: string, cookies: string[] = []): Reply =>
  reply(303, undefined, { Location: to, ...(cookies.length > 0 && { 'Set-Cookie': cookies }) });
