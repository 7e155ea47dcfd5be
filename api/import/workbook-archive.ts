import { inflateRaw } from 'node:zlib';
import { promisify } from 'node:util';
import { problem } from '../errors.js';

const inflate = promisify(inflateRaw);
/** Unpacked, of all parts together: half a million cells and more. A workbook of 20 MiB may unpack to 20 GB. */
const MAX_UNPACKED = 48 * 1024 * 1024;
const MAX_PARTS = 2_000;
/** Of cells and of texts: ten columns of as many rows as an import takes. The reader makes an object of each. */
const MAX_CELLS = 1_000_000;
const MAX_MERGED = 100_000, MAX_MERGES = 2_000;
const END = 0x06054b50, ENTRY = 0x02014b50;

const unreadable = (detail: string, cause?: unknown) => problem('FILE_UNREADABLE', { detail, ...(cause !== undefined && { cause }) });
const NO_WORKBOOK = 'This is not a workbook (.xlsx).';

interface Part { name: string; method: number; packed: Buffer }

/**
 * Refuses what the workbook's reader must not see: it unpacks whatever it is given. Sizes that an archive states of
 * itself are not believed: each part is unpacked up to the bound.
 * @throws 400 FILE_UNREADABLE
 */
export async function requirePlainWorkbook(bytes: Buffer): Promise<void> {
  if (bytes.subarray(0, 4).equals(Buffer.from('d0cf11e0', 'hex'))) throw unreadable('This is an old (.xls) or encrypted workbook: save it as .xlsx without a password.');
  const parts = partsOf(bytes);
  const names = parts.map(({ name }) => name.toLowerCase());
  if (!names.includes('xl/workbook.xml')) throw unreadable(NO_WORKBOOK);
  if (names.some((name) => name.endsWith('vbaproject.bin') || name.startsWith('xl/macrosheets/'))) throw unreadable('The workbook has macros: save it as .xlsx, without them.');
  let left = MAX_UNPACKED;
  for (const { name, method, packed } of parts) {
    if (method === 0) {
      left -= packed.length;
      if (left >= 0 && name.toLowerCase().startsWith('xl/')) requireModest(packed);
    } else if (method === 8) {
      const content = await unpacked(packed, left, name);
      left -= content.length;
      if (name.toLowerCase().startsWith('xl/')) requireModest(content);
    } else throw unreadable('The workbook is packed in a way that is not read.');
    if (left < 0) throw tooMuch();
  }
}

async function unpacked(packed: Buffer, most: number, name: string): Promise<Buffer> {
  try {
    return await inflate(packed, { maxOutputLength: Math.max(1, most) });
  } catch (fault) {
    throw (fault as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? tooMuch() : unreadable(`The workbook is damaged: ${name.slice(0, 80)} cannot be unpacked.`, fault);
  }
}
const tooMuch = () => unreadable(`The workbook is larger than ${MAX_UNPACKED / 1024 / 1024} MiB unpacked.`);

/** How often an element of this name begins, as far as it matters. */
function times(part: Buffer, opening: string): number {
  let found = 0;
  for (let at = part.indexOf(opening); at >= 0 && found <= MAX_CELLS; at = part.indexOf(opening, at + opening.length)) {
    const next = part[at + opening.length];
    if (next === 0x20 || next === 0x2f || next === 0x3e || next === 0x0a || next === 0x09 || next === 0x0d) found += 1;
  }
  return found;
}
const columnOf = (letters: string): number => [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);

/**
 * A few bytes may stand for a great deal: the reader makes a cell of each place that is merged, and a column of each that
 * a number names. Whatever a spreadsheet program would not write is refused before it sees it.
 */
function requireModest(part: Buffer): void {
  if (times(part, '<c') > MAX_CELLS || times(part, '<si') > MAX_CELLS) throw unreadable(`The workbook has more than ${MAX_CELLS} cells.`);
  let merged = 0, merges = 0;
  for (let at = part.indexOf('<mergeCell '); at >= 0; at = part.indexOf('<mergeCell ', at + 1)) {
    const [, left, top, right, bottom] = /^<mergeCell [^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"/.exec(part.toString('latin1', at, at + 200)) ?? [];
    merged += left === undefined ? Infinity : (columnOf(right!) - columnOf(left) + 1) * (Number(bottom) - Number(top) + 1);
    // Each is held against those before it.
    if (!(merged <= MAX_MERGED) || (merges += 1) > MAX_MERGES) throw unreadable('The workbook has more merged cells than any list.');
  }
}

/** The parts that the archive's directory names. */
function partsOf(bytes: Buffer): Part[] {
  try {
    const end = bytes.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
    if (end < 0 || bytes.readUInt32LE(end) !== END) throw unreadable(NO_WORKBOOK);
    const count = bytes.readUInt16LE(end + 10);
    if (count > MAX_PARTS) throw unreadable('The workbook has too many parts.');
    let at = bytes.readUInt32LE(end + 16);
    return Array.from({ length: count }, () => {
      if (bytes.readUInt32LE(at) !== ENTRY) throw unreadable(NO_WORKBOOK);
      const [size, nameLength, extra, comment] = [bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32)];
      const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
      const local = bytes.readUInt32LE(at + 42);
      const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
      const part = { name, method: bytes.readUInt16LE(at + 10), packed: bytes.subarray(begin, begin + size) };
      at += 46 + nameLength + extra + comment;
      return part;
    });
  } catch (fault) {
    // Offsets that lead out of the file.
    if (fault instanceof RangeError) throw unreadable(NO_WORKBOOK, fault);
    throw fault;
  }
}
