import { deflateRawSync, inflateRaw } from 'node:zlib';
import { promisify } from 'node:util';
import type { SheetRow } from '../sheet.js';
import { MAX_UNPACKED, unreadable } from './unreadable.js';

/** Characters of rows that are packed together: the API's thread unpacks them in a moment. */
const PIECE = 64 * 1024;

/** A row as it is packed: its number, how many cells it has, and those up to the last that is not empty. */
type Packed = [row: number, width: number, cells: string[]];

/**
 * Packs rows as they are read. A hundred thousand participants are two or three megabytes then; the same text in every
 * cell of a sheet, which a workbook holds once, is next to nothing.
 */
export class Packing {
  private rows: Packed[] = [];
  private size = 0;
  private total = 0;

  /** @param send gets the rows in pieces, each of an array of its own */
  constructor(private readonly send: (piece: Uint8Array<ArrayBuffer>) => void) {}

  /** A blank row is left out: whoever reads the rows knows them by their numbers. */
  add(row: number, cells: readonly string[]): void {
    if (cells.every((cell) => cell.trim() === '')) return;
    let last = cells.length;
    while (last > 0 && cells[last - 1] === '') last -= 1;
    const kept = cells.slice(0, last);
    const size = kept.reduce((sum, cell) => sum + cell.length + 1, 1);
    this.total += size;
    if (this.total > MAX_UNPACKED)
      throw unreadable(`The sheet has more than ${MAX_UNPACKED / 1024 / 1024} MiB of text.`);
    this.rows.push([row, cells.length, kept]);
    this.size += size;
    if (this.size >= PIECE) this.flush();
  }

  /** Sends what is left. */
  end(): void {
    if (this.rows.length > 0) this.flush();
  }

  private flush(): void {
    // As little time as can be: what is packed well takes thrice as long.
    this.send(new Uint8Array(deflateRawSync(JSON.stringify(this.rows), { level: 1 })));
    this.rows = [];
    this.size = 0;
  }
}

const inflate = promisify(inflateRaw);

/** The rows of packed pieces, unpacked one piece at a time. */
export async function* decompress(pieces: readonly Uint8Array[]): AsyncGenerator<SheetRow> {
  for (const piece of pieces) {
    for (const [row, width, cells] of JSON.parse((await inflate(piece)).toString()) as Packed[]) {
      while (cells.length < width) cells.push('');
      yield { row, cells };
    }
  }
}
