/** An output buffer and its write position. */
export interface RecordPage {
  bytes: Buffer;
  at: number;
}

const QUOTE = 0x22,
  COMMA = 0x2c,
  MINUS = 0x2d,
  POINT = 0x2e,
  ZERO = 0x30,
  NINE = 0x39,
  COLON = 0x3a,
  OPEN_LIST = 0x5b,
  BACKSLASH = 0x5c,
  CLOSE_LIST = 0x5d,
  OPEN = 0x7b,
  CLOSE = 0x7d;
const SPACE = 0x20,
  NOT_ASCII = 0x80,
  SMALL_A = 0x61,
  SMALL_Z = 0x7a;
const bytes = (plain: (byte: number) => boolean) =>
  Uint8Array.from({ length: 256 }, (_, byte) => (plain(byte) ? 1 : 0));
/** ASCII bytes that JSON writes unescaped in a string. */
export const PLAIN = bytes((byte) => byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH);
const PLAIN_ASCII = bytes((byte) => PLAIN[byte] === 1 && byte < NOT_ASCII);
/** The database and ECMAScript write numbers of up to this many digits alike. */
const MAX_DIGITS = 15;
const MAX_DEPTH = 50;

/**
 * Writes a jsonb's text in the canonical form of RFC 8785, byte by byte: five times as fast as parsing and serializing
 * it. It handles plain values only and gives up at an escape, a non-ASCII name, or a number that ECMAScript may write
 * differently; use canonicalJson for these.
 */
export class CanonicalJsonBytes {
  private from: Buffer = Buffer.alloc(0);
  private i = 0;
  private readonly aside: Buffer;
  /**
   * For each open object: where each member begins, where its name ends and where it ends; and the number of members.
   */
  private readonly members: number[] = [];
  private top = 0;

  /** @param page large enough for everything written to it */
  constructor(private readonly page: RecordPage) {
    this.aside = Buffer.alloc(page.bytes.length);
  }

  /** @returns the end of the value; -1: it is not plain, and the output is invalid */
  write(from: Buffer, start: number): number {
    this.from = from;
    this.i = start;
    this.top = 0;
    return this.value(0) ? this.i : -1;
  }

  private value(depth: number): boolean {
    const first = this.from[this.i]!;
    if (first === QUOTE) return this.text(PLAIN);
    if (first === OPEN) return depth < MAX_DEPTH && this.object(depth + 1);
    if (first === OPEN_LIST) return depth < MAX_DEPTH && this.list(depth + 1);
    return first >= SMALL_A ? this.word() : this.number();
  }

  /** A string without escapes, of bytes in `plain`; the database and ECMAScript write it alike. */
  private text(plain: Uint8Array): boolean {
    const {
      from,
      page: { bytes },
    } = this;
    let i = this.i,
      at = this.page.at;
    if (from[i] !== QUOTE) return false;
    bytes[at++] = QUOTE;
    for (let byte = from[++i]!; plain[byte] === 1; byte = from[++i]!) bytes[at++] = byte;
    if (from[i] !== QUOTE) return false;
    bytes[at++] = QUOTE;
    this.i = i + 1;
    this.page.at = at;
    return true;
  }

  /** true, false, null. */
  private word(): boolean {
    const { from, page } = this;
    for (let byte = from[this.i]!; byte >= SMALL_A && byte <= SMALL_Z; byte = from[++this.i]!)
      page.bytes[page.at++] = byte;
    return true;
  }

  private number(): boolean {
    const { from, page } = this;
    const start = from[this.i] === MINUS ? this.i + 1 : this.i;
    let point = -1,
      i = start;
    for (; ; i += 1) {
      const byte = from[i]!;
      if (byte === POINT && point < 0) point = i;
      else if (byte < ZERO || byte > NINE) break;
    }
    if (i === start || i - start > MAX_DIGITS) return false;
    // 1.50 is 1.5 in ECMAScript, and 0.0000001 is 1e-7.
    if (point >= 0 && (from[i - 1] === ZERO || (from[start] === ZERO && from[point + 1] === ZERO))) return false;
    for (; this.i < i; this.i += 1) page.bytes[page.at++] = from[this.i]!;
    return true;
  }

  private list(depth: number): boolean {
    const { from, page } = this;
    page.bytes[page.at++] = OPEN_LIST;
    this.i += 1;
    if (from[this.i] !== CLOSE_LIST) {
      for (;;) {
        if (!this.value(depth)) return false;
        if (from[this.i] !== COMMA) break;
        page.bytes[page.at++] = COMMA;
        this.i += 2;
      }
    }
    page.bytes[page.at++] = CLOSE_LIST;
    return from[this.i++] === CLOSE_LIST;
  }

  private object(depth: number): boolean {
    const { from, page, members } = this;
    const mine = this.top;
    page.bytes[page.at++] = OPEN;
    this.i += 1;
    let ordered = true;
    if (from[this.i] !== CLOSE) {
      for (;;) {
        const begins = page.at;
        if (!this.text(PLAIN_ASCII) || from[this.i] !== COLON) return false;
        const named = page.at;
        page.bytes[page.at++] = COLON;
        this.i += 2;
        if (!this.value(depth)) return false;
        const { top } = this;
        if (top > mine) ordered &&= before(page.bytes, members[top - 3]!, members[top - 2]!, begins, named);
        members[top] = begins;
        members[top + 1] = named;
        members[top + 2] = page.at;
        this.top = top + 3;
        if (from[this.i] !== COMMA) break;
        page.bytes[page.at++] = COMMA;
        this.i += 2;
      }
    }
    if (!ordered) this.order(mine);
    this.top = mine;
    page.bytes[page.at++] = CLOSE;
    return from[this.i++] === CLOSE;
  }

  /** Sorts the members of the last written object by name: the database puts short names first. */
  private order(mine: number): void {
    const {
      page: { bytes },
      members,
      top,
      aside,
    } = this;
    const first = members[mine]!,
      end = members[top - 1]!;
    bytes.copy(aside, first, first, end);
    let at = first;
    for (let left = (top - mine) / 3; left > 0; left -= 1) {
      let least = -1;
      for (let member = mine; member < top; member += 3) {
        if (
          members[member]! >= 0 &&
          (least < 0 || before(aside, members[member]!, members[member + 1]!, members[least]!, members[least + 1]!))
        )
          least = member;
      }
      if (at > first) bytes[at++] = COMMA;
      at += aside.copy(bytes, at, members[least]!, members[least + 2]!);
      // Done with this one.
      members[least] = -1;
    }
  }
}

/** Whether a name comes before another, both quoted and within ASCII. */
function before(bytes: Buffer, a: number, aEnd: number, b: number, bEnd: number): boolean {
  const shorter = Math.min(aEnd - a, bEnd - b) - 1;
  for (let i = 1; i < shorter; i += 1) {
    const difference = bytes[a + i]! - bytes[b + i]!;
    if (difference !== 0) return difference < 0;
  }
  return aEnd - a < bEnd - b;
}
