import { createInflateRaw } from 'node:zlib';
import { otherKindOf } from '../other-kinds.js';
import { MAX_UNPACKED, workbookTooLarge, unreadable } from './unreadable.js';

const MAX_PARTS = 2_000;
const END = 0x06054b50,
  ENTRY = 0x02014b50;
const NO_WORKBOOK = 'This is not a workbook (.xlsx).';
/** Workbooks of other kinds, by a part that they have. */
const OTHER_WORKBOOKS = {
  'xl/workbook.bin': 'This is a binary workbook (.xlsb): save it as .xlsx.',
  'content.xml': 'This is an OpenDocument file (.ods): save it as .xlsx.',
  'index.zip': 'This is a Numbers file: export it as .xlsx.',
  'index/document.iwa': 'This is a Numbers file: export it as .xlsx.',
};
/** The piece size in which any part is passed on. */
const PIECE = 16 * 1024;

/** A file in the archive; `name` is normalized: without a leading slash, case-insensitive. */
export interface Part {
  name: string;
  method: number;
  packed: Buffer;
}

/** The parts of a workbook, by name. @throws 400 FILE_UNREADABLE if it is no workbook, is encrypted, or has macros */
export function partsOf(bytes: Buffer): Map<string, Part> {
  if (bytes.subarray(0, 4).equals(Buffer.from('d0cf11e0', 'hex')))
    throw unreadable('This is an old (.xls) or encrypted workbook: save it as .xlsx without a password.');
  const other = bytes.length === 0 ? 'empty' : otherKindOf(bytes);
  if (other !== undefined) throw unreadable(`The file is ${other}, not a workbook (.xlsx).`);
  const parts = new Map(listed(bytes).map((part) => [part.name, part]));
  if (!parts.has('xl/workbook.xml'))
    throw unreadable(Object.entries(OTHER_WORKBOOKS).find(([name]) => parts.has(name))?.[1] ?? NO_WORKBOOK);
  for (const name of parts.keys())
    if (name.endsWith('vbaproject.bin') || name.startsWith('xl/macrosheets/'))
      throw unreadable('The workbook has macros: save it as .xlsx, without them.');
  return parts;
}

/**
 * The content of a part, in pieces. The archive's own size fields are not trusted.
 * @throws 400 FILE_UNREADABLE, as soon as there is more than `most`
 */
export async function* partContent({ name, method, packed }: Part, most = MAX_UNPACKED): AsyncGenerator<Buffer> {
  if (method !== 0 && method !== 8) throw unreadable('The workbook is packed in a way that is not read.');
  if (method === 0) {
    if (packed.length > most) throw workbookTooLarge();
    for (let at = 0; at < packed.length; at += PIECE) yield packed.subarray(at, at + PIECE);
    return;
  }
  const inflate = createInflateRaw({ chunkSize: PIECE });
  inflate.end(packed);
  let size = 0;
  try {
    for await (const piece of inflate as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > most) throw workbookTooLarge();
      yield piece;
    }
  } catch (fault) {
    throw String((fault as { code?: unknown }).code).startsWith('Z_')
      ? unreadable(`The workbook is damaged: ${name.slice(0, 80)} cannot be unpacked.`, fault)
      : fault;
  }
}

/** The parts in the archive's directory. */
function listed(bytes: Buffer): Part[] {
  try {
    const end = bytes.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
    if (end < 0 || bytes.readUInt32LE(end) !== END) throw unreadable(NO_WORKBOOK);
    const count = bytes.readUInt16LE(end + 10);
    if (count > MAX_PARTS) throw unreadable('The workbook has too many parts.');
    let at = bytes.readUInt32LE(end + 16);
    return Array.from({ length: count }, () => {
      if (bytes.readUInt32LE(at) !== ENTRY) throw unreadable(NO_WORKBOOK);
      const [size, nameLength, extra, comment] = [
        bytes.readUInt32LE(at + 20),
        bytes.readUInt16LE(at + 28),
        bytes.readUInt16LE(at + 30),
        bytes.readUInt16LE(at + 32),
      ];
      const name = bytes
        .toString('utf8', at + 46, at + 46 + nameLength)
        .replaceAll('\\', '/')
        .replace(/^\/+/, '')
        .toLowerCase();
      const local = bytes.readUInt32LE(at + 42);
      const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
      const part = { name, method: bytes.readUInt16LE(at + 10), packed: bytes.subarray(begin, begin + size) };
      at += 46 + nameLength + extra + comment;
      return part;
    });
  } catch (fault) {
    // Offsets beyond the end of the file.
    if (fault instanceof RangeError) throw unreadable(NO_WORKBOOK, fault);
    throw fault;
  }
}
