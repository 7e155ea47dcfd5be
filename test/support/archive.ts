import { inflateRawSync } from 'node:zlib';

const ENTRY = Buffer.from('PK\u0001\u0002', 'latin1');

/**
 * The files of a zip archive by their names. By the directory at the end: what was streamed says its sizes only there.
 */
export function unzipped(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = archive.indexOf(ENTRY); at >= 0; at = archive.indexOf(ENTRY, at + 4)) {
    const name = archive.toString('utf8', at + 46, at + 46 + archive.readUInt16LE(at + 28));
    const local = archive.readUInt32LE(at + 42);
    const begin = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const packed = archive.subarray(begin, begin + archive.readUInt32LE(at + 20));
    files.set(name, archive.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed));
  }
  return files;
}
