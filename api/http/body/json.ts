import { Problem, problem } from '../errors.js';
import { LONG_NUMBER, inexactNumbers } from './exact-numbers.js';
import type { Place } from './exact-numbers.js';

const MAX_DEPTH = 64;
/** What a body may have: values altogether, fields in one object, objects and lists altogether. */
export interface JsonLimits {
  values: number;
  fields: number;
  parts: number;
}
const UNLIMITED: JsonLimits = { values: Infinity, fields: Infinity, parts: Infinity };
/** Without raw data: each value costs time to be read and checked, however short it is. */
export const PLAIN_LIMITS: JsonLimits = { ...UNLIMITED, values: 50_000 };
/** With raw data: what has more is no measurement, and takes the parser long. */
export const RAW_DATA_LIMITS: JsonLimits = { values: Infinity, fields: 10_000, parts: 1_000_000 };
/** Half a character: UTF-8, and so the database, has no form for it. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a JSON body strictly.
 * @param perItem what of it is answered item by item: its lists of these names, or the body itself
 * @param limits of what it may have
 * @throws 400 MALFORMED_JSON (also what is not UTF-8, or nested deeper than 64), 413 for too much of something, 422 for text that no column can hold,
 * or a number
 *   that is none here; of an item that has such a thing, `invalidTextIn` says so, and it is left to the handler
 */
export function parseJson(bytes: Buffer, perItem?: PerItemFields, limits = UNLIMITED): unknown {
  let source: string;
  try {
    source = utf8.decode(bytes);
  } catch (fault) {
    throw problem('MALFORMED_JSON', { detail: 'The body is not UTF-8.', cause: fault });
  }
  const { deep, many, wide, huge, precise } = outline(source, MAX_DEPTH, limits);
  if (deep) throw problem('MALFORMED_JSON', { detail: `The body is nested deeper than ${MAX_DEPTH} levels.` });
  if (many) throw problem('TOO_LARGE', { detail: `The body has more than ${limits.values} values.` });
  if (wide)
    throw problem('TOO_LARGE', {
      detail: `The body has an object of more than ${limits.fields} fields, or more than ${limits.parts} objects and lists.`,
    });
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (fault) {
    throw problem('MALFORMED_JSON', { cause: fault });
  }
  // Only an escape can bring in what the scan below looks for, the name itself, or a number that is written so: most
  // bodies are not walked.
  if (huge || source.includes('\\u') || source.includes('__proto__')) lookThrough(value, perItem);
  if (precise) for (const place of inexactNumbers(source, endOfString)) refuseInexact(value, place, perItem);
  return value;
}

/** Which parts of a body are items, of which a bad one stops none of the others. */
export type PerItemFields = 'body' | readonly string[];
const unstorableItems = new WeakMap<object, string>();

/** What of an item of a parsed body cannot be stored, in a sentence that names the field; undefined: nothing. */
export const invalidTextIn = (item: unknown): string | undefined =>
  typeof item === 'object' && item !== null ? unstorableItems.get(item) : undefined;

function lookThrough(value: unknown, perItem: PerItemFields | undefined): void {
  if (perItem === undefined || typeof value !== 'object' || value === null || Array.isArray(value))
    refuseUnstorable(value, '');
  else if (perItem === 'body') noteUnstorable(value);
  else {
    for (const [key, part] of Object.entries(value)) {
      if (perItem.includes(key) && Array.isArray(part)) part.forEach(noteUnstorable);
      else refuseUnstorable({ [key]: part }, '');
    }
  }
}

function noteUnstorable(item: unknown): void {
  // What is no object is refused for that, and nothing of it is stored.
  if (typeof item !== 'object' || item === null) return;
  try {
    refuseUnstorable(item, '');
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
    // The answer may be stored under its Idempotency-Key: a name that cannot be is spelled.
    unstorableItems.set(
      item,
      fault.message.replace(/[\0\p{Surrogate}]/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
    );
  }
}

/** A number that would be stored as another one. */
function refuseInexact(value: unknown, place: Place, perItem: PerItemFields | undefined): void {
  const [list, index] = place;
  const [item, inside] =
    perItem === 'body'
      ? [value, place]
      : perItem?.includes(String(list)) && typeof index === 'number'
        ? [(value as Record<string, unknown[]>)[list!]?.[index], place.slice(2)]
        : [undefined, place];
  const fault = unstorable(
    inside.join('.'),
    'NUMBER_NOT_EXACT',
    'has more digits than can be stored: send it as a string',
  );
  if (typeof item !== 'object' || item === null) throw fault;
  if (!unstorableItems.has(item)) unstorableItems.set(item, fault.message);
}

/** A number of fewer digits, and with fewer in its exponent, is a number to every program: the largest has 309. */
const HUGE_DIGITS = 200;
const LONG_EXPONENT = /[eE]\+?\d{3}/y;

/**
 * What is outside of strings, over which it leaps: whether its brackets are nested deeper than `depth`, down which a
 * parser would go by recursion, whether it has more than `most` of something, whether a number may be too large to be one, and whether one may have more digits than we keep.
 */
function outline(
  source: string,
  depth: number,
  most: JsonLimits,
): { deep: boolean; many: boolean; wide: boolean; huge: boolean; precise: boolean } {
  let level = 0,
    values = 1,
    parts = 0,
    wide = false,
    huge = false,
    precise = false;
  // Between two of these signs stands one number at most, which is looked at where there is room for many digits.
  const look = (from: number, to: number): void => {
    if (to - from > HUGE_DIGITS) huge = true;
    if (!precise && to - from >= 16) precise = LONG_NUMBER.test(source.slice(from, to));
  };
  // Of each level: whether it is an object, and how many fields it has had.
  const isObject = new Uint8Array(depth + 1);
  const fields = new Int32Array(depth + 1);
  // No number goes over these: it begins after the last of them.
  let last = 0;
  for (let i = 0; i < source.length; i++) {
    const c = source.charCodeAt(i);
    if (c === 34) {
      i = endOfString(source, i);
      if (i < 0) break;
      last = i;
    } else if (c === 44 || c === 123 || c === 91 || c === 125 || c === 93) {
      look(last, i);
      last = i;
      if (c === 123 || c === 91) {
        if (++level > depth) return { deep: true, many: false, wide: false, huge, precise };
        isObject[level] = c === 123 ? 1 : 0;
        fields[level] = 1;
        parts++;
      } else if (c !== 44) level--;
      else if (isObject[level] === 1 && ++fields[level]! > most.fields) wide = true;
      if ((c === 44 || level > 1) && ++values > most.values)
        return { deep: false, many: true, wide: false, huge, precise };
      if (wide || parts > most.parts) return { deep: false, many: false, wide: true, huge, precise };
    } else if ((c === 101 || c === 69) && !huge) {
      LONG_EXPONENT.lastIndex = i;
      huge = LONG_EXPONENT.test(source);
    }
  }
  look(last, source.length);
  return { deep: false, many: false, wide: false, huge, precise };
}

/**
 * Where the string that begins at `from` has its closing quote, before which stands no backslash, or an even number;
 * -1: nowhere.
 */
function endOfString(source: string, from: number): number {
  for (let end = source.indexOf('"', from + 1); end >= 0; end = source.indexOf('"', end + 1)) {
    let before = end;
    while (source.charCodeAt(before - 1) === 92) before--;
    if ((end - before) % 2 === 0) return end;
  }
  return -1;
}

function refuseUnstorable(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || LONE_SURROGATE.test(value))
      throw unstorable(path, 'PATTERN', 'has a character that cannot be stored');
  } else if (typeof value === 'number') {
    // JSON's own grammar knows no largest number; written again it would be null.
    if (!Number.isFinite(value)) throw unstorable(path, 'NOT_FINITE', 'is a number too large to be stored');
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => refuseUnstorable(item, path ? `${path}.${i}` : String(i)));
  } else if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      const inner = path ? `${path}.${key}` : key;
      if (key === '__proto__') throw unstorable(inner, 'PATTERN', 'is not a name for a field');
      if (key.includes('\0') || LONE_SURROGATE.test(key))
        throw unstorable(inner, 'PATTERN', 'has a character that cannot be stored');
      refuseUnstorable(item, inner);
    }
  }
}

function unstorable(path: string, code: string, sentence: string) {
  const at = path || 'body';
  return problem('VALIDATION_FAILED', {
    detail: `${at} ${sentence}`,
    errors: [{ path: at, code, message: `${at} ${sentence}` }],
  });
}
