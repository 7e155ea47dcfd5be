/** Where in a JSON body numbers stand that our numbers (64 bits, floating point) cannot hold. */
export type Place = (string | number)[];

/** A number of fewer digits is held by any of ours. */
const SAFE_DIGITS = 15;
/** With so many digits each of our numbers can be written, and read again as the same. */
const OWN_DIGITS = 17;
/** Digits and a point of a number that may have too many. */
export const LONG_NUMBER = /[\d.]{16}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The value of a decimal number: its digits without zeros around them, and the exponent of the last. */
function decimal(text: string): { digits: string; exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  return { digits, exponent: Number(exponent) - fraction.length + all.length - digits.length };
}

/** Whether a number is the same when it is written again, or is one of ours written with more digits than needed. */
export function isExact(text: string): boolean {
  // Most are short, or as our programs write them.
  if (text.length <= SAFE_DIGITS || String(Number(text)) === text) return true;
  const sent = decimal(text);
  if (sent.digits.length <= SAFE_DIGITS) return true;
  const same = (written: string): boolean => {
    const { digits, exponent } = decimal(written);
    return digits === sent.digits && exponent === sent.exponent;
  };
  const value = Number(text);
  return same(String(value)) || (sent.digits.length <= OWN_DIGITS && same(value.toPrecision(sent.digits.length)));
}

interface Level {
  array: boolean;
  /** The place in the list; in an object where the name of the field begins. */
  at: number;
  /** The next string is a field's name. */
  naming: boolean;
}

/**
 * Numbers of a JSON text, which is known to be one, that are not exact.
 * @param endOfString where the string that begins at a place has its closing quote
 */
export function inexactNumbers(source: string, endOfString: (source: string, from: number) => number): Place[] {
  const found: Place[] = [];
  const levels: Level[] = [];
  const name = (from: number) => JSON.parse(source.slice(from, endOfString(source, from) + 1)) as string;
  for (let i = 0; i < source.length; i++) {
    const c = source[i]!;
    const level = levels.at(-1);
    if (c === '"') {
      const end = endOfString(source, i);
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
