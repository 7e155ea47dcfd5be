import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { createInflate, createGunzip } from 'node:zlib';
import type { Context } from 'koa';
import { encodingOf, mediaType, readBytes, tooLarge, withUploadTimeout } from './bytes.js';
import { readParts } from './form.js';
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
const MAX_FIELDS = 20;

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
  const { source, arrived } = inflated(ctx);
  const limits = { fileBytes: limit, otherBytes: FRAME_BYTES, fields: MAX_FIELDS, file: PART };
  const [parts] = await Promise.all([readParts(source, ctx.get('content-type'), limits), arrived]);
  const file = parts.find(({ name, isFile }) => isFile && name === PART);
  // Of several of a name the first counts.
  const fields = new Map<string, string>();
  for (const { name, isFile, bytes } of parts) if (!isFile && !fields.has(name)) fields.set(name, bytes.toString());
  return {
    bytes: file?.bytes ?? Buffer.alloc(0),
    parts: Object.fromEntries(fields),
    present: file !== undefined,
    charset: file?.charset,
  };
}

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
