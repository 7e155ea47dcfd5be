import { setImmediate as others } from 'node:timers/promises';
import { Problem, problem } from '../errors.js';
import { LONG_NUMBER, inexactNumbers } from './exact-numbers.js';
import type { Place } from './exact-numbers.js';
import { SLICE, endOfString, parseInSlices } from './json-slices.js';

const MAX_DEPTH = 64;
/** Limits of a body: values in total, fields of one object, objects and lists in total. */
export interface JsonLimits {
  values: number;
  fields: number;
  parts: number;
}
const UNLIMITED: JsonLimits = { values: Infinity, fields: Infinity, parts: Infinity };
/** Without raw data: parsing and checking each value takes time, however short it is. */
export const PLAIN_LIMITS: JsonLimits = { ...UNLIMITED, values: 50_000 };
/** With raw data: larger bodies are no measurements, and slow to parse. */
export const RAW_DATA_LIMITS: JsonLimits = { values: Infinity, fields: 10_000, parts: 1_000_000 };
/** A lone surrogate: UTF-8, and so the database, cannot represent it. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a JSON body strictly.
 * @param perItem the parts that are answered item by item: lists of these names, or the body itself
 * @param limits of the body
 * @throws 400 MALFORMED_JSON (also invalid UTF-8, or nesting deeper than 64), 413 for exceeded limits, 422 for text
 * that no column can store, or an unrepresentable number;
 *   for an item with such a fault, `invalidTextIn` returns it, and the handler decides
 */
export function parseJson(bytes: Buffer, perItem?: PerItemFields, limits = UNLIMITED): unknown {
  const source = textOf(bytes);
  const found = atOnce(outline(source, MAX_DEPTH, limits, Infinity));
  requireWithin(found, limits);
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (fault) {
    throw problem('MALFORMED_JSON', { cause: fault });
  }
  refuseUnkept(source, value, found, perItem);
  if (found.precise)
    for (const place of atOnce(inexactNumbers(source, endOfString, Infinity))) refuseInexact(value, place, perItem);
  return value;
}

/** `parseJson` for a body that may be long: it is read in slices, with other requests in between. */
export async function parseLargeJson(bytes: Buffer, perItem?: PerItemFields, limits = UNLIMITED): Promise<unknown> {
  if (bytes.length <= 2 * SLICE) return parseJson(bytes, perItem, limits);
  const source = textOf(bytes);
  await others();
  const found = await inTurns(outline(source, MAX_DEPTH, limits, SLICE));
  requireWithin(found, limits);
  const value = await parseInSlices(source).catch((fault: unknown) => {
    throw problem('MALFORMED_JSON', { cause: fault });
  });
  refuseUnkept(source, value, found, perItem);
  if (found.precise)
    for (const place of await inTurns(inexactNumbers(source, endOfString, SLICE))) refuseInexact(value, place, perItem);
  return value;
}

function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (fault) {
    throw problem('MALFORMED_JSON', { detail: 'The body is not UTF-8.', cause: fault });
  }
}

/** Runs a parser without yielding. */
function atOnce<T>(reading: Generator<undefined, T>): T {
  for (;;) {
    const step = reading.next();
    if (step.done) return step.value;
  }
}

/** Runs a parser, yielding after each slice. */
async function inTurns<T>(reading: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const step = reading.next();
    if (step.done) return step.value;
    await others();
  }
}

function requireWithin({ deep, many, wide }: Outline, limits: JsonLimits): void {
  if (deep) throw problem('MALFORMED_JSON', { detail: `The body is nested deeper than ${MAX_DEPTH} levels.` });
  if (many) throw problem('TOO_LARGE', { detail: `The body has more than ${limits.values} values.` });
  if (wide)
    throw problem('TOO_LARGE', {
      detail: `The body has an object of more than ${limits.fields} fields, or more than ${limits.parts} objects and lists.`,
    });
}

/**
 * Only an escape, the name itself or a number in such notation can introduce these values: most bodies need no walk.
 */
function refuseUnkept(source: string, value: unknown, { huge }: Outline, perItem: PerItemFields | undefined): void {
  if (huge || source.includes('\\u') || source.includes('__proto__')) lookThrough(value, perItem);
}

/** The parts of a body that are items: an invalid one does not stop the others. */
export type PerItemFields = 'body' | readonly string[];
const unstorableItems = new WeakMap<object, string>();

/** The unstorable part of an item of a parsed body, in a sentence that names the field; undefined: none. */
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
  // A non-object is refused anyway, and not stored.
  if (typeof item !== 'object' || item === null) return;
  try {
    refuseUnstorable(item, '');
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
    // The answer may be stored under its Idempotency-Key: an unstorable name is escaped.
    unstorableItems.set(
      item,
      fault.message.replace(/[\0\p{Surrogate}]/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
    );
  }
}

/** Refuses a number that would be stored as another one. */
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

/** Every program can represent a number with fewer digits, and fewer in its exponent: the largest has 309. */
const HUGE_DIGITS = 200;
const LONG_EXPONENT = /[eE]\+?\d{3}/y;

interface Outline {
  deep: boolean;
  many: boolean;
  wide: boolean;
  huge: boolean;
  precise: boolean;
}
/**
 * Scans everything outside of strings: whether nesting exceeds `depth`, which a parser would follow recursively,
 * whether a count exceeds `most`, whether a number may overflow, and whether one may have more digits than a double.
 */
function* outline(source: string, depth: number, most: JsonLimits, slice: number): Generator<undefined, Outline> {
  let level = 0,
    next = slice,
    values = 1,
    parts = 0,
    wide = false,
    huge = false,
    precise = false;
  // At most one number is between two of these signs; it is checked if it could have many digits.
  const look = (from: number, to: number): void => {
    if (to - from > HUGE_DIGITS) huge = true;
    if (!precise && to - from >= 16) precise = LONG_NUMBER.test(source.slice(from, to));
  };
  // For each level: whether it is an object, and the number of its fields.
  const isObject = new Uint8Array(depth + 1);
  const fields = new Int32Array(depth + 1);
  // No number spans these signs: it begins after the last of them.
  let last = 0;
  for (let i = 0; i < source.length; i++) {
    const c = source.charCodeAt(i);
    if (i > next) {
      next = i + slice;
      yield undefined;
    }
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

function refuseUnstorable(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || LONE_SURROGATE.test(value))
      throw unstorable(path, 'PATTERN', 'has a character that cannot be stored');
  } else if (typeof value === 'number') {
    // JSON's grammar has no largest number; serialized again it would be null.
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
