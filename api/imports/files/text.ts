import { problem } from '../../http/errors.js';
import { otherKindOf } from './other-kinds.js';

export interface DecodedText {
  text: string;
  encoding: string;
}

const unreadable = (detail: string) => problem('FILE_UNREADABLE', { detail });
/** Bytes that windows-1252 leaves undefined: text with them has another encoding. */
const UNDEFINED_IN_1252 = /[\u0081\u008d\u008f\u0090\u009d]/;
const SAMPLE = 4_096;
/**
 * The signs of windows-1252 from 0x80 to 0x9F, the only ones in which it differs from ISO 8859-1. Some releases of
 * Node.js decode these as ISO 8859-1, where they are control characters.
 */
const OWN_OF_1252 =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f' +
  '\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';

/**
 * Decodes a file: UTF-8 with or without a byte order mark, UTF-16 (the "Unicode text" of spreadsheet programs), else
 * windows-1252, their default.
 * @param charset the character set that the file is said to have; one of the above is detected all the same
 * @throws 400 FILE_UNREADABLE for a workbook, or a file that is no text in any of these, or in `charset`
 */
export function decode(bytes: Buffer, charset?: string): DecodedText {
  if (
    bytes.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004', 'latin1')) ||
    bytes.subarray(0, 4).equals(Buffer.from('d0cf11e0', 'hex'))
  ) {
    throw unreadable('This is a workbook, not CSV: send it to …/import/excel.');
  }
  const other = otherKindOf(bytes);
  if (other !== undefined) throw unreadable(`The file is ${other}, not CSV.`);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16(bytes, 'utf-16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16(bytes, 'utf-16be');
  const claimed = charset === undefined ? undefined : claimedEncoding(charset);
  if (claimed !== undefined && !DETECTED.has(claimed) && !hasUtf8Mark(bytes)) return claimedText(bytes, claimed);
  const nulls = zeroBytes(bytes);
  if (nulls.odd > nulls.most) return utf16(bytes, 'utf-16le');
  if (nulls.even > nulls.most) return utf16(bytes, 'utf-16be');
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'utf-8' };
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
  }
  const text = bytes.toString('latin1').replace(/[\u0080-\u009f]/g, (sign) => OWN_OF_1252[sign.charCodeAt(0) - 0x80]!);
  if (UNDEFINED_IN_1252.test(text)) throw unreadable('The file’s encoding is not known: save it as CSV in UTF-8.');
  return { text, encoding: 'windows-1252' };
}

/** Programs name these whatever a file has: looking at the file tells them apart. */
const DETECTED = new Set(['utf-8', 'utf-16le', 'utf-16be', 'windows-1252']);
const hasUtf8Mark = (bytes: Buffer): boolean => bytes.subarray(0, 3).equals(Buffer.from('efbbbf', 'hex'));

/** The name of an encoding by one of its labels (https://encoding.spec.whatwg.org). */
function claimedEncoding(charset: string): string {
  try {
    return new TextDecoder(charset).encoding;
  } catch (fault) {
    throw problem('FILE_UNREADABLE', {
      detail: `The character set ${charset.slice(0, 40)} is not known: save the file as CSV in UTF-8.`,
      cause: fault,
    });
  }
}

function claimedText(bytes: Buffer, encoding: string): DecodedText {
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), encoding };
  } catch (fault) {
    throw problem('FILE_UNREADABLE', {
      detail: `The file is not in ${encoding}, as its part says: save it as CSV in UTF-8.`,
      cause: fault,
    });
  }
}

function utf16(bytes: Buffer, encoding: 'utf-16le' | 'utf-16be'): DecodedText {
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), encoding };
  } catch (fault) {
    throw problem('FILE_UNREADABLE', {
      detail: `The file begins as ${encoding.toUpperCase()} and is not: save it as CSV in UTF-8.`,
      cause: fault,
    });
  }
}

/**
 * The number of zero bytes at even and odd offsets of the beginning, and the number that would indicate UTF-16 without
 * a mark.
 */
function zeroBytes(bytes: Buffer): { even: number; odd: number; most: number } {
  const sample = bytes.subarray(0, SAMPLE);
  const count = { even: 0, odd: 0, most: sample.length / 5 };
  for (const [at, byte] of sample.entries()) if (byte === 0) count[at % 2 === 0 ? 'even' : 'odd'] += 1;
  return count;
}
