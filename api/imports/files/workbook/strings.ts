import { partContent } from './archive.js';
import type { Part } from './archive.js';
import { Text, unescapeXml } from './text.js';
import { MAX_UNPACKED, workbookTooLarge } from './unreadable.js';
import { readXml } from './xml.js';

const BLOCK = 1024 * 1024;
/** Before each text: its length in bytes, and whether each character has two. */
const HEAD = 5;
const NARROW = /^[\0-\u{ff}]*$/u;

/**
 * The shared texts of a workbook's cells: as many as cells, and needed until the last row. They are stored as adjacent
 * bytes, not as objects on the thread's heap.
 */
export class SharedStrings {
  private readonly blocks: Buffer[] = [];
  private used = BLOCK;
  private places = new Uint32Array(1024);
  private count = 0;

  static async of(part: Part | undefined): Promise<SharedStrings> {
    const strings = new SharedStrings();
    if (!part) return strings;
    const text = new Text(['t']);
    await readXml(partContent(part), {
      open: (name) => {
        if (name === 'si') text.begin();
        text.open(name);
      },
      text: (chunk) => text.add(chunk),
      close: (name) => {
        text.close(name);
        if (name === 'si') strings.add(unescapeXml(text.end()));
      },
    });
    return strings;
  }

  /** The text with this number; undefined: none. */
  at(index: number): string | undefined {
    if (!(index >= 0 && index < this.count)) return undefined;
    const place = this.places[index]!;
    const block = this.blocks[Math.floor(place / BLOCK)]!,
      at = place % BLOCK;
    return block.toString(block[at + 4] === 1 ? 'utf16le' : 'latin1', at + HEAD, at + HEAD + block.readUInt32LE(at));
  }

  private add(text: string): void {
    const encoding = NARROW.test(text) ? 'latin1' : 'utf16le';
    const size = Buffer.byteLength(text, encoding);
    if (this.used + HEAD + size > BLOCK) {
      if (this.blocks.length * BLOCK >= 2 * MAX_UNPACKED) throw workbookTooLarge();
      this.blocks.push(Buffer.alloc(BLOCK));
      this.used = 0;
    }
    const block = this.blocks.at(-1)!;
    block.writeUInt32LE(size, this.used);
    block[this.used + 4] = encoding === 'utf16le' ? 1 : 0;
    block.write(text, this.used + HEAD, encoding);
    this.note((this.blocks.length - 1) * BLOCK + this.used);
    this.used += HEAD + size;
  }

  private note(place: number): void {
    if (this.count === this.places.length) {
      const more = new Uint32Array(2 * this.count);
      more.set(this.places);
      this.places = more;
    }
    this.places[this.count] = place;
    this.count += 1;
  }
}
