/**
 * Arrays of numbers, booleans and instants as parameters in PostgreSQL's binary form: the database parses text letter
 * by letter, which takes longer than storing it. The driver sends bytes unchanged.
 */
export const integers = (values: readonly number[]): Buffer =>
  written(INT4, 4, values, (view, offset, value) => {
    view.setInt32(offset, value);
  });

/** Zero has no sign, as in text. */
export const doubles = (values: readonly (number | null)[]): Buffer =>
  written(FLOAT8, 8, values, (view, offset, value) => {
    view.setFloat64(offset, value === 0 ? 0 : value);
  });

export const booleans = (values: readonly (boolean | null)[]): Buffer =>
  written(BOOL, 1, values, (view, offset, value) => {
    view.setUint8(offset, value ? 1 : 0);
  });

/** @param values whole milliseconds since 1970 */
export const instants = (values: readonly number[]): Buffer =>
  written(TIMESTAMPTZ, 8, values, (view, offset, value) => {
    const micros = (value - EPOCH_MS) * 1000;
    // Centuries away, a number no longer holds every microsecond.
    if (!Number.isSafeInteger(micros)) {
      view.setBigInt64(offset, BigInt(value - EPOCH_MS) * 1000n);
      return;
    }
    const high = Math.floor(micros / 2 ** 32);
    view.setInt32(offset, high);
    view.setUint32(offset + 4, micros - high * 2 ** 32);
  });

const BOOL = 16,
  INT4 = 23,
  FLOAT8 = 701,
  TIMESTAMPTZ = 1184;
/** The database counts from 2000. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const HEAD = 20;

/** Writes dimensions, null flag, type, length, lower bound; then each value after its length, -1: null. */
function written<T>(
  type: number,
  width: number,
  values: readonly (T | null)[],
  put: (view: DataView, offset: number, value: T) => void,
): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD + values.length * (4 + width));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = HEAD;
  let nulls = 0;
  for (const value of values) {
    if (value === null) {
      view.setInt32(at, -1);
      at += 4;
      nulls = 1;
      continue;
    }
    view.setInt32(at, width);
    put(view, at + 4, value);
    at += 4 + width;
  }
  [1, nulls, type, values.length, 1].forEach((head, i) => {
    view.setInt32(i * 4, head);
  });
  return bytes.subarray(0, at);
}
