import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { problem } from '../errors.js';

/**
 * Reads a body of any type unchanged, so that signatures and strict parsing see the sent bytes: without an encoding the
 * reader decodes nothing.
 */
function reader(limit: number) {
  return koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['*/*'],
    textLimit: limit,
    encoding: '',
    onError: (fault) => {
      if ((fault as { status?: number }).status === 413) throw tooLargeOnArrival(limit);
      if (/^Z_/.test((fault as { code?: string }).code ?? ''))
        throw problem('BAD_REQUEST', {
          detail:
            'The body is not compressed as Content-Encoding says: gzip, or deflate in the zlib format (RFC 1950).',
          cause: fault,
        });
      // The client disconnected in the middle of its body: nobody waits for the answer.
      throw problem('BAD_REQUEST', { detail: 'The body broke off.', cause: fault });
    },
  });
}
const readers = new Map<number, ReturnType<typeof reader>>();

/**
 * Waits for a body with a timeout. After it, remaining bytes are dropped together with the connection, which the answer
 * closes.
 * @throws 408 when it has not arrived in time
 */
export function withUploadTimeout<T>(seconds: number, reading: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(problem('REQUEST_TIMEOUT', { headers: { Connection: 'close' } }));
    }, seconds * 1000);
    reading()
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(late);
      });
  });
}

/** Whether the request has a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Encodings by their names; `x-gzip` is the older name of gzip (RFC 9110, 8.4.1.3). */
const ENCODINGS = new Map([
  ['', ''],
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** The compression of a body, in lower case. @throws 415 for an unsupported one */
export function encodingOf(ctx: Context): string {
  const encoding = ENCODINGS.get(ctx.get('content-encoding').trim().toLowerCase());
  if (encoding === undefined)
    throw problem('UNSUPPORTED_MEDIA_TYPE', {
      detail: 'Content-Encoding must be gzip, deflate or identity.',
      headers: { 'Accept-Encoding': 'gzip, deflate' },
    });
  return encoding;
}

/**
 * Reads a body's bytes. @throws 408 if they have not arrived after `seconds`, 413 as soon as it exceeds `limit`, 415
 * for an unsupported compression, 400 for invalid compressed data
 */
export async function readBytes(ctx: Context, limit: number, seconds: number): Promise<Buffer> {
  // A compressed body is decompressed while it is read: `limit` applies to the result.
  const encoding = encodingOf(ctx);
  // The reader knows encodings only in lower case.
  if (encoding !== '') ctx.req.headers['content-encoding'] = encoding;
  if (!hasBody(ctx.req)) return Buffer.alloc(0);
  if (Number(ctx.get('content-length')) > limit) throw tooLarge(limit);
  let read = readers.get(limit);
  if (!read) readers.set(limit, (read = reader(limit)));
  await withUploadTimeout(seconds, () => read(ctx, async () => undefined));
  const taken: unknown = (ctx.request as { body?: unknown }).body;
  return Buffer.isBuffer(taken) ? taken : Buffer.alloc(0);
}

/** The rest may have no end: the connection ends with the answer. */
export const tooLargeOnArrival = (limit: number) =>
  problem('TOO_LARGE', { detail: `The body is larger than ${limit} bytes.`, headers: { Connection: 'close' } });

export const tooLarge = (limit: number) => problem('TOO_LARGE', { detail: `The body is larger than ${limit} bytes.` });

/** The media type without its parameters, in lower case. */
export const mediaType = (request: IncomingMessage): string =>
  (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
