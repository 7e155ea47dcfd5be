import { placeOf, walkJson } from './json-walk.js';
import type { Place } from './json-walk.js';

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

/**
 * The places of the inexact numbers of a valid JSON text: those that a double (64 bits) cannot represent.
 * @param slice characters after which it yields to other requests
 */
export function* inexactNumbers(source: string, slice: number): Generator<undefined, Place[]> {
  const found: Place[] = [];
  yield* walkJson(source, slice, {
    number: (levels, from) => {
      NUMBER.lastIndex = from;
      const [text] = NUMBER.exec(source)!;
      if (!isExact(text)) found.push(placeOf(source, levels));
      return from + text.length - 1;
    },
  });
  return found;
}
