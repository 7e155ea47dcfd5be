import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { problem } from '../errors.js';

/**
 * Takes a body of any type as it is: one character a byte, so that signatures and strict parsing see what was sent. By
 * the name of `binary` the engine reads it; `latin1`, the same, would be looked up in a table, byte by byte.
 */
function reader(limit: number) {
  return koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['*/*'],
    textLimit: limit,
    encoding: 'binary',
    onError: (fault) => {
      if ((fault as { status?: number }).status === 413) throw tooLarge(limit);
      // The client went away in the middle of its body: nobody waits for the answer.
      throw problem('BAD_REQUEST', { detail: 'The body broke off.', cause: fault });
    },
  });
}
const readers = new Map<number, ReturnType<typeof reader>>();

/**
 * Reads a body for so long. What still comes of it is thrown away with its connection, which the answer ends.
 * @throws 408 when it is not there in time
 */
export function withUploadTimeout<T>(request: IncomingMessage, seconds: number, reading: () => Promise<T>): Promise<T> {
  if (!hasBody(request)) return reading();
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

/** Whether the request has a body at all. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const ENCODINGS = ['', 'identity', 'gzip', 'deflate'];

/** Reads a body's bytes. @throws 413 as soon as it is known to be longer than `limit`, 415 when it is compressed by another way than these, 400 what does not inflate */
export async function readBytes(ctx: Context, limit: number): Promise<Buffer> {
  // A compressed one is inflated while it is read: `limit` is that of what comes out.
  const encoding = ctx.get('content-encoding').trim().toLowerCase();
  if (!ENCODINGS.includes(encoding))
    throw problem('UNSUPPORTED_MEDIA_TYPE', {
      detail: 'Content-Encoding must be gzip, deflate or identity.',
      headers: { 'Accept-Encoding': 'gzip, deflate' },
    });
  // The reader knows them in lower case alone.
  if (encoding !== '') ctx.req.headers['content-encoding'] = encoding;
  if (!hasBody(ctx.req)) return Buffer.alloc(0);
  if (Number(ctx.get('content-length')) > limit) throw tooLarge(limit);
  let read = readers.get(limit);
  if (!read) readers.set(limit, (read = reader(limit)));
  await read(ctx, async () => undefined);
  const taken: unknown = (ctx.request as { body?: unknown }).body;
  return typeof taken === 'string' ? Buffer.from(taken, 'latin1') : Buffer.alloc(0);
}

export const tooLarge = (limit: number) => problem('TOO_LARGE', { detail: `The body is larger than ${limit} bytes.` });

/** The media type without its parameters, in lower case. */
export const mediaType = (request: IncomingMessage): string =>
  (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
