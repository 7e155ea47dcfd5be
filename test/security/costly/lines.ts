import type { Route } from '../../../api/http/route.js';
import { asMuchAs } from '../../support/in-full.js';

/** What stands before a request's body: as much of it as Node.js takes is some 16 KB. */
export interface Line {
  query?: string;
  headers?: Record<string, string>;
  /** In place of each parameter of the path. */
  parameter?: string;
}
const ROOM = 12_000;
const times = (piece: string): string => piece.repeat(Math.floor(ROOM / piece.length));
const numbered = (piece: (i: number) => string): string => {
  let text = '';
  for (let i = 0; text.length < ROOM; i += 1) text += piece(i);
  return text;
};

/** Lists and texts that readers of headers may take long for. */
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  accept: ['a/b;q=0.1,', 'application/json;a=b;', '*/*,', ' ', 'text/html;level=1;q=0.999,'],
  'accept-language': ['a-b;q=0.1,', 'de,', '*-', '-'],
  'accept-encoding': ['gzip;q=0.1,', 'identity;q=0,', ' ,'],
  'accept-charset': ['utf-8;q=0.1,'],
  'if-none-match': ['"a",', 'W/"a" , ', '"', '* ,'],
  'if-match': ['"a",', 'W/', '"'],
  'if-modified-since': ['Wed, '],
  cookie: ['a=b; ', '=;', 'portal_session=a.b; ', '%41=%42; '],
  authorization: ['Bearer ', 'Bearer a.b.c', 'Basic QUJD', ' '],
  'x-forwarded-for': ['1.1.1.1, ', '::1,', ' '],
  forwarded: ['for=1.1.1.1;'],
  range: ['bytes=0-1,', '0-1,'],
  'content-type': ['application/json;a=b;', 'multipart/form-data;boundary=', '; ', '/'],
  traceparent: ['00-', '0'],
  tracestate: ['a=b,', 'a@b=c,'],
  'idempotency-key': ['a', '!'],
  'x-study-id': ['0-', '0'],
  'x-site-id': ['0-'],
  'x-participant-id': ['0-'],
  'x-session-id': ['0-', 'a'],
  'x-request-id': ['a', '-'],
  'last-event-id': ['1', '0-'],
  'x-device-time': ['2026-01-01T', '0'],
  origin: ['http://a.', 'null '],
  host: ['a.', '1:'],
  'user-agent': ['a/', '('],
};
/** Texts for values of a query or a path. */
const TEXTS = ['a', '1', '0-', '-', ',', '%20', '%C3%A4', 'a@a.', 'eyJ.', '2026-01-01T', '+', '9e9', '%F0%9F%98%80'];

/**
 * The same few functions read them for all routes: each parameter of a route is sent one in so many of the texts, all of
 * them together all. One function reads these for all lists.
 */
const PAGING = ['skip', 'limit'];
const ONE_IN = asMuchAs(6, 1),
  ONE_IN_PAGING = asMuchAs(12, 4);

/** Of what every route reads alike a route is sent every second one, the next route the others. */
export const shareOf = (lines: Record<string, Line>, turn: number): Record<string, Line> =>
  Object.fromEntries(Object.entries(lines).filter((_, place) => (place + turn) % asMuchAs(2, 1) === 0));

/** Requests without a body, each as long as it may be, each of which costs another part of the service much. */
export function linesOf(route: Route): Record<string, Line> {
  const names = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {});
  const ofAnyRoute: Record<string, Line> = {
    'unknown names': { query: numbered((i) => `&k${i}=`) },
    'one unknown name, often': { query: times('&a=1') },
    'names with brackets': { query: times('&a[b][c]=1') },
    'nothing between': { query: times('&') },
    escapes: { query: `k=${times('%41')}` },
    'broken escapes': { query: `k=${times('%4')}` },
  };
  const lines = shareOf(ofAnyRoute, route.path.length);
  /** Which texts' turn it is: others in another route, and for its next parameter. */
  const isTurn = (text: number, parameter: number, oneIn: number) =>
    (text + parameter + route.path.length) % oneIn === 0;
  for (const [place, name] of names.entries()) {
    lines[`${name}, often`] = { query: times(`&${name}=1`) };
    for (const [turn, text] of TEXTS.entries())
      if (isTurn(turn, place, PAGING.includes(name) ? ONE_IN_PAGING : ONE_IN))
        lines[`${name} of ${text}`] = { query: `&${name}=${times(text)}` };
  }
  if (names.length > 0) lines['all names, often'] = { query: times(names.map((name) => `&${name}=1,2`).join('')) };
  if (route.path.includes('{'))
    for (const [turn, text] of TEXTS.entries())
      if (isTurn(turn, 0, ONE_IN)) lines[`a path of ${text}`] = { parameter: times(text) };
  return lines;
}

/** The same for headers, which every route reads alike. */
export const headerLines: Record<string, Line> = Object.fromEntries(
  Object.entries(HEADERS).flatMap(([name, pieces]) =>
    pieces.map((piece) => [`${name} of ${piece}`, { headers: { [name]: times(piece).trim() || 'x' } }]),
  ),
);
