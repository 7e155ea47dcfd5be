import { partContent } from './archive.js';
import type { Part } from './archive.js';
import { MAX_UNPACKED, unreadable } from './unreadable.js';

/** The most cells and texts: ten columns of the most rows that an import accepts. */
const MAX_CELLS = 1_000_000;
const MAX_MERGED = 100_000,
  MAX_MERGES = 2_000;
/** The longest markup that is searched for, in bytes. */
const REACH = 200;

/** A rectangle of merged cells. */
export interface Merge {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * Refuses workbooks that no spreadsheet program would write, before they are parsed: all parts are decompressed once, a
 * piece at a time and up to a limit, and elements of the workbook's parts are counted. Returns the merged cells of each
 * sheet that has any: the file lists them after the rows.
 * @throws 400 FILE_UNREADABLE
 */
export async function assertSizeLimits(parts: Iterable<Part>): Promise<Map<Part, Merge[]>> {
  const merges = new Map<Part, Merge[]>();
  let left = MAX_UNPACKED;
  for (const part of parts) {
    const counts = new Counts();
    for await (const piece of partContent(part, left)) {
      left -= piece.length;
      if (part.name.startsWith('xl/')) counts.add(piece);
    }
    counts.end();
    if (counts.merges.length > 0) merges.set(part, counts.merges);
  }
  return merges;
}

export const columnOf = (letters: string): number => {
  let column = 0;
  for (let i = 0; i < letters.length; i += 1) column = column * 26 + letters.charCodeAt(i) - 64;
  return column;
};

/** Counts markup with a large effect, in the bytes of a part as they pass. */
class Counts {
  readonly merges: Merge[] = [];
  private cells = 0;
  private texts = 0;
  private merged = 0;
  /** A piece, preceded by the end of the one before, in which markup may begin. */
  private bytes = Buffer.alloc(0);
  private length = 0;

  add(piece: Buffer): void {
    // One buffer for all pieces: new ones would stay until the next garbage collection.
    if (this.bytes.length < REACH + piece.length) this.bytes = Buffer.concat([this.bytes], REACH + piece.length);
    piece.copy(this.bytes, this.length);
    const bytes = this.bytes.subarray(0, this.length + piece.length);
    const until = Math.max(0, bytes.length - REACH);
    this.look(bytes, until);
    this.length = bytes.copy(this.bytes, 0, until);
  }

  end(): void {
    this.look(this.bytes.subarray(0, this.length), this.length);
  }

  /** Processes markup that begins before `until`. */
  private look(bytes: Buffer, until: number): void {
    this.cells += times(bytes, '<c', until);
    this.texts += times(bytes, '<si', until);
    if (this.cells > MAX_CELLS || this.texts > MAX_CELLS)
      throw unreadable(`The workbook has more than ${MAX_CELLS} cells.`);
    for (let at = bytes.indexOf('<mergeCell '); at >= 0 && at < until; at = bytes.indexOf('<mergeCell ', at + 1))
      this.merge(bytes.toString('latin1', at, at + REACH));
  }

  private merge(element: string): void {
    const [, left, top, right, bottom] =
      /^<mergeCell [^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"/.exec(element) ?? [];
    const [columns, rows] = [[left, right].map((letters) => columnOf(letters ?? '')), [Number(top), Number(bottom)]];
    const merge = {
      left: Math.min(...columns),
      top: Math.min(...rows),
      right: Math.max(...columns),
      bottom: Math.max(...rows),
    };
    this.merged += left === undefined ? Infinity : (merge.right - merge.left + 1) * (merge.bottom - merge.top + 1);
    this.merges.push(merge);
    if (!(this.merged <= MAX_MERGED) || this.merges.length > MAX_MERGES)
      throw unreadable('The workbook has more merged cells than any list.');
  }
}

/** The number of elements with this name that begin before `until`. */
function times(bytes: Buffer, opening: string, until: number): number {
  let found = 0;
  for (let at = bytes.indexOf(opening); at >= 0 && at < until; at = bytes.indexOf(opening, at + opening.length)) {
    const next = bytes[at + opening.length];
    if (next === 0x20 || next === 0x2f || next === 0x3e || next === 0x0a || next === 0x09 || next === 0x0d) found += 1;
  }
  return found;
}
