import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import type { Context, Next } from 'koa';
import { JsonReadable } from '../json/json-stream.js';

const brotli = promisify(brotliCompress);
const gz = promisify(gzip);
/** Below this size the header costs more than compression saves. */
const MIN_BYTES = 1024;
/** Up to this size it takes a third of a millisecond, less than handing it to another thread. */
const MAX_SYNC_BYTES = 32 * 1024;
const TEXT = /^(application\/(json|[\w.+-]+\+json|javascript)|text\/|image\/svg\+xml)/;

/**
 * Compresses texts of more than a kilobyte, large ones off the main thread, if the client accepts it. Not compressed:
 * streams (their first bytes would wait for a full block) and records with an ETag, whose strong tag names these bytes.
 */
export async function compress(ctx: Context, next: Next): Promise<void> {
  await next();
  const { body } = ctx;
  if (body instanceof JsonReadable) {
    if (!ctx.response.get('etag')) compressWritten(ctx, body);
    return;
  }
  if (
    !(typeof body === 'string' || Buffer.isBuffer(body)) ||
    !TEXT.test(ctx.response.get('content-type') ?? '') ||
    ctx.response.get('etag') ||
    ctx.response.get('content-encoding')
  )
    return;
  ctx.vary('Accept-Encoding');
  const encoding = encodingFor(ctx, Buffer.byteLength(body));
  if (!encoding) return;
  const small = await (typeof body === 'string' ? packed(Buffer.from(body), encoding) : packedOnce(body, encoding));
  const type = ctx.response.get('content-type');
  ctx.body = small;
  ctx.set({ 'Content-Encoding': encoding, 'Content-Type': type });
}

/** Compresses piece by piece, so that neither input nor output is in memory as a whole. */
function compressWritten(ctx: Context, body: JsonReadable): void {
  ctx.vary('Accept-Encoding');
  const encoding = encodingFor(ctx, ctx.length ?? 0);
  if (!encoding) return;
  const type = ctx.response.get('content-type');
  // An error on either side ends both; the writer of the body logs it.
  ctx.body = pipeline(
    body,
    encoding === 'br' ? createBrotliCompress({ params: BROTLI }) : createGzip({ level: 6 }),
    () => undefined,
  );
  ctx.remove('Content-Length');
  ctx.set({ 'Content-Encoding': encoding, 'Content-Type': type });
}

const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 4 };

/** The encoding for a text of this size that the client accepts; undefined: none. */
function encodingFor(ctx: Context, length: number): 'br' | 'gzip' | undefined {
  if (ctx.get('accept-encoding') === '' || length <= MIN_BYTES) return undefined;
  const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity');
  return encoding === 'br' || encoding === 'gzip' ? encoding : undefined;
}

type Packed = Buffer | Promise<Buffer>;
const kept = new WeakMap<Buffer, Partial<Record<'br' | 'gzip', Buffer>>>();

/**
 * `packed`, once for each buffer: a file of a page is the same one at every request, and anybody may ask for it at any
 * rate. Its compressed form is kept for as long as the buffer itself.
 */
async function packedOnce(bytes: Buffer, encoding: 'br' | 'gzip'): Promise<Buffer> {
  const known = kept.get(bytes) ?? {};
  kept.set(bytes, known);
  return (known[encoding] ??= await packed(bytes, encoding));
}

/** Synchronous for small texts, a promise for large ones. */
const packed = (bytes: Buffer, encoding: 'br' | 'gzip'): Packed =>
  encoding === 'br' ? brotliOf(bytes) : gzipOf(bytes);

function brotliOf(bytes: Buffer): Packed {
  const options = { params: { ...BROTLI, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  return bytes.length <= MAX_SYNC_BYTES ? brotliCompressSync(bytes, options) : brotli(bytes, options);
}

const gzipOf = (bytes: Buffer): Packed =>
  bytes.length <= MAX_SYNC_BYTES ? gzipSync(bytes, { level: 6 }) : gz(bytes, { level: 6 });
