import { problem } from '../errors.js';
import { JsonArrayWriter, JsonPieces, JsonStream, jsonStream } from './json-stream.js';

/** The largest answer, in bytes: it is in memory until it is sent. */
const MAX_BYTES = 100 * 1024 * 1024;

/**
 * A page whose rows may each have a member of megabytes. Those that are long (null in their rows) are read one by one,
 * as the database writes them, and passed on.
 * @param read the pieces of a row's member
 * @throws 413 for a page of more than a hundred megabytes
 */
export async function longList<Row extends object, Name extends keyof Row & string>(
  { items, total }: { items: readonly Row[]; total: number },
  name: Name,
  read: (row: Row) => Promise<Buffer[]>,
): Promise<{ items: readonly Row[]; total: number } | JsonStream> {
  if (items.every((row) => row[name] !== null)) return { items, total };
  const list = new JsonArrayWriter();
  let bytes = 0;
  for (const row of items) {
    if (row[name] !== null) {
      list.add([row]);
      continue;
    }
    const pieces = await read(row);
    for (const piece of pieces) bytes += piece.length;
    if (bytes > MAX_BYTES)
      throw problem('TOO_LARGE', {
        detail: `These records are longer than ${MAX_BYTES} bytes together: ask for fewer (limit).`,
      });
    list.addWritten(jsonStream({ ...row, [name]: new JsonPieces(pieces) }));
  }
  return jsonStream({ items: list, total });
}
