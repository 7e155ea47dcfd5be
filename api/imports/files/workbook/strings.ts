import { partContent } from './archive.js';
import type { Part } from './archive.js';
import { Text, unescaped } from './text.js';
import { MAX_UNPACKED, tooLarge } from './unreadable.js';
import { readXml } from './xml.js';

const BLOCK = 1024 * 1024;
/** Before each text: how many bytes it has, and whether it has two for each character. */
const HEAD = 5;
const NARROW = /^[\0-\u{ff}]*$/u;

/**
 * The texts that a workbook's cells share: as many as it has cells, and needed until its last row. They are kept as
 * bytes side by side, not as so many objects of the thread's heap.
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
      text: (given) => text.add(given),
      close: (name) => {
        text.close(name);
        if (name === 'si') strings.add(unescaped(text.end()));
      },
    });
    return strings;
  }

  /** The text of this number; undefined where there is none. */
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
      if (this.blocks.length * BLOCK >= 2 * MAX_UNPACKED) throw tooLarge();
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
