import { endOfString, partOfString, restOfString } from './json-slices.js';

/** The place in a JSON body of a number that a double (64 bits) cannot represent. */
export type Place = (string | number)[];

/** Every double can represent a number of fewer digits. */
const SAFE_DIGITS = 15;
/** With this many digits every double can be written, and read back as the same. */
const OWN_DIGITS = 17;
/** Digits and a point of a number that may have too many. */
export const LONG_NUMBER = /[\d.]{16}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The value of a decimal number: its significant digits, and the exponent of the last one. */
function decimal(text: string): { digits: string; exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  return { digits, exponent: Number(exponent) - fraction.length + all.length - digits.length };
}

/**
 * Whether a number survives a round trip, or is a double written with more digits than needed. A number with a fraction
 * is a measurement: its nearest double is what every program has of it.
 */
export function isExact(text: string): boolean {
  // Most are short, or as ECMAScript writes them.
  if (text.length <= SAFE_DIGITS || String(Number(text)) === text) return true;
  const sent = decimal(text);
  if (sent.digits.length <= SAFE_DIGITS || sent.exponent < 0) return true;
  const same = (written: string): boolean => {
    const { digits, exponent } = decimal(written);
    return digits === sent.digits && exponent === sent.exponent;
  };
  const value = Number(text);
  return same(String(value)) || (sent.digits.length <= OWN_DIGITS && same(value.toPrecision(sent.digits.length)));
}

interface Level {
  array: boolean;
  /** The index in a list; in an object, the offset of the field's name. */
  at: number;
  /** The next string is a field's name. */
  naming: boolean;
}

/**
 * The inexact numbers of a valid JSON text.
 * @param slice characters after which it yields to other requests
 */
export function* inexactNumbers(source: string, slice: number): Generator<undefined, Place[]> {
  const found: Place[] = [];
  const levels: Level[] = [];
  let next = slice;
  const name = (from: number) => JSON.parse(source.slice(from, endOfString(source, from) + 1)) as string;
  for (let i = 0; i < source.length; i++) {
    const c = source[i]!;
    const level = levels.at(-1);
    if (i > next) {
      next = i + slice;
      yield undefined;
    }
    if (c === '"') {
      let end = partOfString(source, i);
      while (end < -1) {
        yield undefined;
        end = restOfString(source, end);
      }
      if (level?.naming) {
        level.at = i;
        level.naming = false;
      }
      i = end;
    } else if (c === '{' || c === '[') levels.push({ array: c === '[', at: 0, naming: c === '{' });
    else if (c === '}' || c === ']') levels.pop();
    else if (c === ',' && level) {
      if (level.array) level.at += 1;
      else level.naming = true;
    } else if (c === '-' || (c >= '0' && c <= '9')) {
      NUMBER.lastIndex = i;
      const [text] = NUMBER.exec(source)!;
      if (!isExact(text)) found.push(levels.map(({ array, at }) => (array ? at : name(at))));
      i += text.length - 1;
    }
  }
  return found;
}
