import { PassThrough, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { createInflate, createGunzip } from 'node:zlib';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { encodingOf, mediaType, readBytes, tooLarge, tooLargeOnArrival, withUploadTimeout } from './bytes.js';
import { problem } from '../errors.js';
import { suggestion } from '../validation/suggestion.js';

/** An uploaded file, and the other parts of its form. `bytes` is empty if `present` is false. */
export interface Upload {
  bytes: Buffer;
  parts: Record<string, string>;
  present: boolean;
  /** The character set that the file's part names (RFC 7578, 4.4). */
  charset?: string | undefined;
}

const PART = 'file';
/** For the form around the file: boundaries, headers of parts, a few short fields. */
const FRAME_BYTES = 64 * 1024;
/** The form parser's code of a form with more files than `maxFiles`. */
const MORE_FILES = 1015;
/** In a part's Content-Disposition; `filename*` has a non-ASCII name. */
const NAMES_A_FILE = /;\s*filename\*?\s*=/i;

/**
 * Reads an upload: the part `file` of a multipart form, or a body of one of `others`. It is kept in memory: it is
 * limited by `limit`, and a crash leaves no participant data in a folder.
 * @throws 408 if it has not arrived after `seconds`, 413 as soon as it is too large, 415 another content type or
 * compression, 400 an invalid form
 */
export async function readUpload(
  ctx: Context,
  limit: number,
  seconds: number,
  others: readonly string[] = [],
): Promise<Upload> {
  const type = mediaType(ctx.req);
  if (others.includes(type)) {
    const bytes = await readBytes(ctx, limit, seconds);
    return { bytes, parts: {}, present: bytes.length > 0 };
  }
  if (type !== 'multipart/form-data')
    throw problem('UNSUPPORTED_MEDIA_TYPE', {
      detail: `The body must be ${['multipart/form-data', ...others].join(' or ')}.`,
    });
  if (Number(ctx.get('content-length')) > limit + FRAME_BYTES) throw tooLarge(limit);
  return withUploadTimeout(seconds, () => readForm(ctx, limit));
}

async function readForm(ctx: Context, limit: number): Promise<Upload> {
  const written = new Map<unknown, Buffer[]>();
  let charset: string | undefined;
  const read = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    formidable: {
      maxFileSize: limit,
      maxFiles: 1,
      maxFields: 20,
      maxFieldsSize: FRAME_BYTES,
      allowEmptyFiles: true,
      minFileSize: 0,
      onPart: (part, take) => {
        if (part.name === PART) charset = charsetOf(part.mimetype);
        take(sorted(part));
      },
      fileWriteStreamHandler: (file?: unknown) => {
        const chunks: Buffer[] = [];
        written.set(file, chunks);
        return new Writable({
          write: (chunk: Buffer, _encoding, done) => {
            chunks.push(chunk);
            done();
          },
        });
      },
    },
    onError: (fault) => {
      if ((fault as { code?: number }).code === MORE_FILES)
        throw problem('VALIDATION_FAILED', {
          detail: 'The form has more than one file.',
          errors: [{ path: PART, code: 'MAX_ITEMS', message: 'one file is taken in a form' }],
        });
      if ((fault as { httpCode?: number }).httpCode === 413) throw tooLargeOnArrival(limit);
      throw problem('BAD_REQUEST', { detail: 'The form cannot be read, or it broke off.', cause: fault });
    },
  });
  const { source, arrived } = inflated(ctx);
  await Promise.all([
    withinBytes(source, limit, () =>
      read(Object.create(ctx, { req: { value: source } }) as Context, async () => undefined),
    ),
    arrived,
  ]);
  const { body, files } = ctx.request as unknown as { body?: Record<string, unknown>; files?: Record<string, unknown> };
  const file = [files?.[PART]].flat()[0];
  const parts = Object.fromEntries(
    Object.entries(body ?? {}).map(([name, value]) => [name, String([value].flat()[0])]),
  );
  const bytes = Buffer.concat(written.get(file) ?? []);
  // The request keeps its form until it is answered: this frees the second copy of the file.
  for (const list of written.values()) list.length = 0;
  return { bytes, parts, present: file !== undefined, charset };
}

const charsetOf = (type: string | null): string | undefined =>
  /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type ?? '')?.[1]?.toLowerCase();

/** Ends together with its request. */
interface Source {
  source: Readable;
  /** Rejected when the request breaks off or cannot be decompressed. */
  arrived: Promise<void>;
}

/** The request as its parser reads it: decompressed while it arrives, under its own headers. */
function inflated(ctx: Context): Source {
  const encoding = encodingOf(ctx);
  if (encoding === '' || encoding === 'identity') return { source: ctx.req, arrived: Promise.resolve() };
  const source = Object.assign(new PassThrough(), { headers: ctx.req.headers });
  const arrived = pipeline(ctx.req, encoding === 'gzip' ? createGunzip() : createInflate(), source).catch(
    (fault: unknown) => {
      throw problem('BAD_REQUEST', { detail: 'The form cannot be read, or it broke off.', cause: fault });
    },
  );
  return { source, arrived };
}

/**
 * Counts a form's bytes while its parser reads them: the parser limits files and fields, not what is around them.
 * @throws 413 as soon as more arrive than a file of `limit` bytes has
 */
function withinBytes(request: Readable, limit: number, reading: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let left = limit + FRAME_BYTES;
    // A listener of its own would start the stream before the parser listens.
    const joinParser = (event: string | symbol) => {
      if (event !== 'data') return;
      request.off('newListener', joinParser);
      request.on('data', (chunk: Buffer) => {
        left -= chunk.length;
        if (left < 0) reject(tooLargeOnArrival(limit));
      });
    };
    request.on('newListener', joinParser);
    reading().then(resolve, reject);
  });
}

/**
 * A part with a file name is a file, and so is the part `file` with a content type; others are fields. The parser only
 * checks the content type, which a file may lack and a field may have (RFC 7578, 4.4).
 */
function sorted<P extends { name: string | null; mimetype: string | null }>(part: P): P {
  const { headers } = part as unknown as { headers: Record<string, string | undefined> };
  const isFile =
    NAMES_A_FILE.test(headers['content-disposition'] ?? '') || (part.name === PART && Boolean(part.mimetype));
  part.mimetype = isFile ? part.mimetype || 'application/octet-stream' : null;
  return part;
}

/** @throws 422 when the form has no part `file` */
export function requireFile({ present }: Upload): void {
  if (!present)
    throw problem('VALIDATION_FAILED', {
      detail: `${PART} is required: a part of that name with the file`,
      errors: [{ path: PART, code: 'REQUIRED', message: `${PART} is required` }],
    });
}

/**
 * Refuses what a form has beside its file: an option that is not read would be believed to hold.
 * @param known the names that are read
 * @param options names of the query, for the message
 * @throws 422 UNKNOWN_FIELD
 */
export function requireKnownParts(
  parts: Readonly<Record<string, string>>,
  known: readonly string[],
  options: readonly string[] = [],
): void {
  const errors = Object.keys(parts)
    .filter((name) => name !== PART && !known.includes(name))
    .map((name) => {
      const hint = options.includes(name)
        ? ': it belongs into the query'
        : suggestion(name, [PART, ...known, ...options]);
      return { path: name, code: 'UNKNOWN_FIELD', message: `${name} is not a field here${hint}` };
    });
  if (errors.length > 0)
    throw problem('VALIDATION_FAILED', { detail: errors.map(({ message }) => message).join('; '), errors });
}
