import { Readable } from 'node:stream';

/** A list of an answer that is serialized while it is built, so that its items need not be kept. */
export class JsonArrayWriter {
  readonly pieces: Buffer[] = [];
  length = 0;

  add(items: readonly unknown[]): void {
    if (items.length === 0) return;
    this.pieces.push(Buffer.from(`${this.length > 0 ? ',' : ''}${JSON.stringify(items).slice(1, -1)}`));
    this.length += items.length;
  }
}

/** A member of an answer that is JSON already, as the database wrote it. */
export class JsonText {
  constructor(readonly text: string) {}
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
    else pieces.push(Buffer.from(key + (value instanceof JsonText ? value.text : JSON.stringify(value))));
  }
  return new JsonStream([...pieces, Buffer.from('}')]);
}
