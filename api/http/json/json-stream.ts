import { Readable } from 'node:stream';
import { isLong } from '../../../workflows/domain/util/length.js';
import type { YieldingWork } from '../../util/in-turns.js';

/** A list of an answer that is serialized while it is built, so that its items need not be kept. */
export class JsonArrayWriter {
  readonly pieces: Buffer[] = [];
  length = 0;

  add(items: readonly unknown[]): void {
    if (items.length === 0) return;
    this.pieces.push(Buffer.from(`${this.length > 0 ? ',' : ''}${JSON.stringify(items).slice(1, -1)}`));
    this.length += items.length;
  }

  /** Adds an item that is serialized already. */
  addWritten({ pieces }: JsonStream): void {
    if (this.length > 0) this.pieces.push(Buffer.from(','));
    this.pieces.push(...pieces);
    this.length += 1;
  }
}

/** A member of an answer that is JSON already, as the database wrote it, in pieces of UTF-8. */
export class JsonPieces {
  constructor(readonly pieces: readonly Buffer[]) {}
}

/** An answer's body that is serialized JSON, in UTF-8 pieces. */
export class JsonStream {
  constructor(readonly pieces: readonly Buffer[]) {}

  /** In bytes. */
  get length(): number {
    return this.pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  toString(): string {
    return this.pieces.map((piece) => piece.toString()).join('');
  }
}

/** Serialized pieces as a stream: joined they would be in memory twice. */
export class JsonReadable extends Readable {
  private at = 0;

  constructor(private readonly written: JsonStream) {
    super();
  }

  override _read(): void {
    this.push(this.written.pieces[this.at++] ?? null);
  }
}

/** An object with some members already serialized. */
export function jsonStream(members: Record<string, unknown>): JsonStream {
  const pieces: Buffer[] = [];
  for (const [name, value] of Object.entries(members)) {
    const key = `${pieces.length > 0 ? ',' : '{'}${JSON.stringify(name)}:`;
    if (value instanceof JsonArrayWriter) pieces.push(Buffer.from(`${key}[`), ...value.pieces, Buffer.from(']'));
    else if (value instanceof JsonPieces) pieces.push(Buffer.from(key), ...value.pieces);
    else pieces.push(Buffer.from(key + JSON.stringify(value)));
  }
  return new JsonStream([...pieces, Buffer.from('}')]);
}

/** Characters serialized before yielding to other requests. */
const SLICE = 128 * 1024;

/** A value as `JSON.stringify` writes it, with other requests in between. */
export function* jsonInSlices(value: unknown): YieldingWork<JsonStream> {
  const pieces: Buffer[] = [];
  let text = '';
  function* write(part: unknown): YieldingWork<void> {
    if (typeof part !== 'object' || part === null || 'toJSON' in part || !isLong(part))
      text += JSON.stringify(part) ?? 'null';
    else if (Array.isArray(part)) {
      text += '[';
      for (const [i, item] of part.entries()) {
        if (i > 0) text += ',';
        yield* write(item);
      }
      text += ']';
    } else {
      let mark = '{';
      for (const [name, member] of Object.entries(part)) {
        if (member === undefined) continue;
        text += `${mark}${JSON.stringify(name)}:`;
        mark = ',';
        yield* write(member);
      }
      text += mark === '{' ? '{}' : '}';
    }
    if (text.length < SLICE) return;
    pieces.push(Buffer.from(text));
    text = '';
    yield undefined;
  }
  yield* write(value);
  if (text !== '') pieces.push(Buffer.from(text));
  return new JsonStream(pieces);
}
