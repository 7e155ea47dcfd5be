import type { Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { problem } from '../errors.js';
import { tooLargeOnArrival } from './bytes.js';

/** A part of a form (RFC 7578). */
export interface Part {
  name: string;
  isFile: boolean;
  bytes: Buffer;
  /** As its Content-Type says, in lower case. */
  charset?: string | undefined;
}

export interface FormLimits {
  /** Of its one file, and so many beside it: boundaries, headers of parts, fields. */
  fileBytes: number;
  otherBytes: number;
  fields: number;
  /** The name of the part that is a file by its content type alone. */
  file: string;
}

type Header = Record<string, string[] | undefined>;

/** In a part's Content-Disposition; `filename*` has a non-ASCII name. */
const NAMES_A_FILE = /;\s*filename\*?\s*=/i;
const NAME = /;\s*name\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i;
const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s";]+))/i;
/** They leave a part's bytes as they are; base64 is decoded, and others are out of use (RFC 7578, 4.7). */
const UNCHANGED = new Set(['', '7bit', '8bit', 'binary']);

/** Taken apart at once: what follows a refusal costs nothing. */
const SLICE = 8 * 1024;

const unreadable = (cause?: unknown) =>
  problem('BAD_REQUEST', { detail: 'The form cannot be read, or it broke off.', cause });

/**
 * Takes a form apart while it arrives, and ends with its source. What arrives after a refusal is discarded.
 * @param contentType of the form: names the boundary
 * @throws 400 for an invalid form, 413 as soon as it is too large, 422 for more than one file
 */
export function readParts(source: Readable, contentType: string, limits: FormLimits): Promise<Part[]> {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return Promise.reject(unreadable());
  return new Promise((resolve, reject) => {
    const parts: Part[] = [];
    const parser = new Dicer({ boundary });
    let bytesLeft = limits.fileBytes + limits.otherBytes,
      fieldBytesLeft = limits.otherBytes,
      unfinished = 2,
      refused = false;
    const refuse = (fault: unknown) => {
      if (refused) return;
      refused = true;
      source.resume();
      reject(fault as Error);
    };
    const brokeOff = (fault?: unknown) => {
      refuse(unreadable(fault));
    };
    const finish = () => {
      unfinished -= 1;
      if (unfinished > 0) return;
      // A part that broke off within its headers has no name.
      if (parts.every(({ name }) => name !== '')) resolve(parts);
      else brokeOff();
    };

    parser.on('part', (stream) => {
      stream.on('error', brokeOff);
      // What the parser has already taken may hold thousands more.
      if (refused) return void stream.resume();
      const part: Part = { name: '', isFile: false, bytes: Buffer.alloc(0) };
      parts.push(part);
      if (parts.length > limits.fields + 1) refuse(tooLargeOnArrival(limits.fileBytes));
      let encoding = '',
        size = 0,
        pieces: Buffer[] = [];
      stream.on('header', (header) => {
        encoding = describe(part, header as Header, limits.file);
        if (!UNCHANGED.has(encoding) && encoding !== 'base64') brokeOff();
        else if (part.isFile && parts.some((other) => other !== part && other.isFile)) refuse(moreFiles(limits.file));
      });
      stream.on('data', (piece: Buffer) => {
        size += piece.length;
        if (!part.isFile) fieldBytesLeft -= piece.length;
        if (size > limits.fileBytes || fieldBytesLeft < 0) refuse(tooLargeOnArrival(limits.fileBytes));
        else pieces.push(piece);
      });
      stream.on('end', () => {
        const bytes = Buffer.concat(pieces);
        part.bytes = encoding === 'base64' ? Buffer.from(bytes.toString('latin1'), 'base64') : bytes;
        // Without the pieces the file is in memory once.
        pieces = [];
      });
    });
    parser.on('error', brokeOff);
    parser.on('finish', () => {
      finish();
      // What follows the last boundary is discarded.
      source.resume();
    });
    parser.on('drain', () => {
      source.resume();
    });
    source.on('data', (piece: Buffer) => {
      bytesLeft -= piece.length;
      if (bytesLeft < 0) refuse(tooLargeOnArrival(limits.fileBytes));
      for (let at = 0; at < piece.length && !refused && parser.writable; at += SLICE)
        if (!parser.write(piece.subarray(at, at + SLICE))) source.pause();
    });
    source.on('error', brokeOff);
    source.on('end', () => {
      if (!refused && parser.writable) parser.end();
      finish();
    });
    // A sender that hangs up in the middle.
    source.on('close', () => {
      if (!source.readableEnded) brokeOff();
    });
  });
}

/** Fills in what a part's headers say. @returns its transfer encoding, in lower case */
function describe(part: Part, header: Header, file: string): string {
  const [disposition, type, encoding] = ['content-disposition', 'content-type', 'content-transfer-encoding'].map(
    // The parser answers bytes as characters.
    (name) => Buffer.from(header[name]?.[0] ?? '', 'latin1').toString(),
  ) as [string, string, string];
  const [, quoted, plain] = NAME.exec(disposition) ?? [];
  part.name = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '';
  // A file may lack a content type, and a field may have one (RFC 7578, 4.4).
  part.isFile = NAMES_A_FILE.test(disposition) || (part.name === file && type !== '');
  part.charset = CHARSET.exec(type)?.[1]?.toLowerCase();
  return encoding.trim().toLowerCase();
}

const moreFiles = (path: string) =>
  problem('VALIDATION_FAILED', {
    detail: 'The form has more than one file.',
    errors: [{ path, code: 'MAX_ITEMS', message: 'one file is taken in a form' }],
  });
