import { problem } from '../../http/errors.js';

export interface DecodedText {
  text: string;
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';
}

const unreadable = (detail: string) => problem('FILE_UNREADABLE', { detail });
/** Bytes that windows-1252 leaves undefined: text with them has another encoding. */
const UNDEFINED_IN_1252 = /[\u0081\u008d\u008f\u0090\u009d]/;
const SAMPLE = 4_096;

/**
 * Decodes a file: UTF-8 with or without a byte order mark, UTF-16 (the "Unicode text" of spreadsheet programs), else
 * windows-1252, their default.
 * @throws 400 FILE_UNREADABLE for a workbook, or a file that is no text in any of these
 */
export function decode(bytes: Buffer): DecodedText {
  if (
    bytes.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004', 'latin1')) ||
    bytes.subarray(0, 4).equals(Buffer.from('d0cf11e0', 'hex'))
  ) {
    throw unreadable('This is a workbook, not CSV: send it to …/import/excel.');
  }
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16(bytes, 'utf-16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16(bytes, 'utf-16be');
  const nulls = zeroBytes(bytes);
  if (nulls.odd > nulls.most) return utf16(bytes, 'utf-16le');
  if (nulls.even > nulls.most) return utf16(bytes, 'utf-16be');
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'utf-8' };
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
  }
  const text = new TextDecoder('windows-1252').decode(bytes);
  if (UNDEFINED_IN_1252.test(text)) throw unreadable('The file’s encoding is not known: save it as CSV in UTF-8.');
  return { text, encoding: 'windows-1252' };
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
