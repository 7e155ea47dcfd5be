import type { Route } from '../../../api/http/route.js';
import { bodySchema, requestBody } from '../../../api/http/route.js';

/** A request's body as it is sent. */
export type Body = { type: string; content: string };
const json = (content: string): Body => ({ type: 'application/json', content });
/** Repeats a piece, with its number, as often as it fits. */
function filled(bytes: number, piece: (i: number) => string, [before, after] = ['', '']): string {
  const pieces: string[] = [];
  for (let size = before.length + after.length, i = 0; ; i += 1) {
    const next = piece(i);
    if ((size += next.length + 1) > bytes) break;
    pieces.push(next);
  }
  return `${before}${pieces.join(',')}${after}`;
}

/** Bodies as large as they may be, each of which costs another part of the service much. */
const jsonBodies: Record<string, (bytes: number) => Body> = {
  'unknown keys': (bytes) => json(filled(bytes, (i) => `"k${i}":0`, ['{', '}'])),
  'keys that are nearly known': (bytes) => json(filled(bytes, (i) => `"emial_passwrod_tokne${i}":0`, ['{', '}'])),
  'a list of lists': (bytes) => json(filled(bytes, () => '[[[[[[[[[[]]]]]]]]]]', ['{"items":[', ']}'])),
  'numbers of many digits': (bytes) => json(filled(bytes, () => '0.30000000000000004', ['{"items":[', ']}'])),
  escapes: (bytes) => json(`{"token":"${'\\u0041'.repeat((bytes - 20) / 6)}"}`),
  'a text of letters that mean something to patterns': (bytes) =>
    json(`{"email":"${'a@a.'.repeat((bytes - 60) / 4)}","password":"x","token":"y"}`),
};
const mails: Record<string, (bytes: number) => Body> = {
  'blank lines': (bytes) => ({ type: 'message/rfc822', content: '\r\n'.repeat(bytes / 2) }),
  'header lines': (bytes) => ({ type: 'message/rfc822', content: 'X-Delivery-Report: a.b\r\n'.repeat(bytes / 24) }),
  boundaries: (bytes) => ({
    type: 'message/rfc822',
    content: `Content-Type: multipart/report; boundary=b\r\n\r\n${'--b\r\n\r\n'.repeat((bytes - 100) / 7)}`,
  }),
  base64: (bytes) => ({ type: 'message/rfc822', content: `${'QUJD'.repeat(18)}\r\n`.repeat(bytes / 74) }),
};
const triggers: Record<string, (bytes: number) => Body> = {
  fields: (bytes) => ({
    type: 'application/x-www-form-urlencoded',
    content: filled(bytes, (i) => `f${i}=1`).replaceAll(',', '&'),
  }),
  parts: (bytes) => ({
    type: 'multipart/form-data; boundary=b',
    content: '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(bytes / 53),
  }),
};

/** The bodies that a route may be sent, by what they are made of. */
export function bodiesOf(route: Route): Record<string, (bytes: number) => Body> {
  const body = requestBody(route);
  if (body?.kind !== 'bytes') return bodySchema(route) ? jsonBodies : {};
  const { mediaTypes } = body.options;
  if (mediaTypes?.includes('message/rfc822')) return mails;
  return mediaTypes ? triggers : { ...mails, ...jsonBodies };
}
