import { hash } from 'node:crypto';
import { PLAIN, CanonicalJsonBytes } from './canonical-json-bytes.js';
import { recordHash } from './audit-records.js';
import { canonicalJson } from './canonical-json.js';

/** The fields that verify a record's place in a chain; `content` is the hash of its present content. */
export interface Sealed {
  seq: number;
  prev_hash: string;
  hash: string;
  content: string;
}

/** Stands for the study's id when it equals the chain's own. */
const SAME = '=';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/**
 * The line format that `LineReader` expects (COPY, text), in the order of the canonical form. All records of a chain
 * have the same study: it is compared in SQL.
 */
export function lineOf(chain: string): string {
  const study = UUID.test(chain)
    ? `case study_id when '${chain}'::uuid then '${SAME}' else study_id::text end`
    : 'study_id';
  return (
    `hash, prev_hash, action, audit_metadata, created_at at time zone 'UTC', hash_version, request_id, ` +
    `resource_id, resource_type, seq, ${study}, user_id`
  );
}
const TAB = 0x09,
  NEWLINE = 0x0a,
  SPACE = 0x20,
  QUOTE = 0x22,
  POINT = 0x2e,
  ZERO = 0x30,
  NINE = 0x39,
  EQUALS = 0x3d,
  LETTER_N = 0x4e,
  LETTER_T = 0x54,
  LETTER_Z = 0x5a,
  BACKSLASH = 0x5c,
  CLOSE = 0x7d;
const NULL = Buffer.from('null');
const DIGEST = 64,
  DATE = 10,
  SECONDS = 19,
  FRACTION = 6;
/** Longer lines are rare, and use the slower parser. */
const MAX_LENGTH = 64 * 1024;
/** More than the canonical form adds to a line. */
const FRAME = 1024;

/**
 * Reads records from lines as COPY writes them. Plain values, which are nearly all, are converted to canonical form
 * byte by byte in place: with strings and objects it takes five times as long, mostly for garbage collection.
 */
export class LineReader {
  private readonly page = { bytes: Buffer.alloc(MAX_LENGTH + FRAME), at: 0 };
  private readonly json = new CanonicalJsonBytes(this.page);
  private readonly parts: Buffer[];
  private readonly own: Buffer;
  /** Views of the page, by length. */
  private readonly views: Buffer[] = [];
  /** The last number that was read. */
  private read = 0;
  private from: Buffer = Buffer.alloc(0);
  private i = 0;

  constructor(private readonly chain: string) {
    this.parts = [
      '{"action":',
      ',"audit_metadata":',
      `,"chain":${canonicalJson(chain)},"created_at":`,
      ',"hash_version":',
      ',"request_id":',
      ',"resource_id":',
      ',"resource_type":',
      ',"seq":',
      ',"study_id":',
      ',"user_id":',
    ].map((part) => Buffer.from(part));
    this.own = Buffer.from(`,"study_id":${canonicalJson(chain)}`);
  }

  /** The record of a line, including its line end. */
  record(line: Buffer): Sealed {
    return (
      (line.length <= MAX_LENGTH ? this.plain(line) : undefined) ??
      recordOf(this.chain, line.toString('utf8', 0, line.length - 1))
    );
  }

  private plain(from: Buffer): Sealed | undefined {
    const { page } = this;
    this.from = from;
    if (from[DIGEST] !== TAB || from[2 * DIGEST + 1] !== TAB) return undefined;
    page.at = from.copy(page.bytes, 0, DIGEST + 1, 2 * DIGEST + 1);
    this.i = 2 * (DIGEST + 1);
    if (!(
      this.text(0) &&
      this.metadata() &&
      this.time() &&
      this.number(3) &&
      this.nullable(4) &&
      this.nullable(5) &&
      this.text(6)
    ))
      return undefined;
    if (!this.number(7)) return undefined;
    const seq = this.read;
    if (!this.study() || !this.nullable(9)) return undefined;
    page.bytes[page.at++] = CLOSE;
    const hashes = from.toString('latin1', 0, 2 * DIGEST + 1);
    const content = hash('sha256', (this.views[page.at] ??= page.bytes.subarray(0, page.at)), 'hex');
    return { seq, prev_hash: hashes.slice(DIGEST + 1), hash: hashes.slice(0, DIGEST), content };
  }

  // Byte by byte: for so few, calling Buffer.copy takes longer than copying.
  private part(n: number): void {
    const {
        page: { bytes },
      } = this,
      part = this.parts[n]!;
    let { at } = this.page;
    for (let i = 0; i < part.length; i += 1) bytes[at++] = part[i]!;
    this.page.at = at;
  }

  /** A text field in quotes, in either form if it has no escapes. */
  private text(n: number): boolean {
    this.part(n);
    const {
      from,
      page: { bytes },
    } = this;
    let { i } = this,
      { at } = this.page;
    bytes[at++] = QUOTE;
    const plain = PLAIN;
    for (let byte = from[i]!; plain[byte] === 1; byte = from[++i]!) bytes[at++] = byte;
    if (from[i] !== TAB && from[i] !== NEWLINE) return false;
    bytes[at++] = QUOTE;
    this.i = i + 1;
    this.page.at = at;
    return true;
  }

  private nullable(n: number): boolean {
    const { from, i, page } = this;
    if (from[i] !== BACKSLASH) return this.text(n);
    if (from[i + 1] !== LETTER_N || from[i + 2]! > NEWLINE) return false;
    this.part(n);
    for (const byte of NULL) page.bytes[page.at++] = byte;
    this.i = i + 3;
    return true;
  }

  private study(): boolean {
    if (this.from[this.i] !== EQUALS) return this.nullable(8);
    const { page, own } = this;
    page.bytes.set(own, page.at);
    page.at += own.length;
    this.i += 2;
    return this.from[this.i - 1] === TAB;
  }

  private number(n: number): boolean {
    this.part(n);
    const { from, page } = this;
    let { i } = this;
    this.read = 0;
    for (let byte = from[i]!; byte !== TAB; byte = from[++i]!) {
      if (byte < ZERO || byte > NINE) return false;
      page.bytes[page.at++] = byte;
      this.read = this.read * 10 + byte - ZERO;
    }
    this.i = i + 1;
    return true;
  }

  private metadata(): boolean {
    this.part(1);
    const end = this.json.write(this.from, this.i);
    this.i = end + 1;
    return end >= 0 && this.from[end] === TAB;
  }

  /** '2026-01-05 10:00:00.5' in the hashed form: always six decimals. */
  private time(): boolean {
    this.part(2);
    const { from, i, page } = this;
    const { bytes } = page;
    let end = i + SECONDS + 1 + FRACTION;
    while (end > i + SECONDS && from[end] !== TAB) end -= 1;
    if (from[end] !== TAB || from[i + DATE] !== SPACE || (end > i + SECONDS && from[i + SECONDS] !== POINT))
      return false;
    bytes[page.at++] = QUOTE;
    from.copy(bytes, page.at, i, end);
    bytes[page.at + DATE] = LETTER_T;
    bytes[page.at + SECONDS] = POINT;
    for (let missing = i + SECONDS + 1 + FRACTION - Math.max(end, i + SECONDS + 1); missing > 0; missing -= 1)
      bytes[page.at + SECONDS + 1 + FRACTION - missing] = ZERO;
    page.at += SECONDS + 1 + FRACTION;
    bytes[page.at++] = LETTER_Z;
    bytes[page.at++] = QUOTE;
    this.i = end + 1;
    return true;
  }
}

/** The record of a line with any content. */
function recordOf(chain: string, line: string): Sealed {
  const fields = line.split('\t').map(unescaped);
  const [own, prev, action, metadata, created, version, request, resource, type, seq, study, user] = fields as [
    string,
    string,
    string,
    string,
    string,
    string,
    string | null,
    string | null,
    string,
    string,
    string | null,
    string | null,
  ];
  const row = {
    seq: Number(seq),
    chain,
    study_id: study === SAME ? chain : study,
    user_id: user,
    action,
    resource_type: type,
    resource_id: resource,
    audit_metadata: JSON.parse(metadata) as unknown,
    request_id: request,
    created_at: microseconds(created),
    prev_hash: prev,
    hash: own,
    hash_version: Number(version),
  };
  return { seq: row.seq, prev_hash: prev, hash: own, content: recordHash(row) };
}

const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
/** A field as COPY writes it; null for \\N. */
function unescaped(field: string): string | null {
  if (field === '\\N') return null;
  return field.includes('\\') ? field.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter) : field;
}

function microseconds(value: string): string {
  const [whole, fraction = ''] = value.split('.');
  return `${whole!.replace(' ', 'T')}.${fraction.padEnd(FRACTION, '0')}Z`;
}

/** Describes the fault of a record at its place in the chain; undefined: it is valid. */
export function faultAt(record: Sealed, place: { seq: number; head: string }): string | undefined {
  if (record.seq !== place.seq) return `record ${place.seq} is missing`;
  if (record.prev_hash !== place.head) return 'it does not follow the record before it';
  if (record.hash !== record.content) return 'its content is not what was sealed';
  return undefined;
}
