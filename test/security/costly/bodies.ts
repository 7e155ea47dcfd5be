import type { Route } from '../../../api/http/route.js';
import { bodySchema, requestBody } from '../../../api/http/route.js';

/** A request's body as it is sent. */
export type Body = { type: string; content: Uint8Array };
type Bodies = Record<string, (bytes: number) => Body>;
const body = (type: string, content: string | Uint8Array): Body => ({
  type,
  content: typeof content === 'string' ? Buffer.from(content) : content,
});
const json = (content: string | Uint8Array): Body => body('application/json', content);

/**
 * Repeats a piece, with its number, as often as it fits between two texts. The longest text is made once: a shorter one
 * is its beginning.
 */
function filled(piece: (i: number) => string, [before, after] = ['', ''], separator = ','): (bytes: number) => Buffer {
  let longest = Buffer.alloc(0);
  return (bytes) => {
    const room = bytes - before.length - after.length;
    if (longest.length < room) {
      let text = '';
      for (let i = 0; text.length < room; i += 1) text += `${piece(i)}${separator}`;
      longest = Buffer.from(text);
    }
    const end = Math.max(0, longest.lastIndexOf(separator, room));
    return Buffer.concat([Buffer.from(before), longest.subarray(0, end), Buffer.from(after)]);
  };
}
const keys = filled((i) => `"k${i}":0`, ['{', '}']);
const nearKeys = filled((i) => `"emial_passwrod_tokne${i}":0`, ['{', '}']);
const lists = filled(() => '[[[[[[[[[[]]]]]]]]]]', ['{"items":[', ']}']);
const digits = filled(() => '0.30000000000000004', ['{"items":[', ']}']);
const fields = filled((i) => `f${i}=1`, ['', ''], '&');

/** Bodies as large as they may be, each of which costs another part of the service much. */
const jsonBodies: Bodies = {
  'unknown keys': (bytes) => json(keys(bytes)),
  'keys that are nearly known': (bytes) => json(nearKeys(bytes)),
  'a list of lists': (bytes) => json(lists(bytes)),
  'numbers of many digits': (bytes) => json(digits(bytes)),
  escapes: (bytes) => json(`{"token":"${'\\u0041'.repeat((bytes - 20) / 6)}"}`),
  'a text of letters that mean something to patterns': (bytes) =>
    json(`{"email":"${'a@a.'.repeat((bytes - 60) / 4)}","password":"x","token":"y"}`),
};
const mail = (content: string): Body => body('message/rfc822', content);
const mails: Bodies = {
  'blank lines': (bytes) => mail('\r\n'.repeat(bytes / 2)),
  'header lines': (bytes) => mail('X-Delivery-Report: a.b\r\n'.repeat(bytes / 24)),
  boundaries: (bytes) =>
    mail(`Content-Type: multipart/report; boundary=b\r\n\r\n${'--b\r\n\r\n'.repeat((bytes - 100) / 7)}`),
  base64: (bytes) => mail(`${'QUJD'.repeat(18)}\r\n`.repeat(bytes / 74)),
};
const triggers: Bodies = {
  fields: (bytes) => body('application/x-www-form-urlencoded', fields(bytes)),
  parts: (bytes) =>
    body(
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(bytes / 53),
    ),
};

/** The bodies that a route may be sent, by what they are made of. */
export function bodiesOf(route: Route): Bodies {
  const given = requestBody(route);
  if (given?.kind !== 'bytes') return bodySchema(route) ? jsonBodies : {};
  const { mediaTypes } = given.options;
  if (mediaTypes?.includes('message/rfc822')) return mails;
  return mediaTypes ? triggers : { ...mails, ...jsonBodies };
}
