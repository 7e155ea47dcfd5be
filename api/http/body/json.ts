import { isAscii } from 'node:buffer';
import { setImmediate as others } from 'node:timers/promises';
import { problem } from '../errors.js';
import { atOnce, inTurns } from '../../util/in-turns.js';
import { deepPlaces, withoutDeepParts } from './deep-parts.js';
import type { ShallowText } from './deep-parts.js';
import { LONG_NUMBER, inexactNumbers } from './exact-numbers.js';
import type { Place } from './json-walk.js';
import { SLICE, parseInSlices, partOfString, restOfString } from './json-slices.js';
import { countFields, repeatedNames } from './repeated-names.js';
import { unstorablePart } from './unstorable.js';
import type { Path, Unstorable } from './unstorable.js';

const MAX_DEPTH = 64;
/** Limits of a body: values in total, fields of one object, objects, lists and texts in total. */
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
/** A shorter body is parsed in one go. */
const SHORT_BYTES = 2 * SLICE;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a JSON body strictly.
 * @param perItem the parts that are answered item by item: lists of these names, or the body itself
 * @param limits of the body
 * @throws 400 MALFORMED_JSON (also invalid UTF-8, or nesting deeper than 64), 413 for exceeded limits, 422 for text
 * that no column can store, an unrepresentable number, or a field that an object has twice;
 *   for an item with such a fault, `invalidTextIn` returns it, and the handler decides
 */
export function parseJson(bytes: Buffer, perItem?: PerItemFields, limits = UNLIMITED): unknown {
  const { source, found, shallow } = atOnce(outlined(textOf(bytes), perItem, limits, Infinity));
  requireWithin(found, limits);
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (fault) {
    throw problem('MALFORMED_JSON', { cause: fault });
  }
  if (atOnce(mayBeUnstorable(source, found))) atOnce(lookThrough(value, perItem));
  if (shallow) for (const place of atOnce(deepPlaces(shallow, Infinity))) refuseAt(value, place, perItem, DEEP);
  if (found.precise)
    for (const place of atOnce(inexactNumbers(source, Infinity))) refuseAt(value, place, perItem, INEXACT);
  if (atOnce(countFields(value)) < found.names)
    for (const place of atOnce(repeatedNames(source, Infinity))) refuseAt(value, place, perItem, REPEATED);
  return value;
}

/** `parseJson` for a body that may be long: it is read in slices, with other requests in between. */
export async function parseLargeJson(bytes: Buffer, perItem?: PerItemFields, limits = UNLIMITED): Promise<unknown> {
  if (bytes.length <= SHORT_BYTES) return parseJson(bytes, perItem, limits);
  const { source, found, shallow } = await inTurns(outlined(await longTextOf(bytes), perItem, limits, SLICE));
  requireWithin(found, limits);
  const value = await parsedWithin(source, found).catch((fault: unknown) => {
    throw problem('MALFORMED_JSON', { cause: fault });
  });
  if (await inTurns(mayBeUnstorable(source, found))) await inTurns(lookThrough(value, perItem));
  if (shallow) for (const place of await inTurns(deepPlaces(shallow, SLICE))) refuseAt(value, place, perItem, DEEP);
  if (found.precise)
    for (const place of await inTurns(inexactNumbers(source, SLICE))) refuseAt(value, place, perItem, INEXACT);
  if ((await inTurns(countFields(value))) < found.names)
    for (const place of await inTurns(repeatedNames(source, SLICE))) refuseAt(value, place, perItem, REPEATED);
  return value;
}

/** The engine parses so much in a few milliseconds: slices would cost as much again. */
const AT_ONCE = { letters: 4 * 1024 * 1024, values: 200_000 };

const parsedWithin = async (source: string, { values }: Outline): Promise<unknown> =>
  source.length <= AT_ONCE.letters && values <= AT_ONCE.values
    ? (JSON.parse(source) as unknown)
    : parseInSlices(source);

function textOf(bytes: Buffer): string {
  if (isAscii(bytes)) return plainTextOf(bytes);
  try {
    return utf8.decode(bytes);
  } catch (fault) {
    throw notUtf8(fault);
  }
}

/** Most bodies have no letter beyond ASCII: they are copied as they are, in a tenth of the time of decoding UTF-8. */
const plainTextOf = (ascii: Buffer): string => ascii.toString('latin1');

async function longTextOf(bytes: Buffer): Promise<string> {
  if (isAscii(bytes)) return plainTextOf(bytes);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += SLICE) pieces.push(bytes.subarray(at, at + SLICE));
  return textOfPieces(pieces);
}

/** The text of pieces of UTF-8, decoded with other requests in between. @throws 400 MALFORMED_JSON */
export async function textOfPieces(pieces: readonly Buffer[]): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const texts: string[] = [];
  try {
    for (const piece of pieces) {
      texts.push(decoder.decode(piece, { stream: true }));
      await others();
    }
    texts.push(decoder.decode());
  } catch (fault) {
    throw notUtf8(fault);
  }
  return texts.join('');
}

const notUtf8 = (cause: unknown) => problem('MALFORMED_JSON', { detail: 'The body is not UTF-8.', cause });

/** The text and its outline. If an item may be nested too deep, the text is without what is: the others are read. */
function* outlined(
  text: string,
  perItem: PerItemFields | undefined,
  limits: JsonLimits,
  slice: number,
): Generator<undefined, { source: string; found: Outline; shallow?: ShallowText }> {
  const found = yield* outline(text, MAX_DEPTH, limits, slice);
  if (!found.deep || perItem === undefined) return { source: text, found };
  const shallow = yield* withoutDeepParts(text, MAX_DEPTH, slice);
  return { source: shallow.source, found: yield* outline(shallow.source, MAX_DEPTH, limits, slice), shallow };
}

const tooDeep = () => problem('MALFORMED_JSON', { detail: `The body is nested deeper than ${MAX_DEPTH} levels.` });

function requireWithin({ deep, many, wide }: Outline, limits: JsonLimits): void {
  if (deep) throw tooDeep();
  if (many) throw problem('TOO_LARGE', { detail: `The body has more than ${limits.values} values.` });
  if (wide)
    throw problem('TOO_LARGE', {
      detail:
        `The body has an object of more than ${limits.fields} fields, or more than ${limits.parts} objects, lists ` +
        `and texts.`,
    });
}

/**
 * Only an escape, the name itself or a number in such notation can introduce these values: most bodies need no walk.
 */
function* mayBeUnstorable(source: string, { huge }: Outline): Generator<undefined, boolean> {
  if (huge) return true;
  for (let at = 0; at < source.length; at += SLICE) {
    // With the beginning of the next one: what is sought may lie across.
    const slice = source.slice(at, at + SLICE + SUSPICIOUS_LENGTH);
    if (SUSPICIOUS.some((text) => slice.includes(text))) return true;
    yield undefined;
  }
  return false;
}
const SUSPICIOUS = ['\\u', '__proto__'];
const SUSPICIOUS_LENGTH = 10;

/** The parts of a body that are items: an invalid one does not stop the others. */
export type PerItemFields = 'body' | readonly string[];
const unstorableItems = new WeakMap<object, string>();

/** The unstorable part of an item of a parsed body, in a sentence that names the field; undefined: none. */
export const invalidTextIn = (item: unknown): string | undefined =>
  typeof item === 'object' && item !== null ? unstorableItems.get(item) : undefined;

function* lookThrough(value: unknown, perItem: PerItemFields | undefined): Generator<undefined, void> {
  const turn = { left: 0 };
  const refuse = function* (part: unknown, path: Path): Generator<undefined, void> {
    const found = yield* unstorablePart(part, turn);
    if (found) throw unstorable([...path, ...found.path].join('.'), found.code, found.sentence);
  };
  const note = function* (item: unknown): Generator<undefined, void> {
    // A non-object is refused anyway, and not stored.
    if (typeof item !== 'object' || item === null) return;
    const found = yield* unstorablePart(item, turn);
    if (found) unstorableItems.set(item, noteOf(found));
  };
  if (perItem === undefined || typeof value !== 'object' || value === null || Array.isArray(value))
    yield* refuse(value, []);
  else if (perItem === 'body') yield* note(value);
  else {
    for (const [key, part] of Object.entries(value)) {
      if (perItem.includes(key) && Array.isArray(part)) for (const item of part as unknown[]) yield* note(item);
      else yield* refuse({ [key]: part }, []);
    }
  }
}

/** The answer may be stored under its Idempotency-Key: an unstorable name is escaped. */
const noteOf = ({ path, code, sentence }: Unstorable): string =>
  unstorable(path.join('.'), code, sentence).message.replace(
    /[\0\p{Surrogate}]/gu,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A number that would be stored as another one. */
const INEXACT = {
  code: 'NUMBER_NOT_EXACT',
  sentence: 'has more digits than can be stored: send it as a string',
} as const;
/** Parsers keep one of the two, and the other is lost. */
const REPEATED = { code: 'DUPLICATE_FIELD', sentence: 'stands twice in its object' } as const;
const DEEP = { code: 'TOO_DEEP', sentence: `is nested deeper than ${MAX_DEPTH} levels` } as const;
/** Names that lead to what is too deep: they say where to look. */
const MAX_NAMED = 4;

function refuseAt(
  value: unknown,
  place: Place,
  perItem: PerItemFields | undefined,
  { code, sentence }: typeof INEXACT | typeof REPEATED | typeof DEEP,
): void {
  const [list, index] = place;
  const [item, inside] =
    perItem === 'body'
      ? [value, place]
      : perItem?.includes(String(list)) && typeof index === 'number'
        ? [(value as Record<string, unknown[]>)[list!]?.[index], place.slice(2)]
        : [undefined, place];
  const at = code === 'TOO_DEEP' ? inside.slice(0, MAX_NAMED) : inside;
  const fault = unstorable(at.join('.'), code, sentence);
  if (typeof item !== 'object' || item === null) throw code === 'TOO_DEEP' ? tooDeep() : fault;
  if (!unstorableItems.has(item)) unstorableItems.set(item, fault.message);
}

/** Every program can represent a number with fewer digits, and fewer in its exponent: the largest has 309. */
const HUGE_DIGITS = 200;
const LONG_EXPONENT = /[eE]\+?\d{3}/y;

interface Numbers {
  huge: boolean;
  precise: boolean;
}
/**
 * At most one number is between two signs; it is checked if it could have many digits. Not a function within `outline`:
 * the engine would compile it again for each body.
 */
function lookAtNumber(found: Numbers, source: string, from: number, to: number): void {
  if (to - from > HUGE_DIGITS) found.huge = true;
  if (!found.precise && to - from >= 16) found.precise = LONG_NUMBER.test(source.slice(from, to));
}

interface Outline extends Numbers {
  deep: boolean;
  many: boolean;
  wide: boolean;
  /** Values, and objects, lists and texts once more. */
  values: number;
  /** Names of fields, of all objects. */
  names: number;
}
/**
 * Scans everything outside of strings: whether nesting exceeds `depth`, which a parser would follow recursively,
 * whether a count exceeds `most`, whether a number may overflow, whether one may have more digits than a double, and
 * how many fields there are.
 */
function* outline(source: string, depth: number, most: JsonLimits, slice: number): Generator<undefined, Outline> {
  let level = 0,
    next = slice,
    values = 1,
    parts = 0,
    names = 0,
    wide = false;
  const numbers: Numbers = { huge: false, precise: false };
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
      i = partOfString(source, i);
      while (i < -1) {
        yield undefined;
        i = restOfString(source, i);
      }
      if (i < 0) break;
      last = i;
      // Names of fields recur, and are not counted.
      if (source.charCodeAt(i + 1) !== 58 && ++parts > most.parts)
        return { deep: false, many: false, wide: true, ...numbers, values: values + parts, names };
    } else if (c === 44 || c === 123 || c === 91 || c === 125 || c === 93) {
      lookAtNumber(numbers, source, last, i);
      // An object without fields: the sign before is its beginning.
      if (c === 125 && source.charCodeAt(last) === 123) names--;
      last = i;
      if (c === 123 || c === 91) {
        if (++level > depth) return { deep: true, many: false, wide: false, ...numbers, values: values + parts, names };
        isObject[level] = c === 123 ? 1 : 0;
        fields[level] = 1;
        names += c === 123 ? 1 : 0;
        parts++;
      } else if (c !== 44) level--;
      else if (isObject[level] === 1) {
        names++;
        if (++fields[level]! > most.fields) wide = true;
      }
      if ((c === 44 || level > 1) && ++values > most.values)
        return { deep: false, many: true, wide: false, ...numbers, values: values + parts, names };
      if (wide || parts > most.parts)
        return { deep: false, many: false, wide: true, ...numbers, values: values + parts, names };
    } else if ((c === 101 || c === 69) && !numbers.huge) {
      LONG_EXPONENT.lastIndex = i;
      numbers.huge = LONG_EXPONENT.test(source);
    }
  }
  lookAtNumber(numbers, source, last, source.length);
  return { deep: false, many: false, wide: false, ...numbers, values: values + parts, names };
}

function unstorable(path: string, code: string, sentence: string) {
  const at = path || 'body';
  return problem('VALIDATION_FAILED', {
    detail: `${at} ${sentence}`,
    errors: [{ path: at, code, message: `${at} ${sentence}` }],
  });
}
