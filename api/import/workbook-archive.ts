import { inflateRaw } from 'node:zlib';
import { promisify } from 'node:util';
import { problem } from '../errors.js';

const inflate = promisify(inflateRaw);
/** Unpacked, of all parts together: half a million cells and more. A workbook of 20 MiB may unpack to 20 GB. */
const MAX_UNPACKED = 48 * 1024 * 1024;
const MAX_PARTS = 2_000;
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
    if (method === 0) left -= packed.length;
    else if (method === 8) left -= (await unpacked(packed, left, name)).length;
    else throw unreadable('The workbook is packed in a way that is not read.');
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
