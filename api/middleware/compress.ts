import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import type { Context, Next } from 'koa';

const brotli = promisify(brotliCompress);
const gz = promisify(gzip);
/** Below this the header costs more than it saves. */
const LEAST_BYTES = 1024;
/** Up to this it takes a third of a millisecond, and longer to hand it to another thread and be told. */
const AT_ONCE_BYTES = 32 * 1024;
const TEXT = /^(application\/(json|[\w.+-]+\+json|javascript)|text\/|image\/svg\+xml)/;

/**
 * Compresses texts of more than a kilobyte, large ones off the main thread, as the client takes it. Left as they are: streams (what
 * is read of them first would wait for a full block) and records with an ETag, whose strong tag names these bytes.
 */
export async function compress(ctx: Context, next: Next): Promise<void> {
  await next();
  const { body } = ctx;
  if (!(typeof body === 'string' || Buffer.isBuffer(body)) || !TEXT.test(ctx.response.get('content-type') ?? '') || ctx.response.get('etag') || ctx.response.get('content-encoding')) return;
  ctx.vary('Accept-Encoding');
  if (ctx.get('accept-encoding') === '' || ctx.method === 'HEAD' || Buffer.byteLength(body) <= LEAST_BYTES) return;
  const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity');
  if (encoding !== 'br' && encoding !== 'gzip') return;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const small = encoding === 'br' ? await brotliOf(bytes) : await gzipOf(bytes);
  const type = ctx.response.get('content-type');
  ctx.body = small;
  ctx.set({ 'Content-Encoding': encoding, 'Content-Type': type });
}

function brotliOf(bytes: Buffer): Buffer | Promise<Buffer> {
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  return bytes.length <= AT_ONCE_BYTES ? brotliCompressSync(bytes, options) : brotli(bytes, options);
}

const gzipOf = (bytes: Buffer): Buffer | Promise<Buffer> => (bytes.length <= AT_ONCE_BYTES ? gzipSync(bytes, { level: 6 }) : gz(bytes, { level: 6 }));
