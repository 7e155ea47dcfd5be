import { deflateRawSync, inflateRaw } from 'node:zlib';
import { promisify } from 'node:util';
import type { SheetRow } from '../sheet.js';
import { MAX_UNPACKED, unreadable } from './unreadable.js';

/** Characters of rows that are compressed together: the main thread decompresses them quickly. */
const PIECE = 64 * 1024;

/** A compressed row: its number, its number of cells, and the cells up to the last non-empty one. */
type Packed = [row: number, width: number, cells: string[]];

/**
 * Compresses rows while they are read. A hundred thousand participants take two or three megabytes; a text repeated in
 * every cell, which a workbook stores once, takes almost nothing.
 */
export class Packing {
  private rows: Packed[] = [];
  private size = 0;
  private total = 0;

  /** @param send gets the rows in pieces, each in an array of its own */
  constructor(private readonly send: (piece: Uint8Array<ArrayBuffer>) => void) {}

  /** Blank rows are skipped: rows have numbers. */
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

  /** Sends the rest. */
  end(): void {
    if (this.rows.length > 0) this.flush();
  }

  private flush(): void {
    // The fastest level: better compression takes three times as long.
    this.send(new Uint8Array(deflateRawSync(JSON.stringify(this.rows), { level: 1 })));
    this.rows = [];
    this.size = 0;
  }
}

const inflate = promisify(inflateRaw);

/** The rows of compressed pieces, decompressed one piece at a time. */
export async function* decompress(pieces: readonly Uint8Array[]): AsyncGenerator<SheetRow> {
  for (const piece of pieces) {
    for (const [row, width, cells] of JSON.parse((await inflate(piece)).toString()) as Packed[]) {
      while (cells.length < width) cells.push('');
      yield { row, cells };
    }
  }
}
