import { endOfString, partOfString, restOfString } from './json-slices.js';
import type { Place } from './exact-numbers.js';

/** Values looked at before yielding to other requests. */
const VALUES = 20_000;

/**
 * The number of fields of all objects in a parsed value. A text with more names has one twice in an object, of which
 * the parser kept the last.
 */
export function* countFields(value: unknown): Generator<undefined, number> {
  let fields = 0,
    left = VALUES;
  const waiting: object[] = [];
  if (isObject(value)) waiting.push(value);
  for (let part = waiting.pop(); part; part = waiting.pop()) {
    let looked = 1;
    // Not by Object.values: a list of the values of each object takes several times as long.
    if (Array.isArray(part)) {
      for (const inside of part as unknown[]) if (isObject(inside)) waiting.push(inside);
      looked += part.length;
    } else
      for (const name in part) {
        const inside = (part as Record<string, unknown>)[name];
        if (isObject(inside)) waiting.push(inside);
        fields += 1;
        looked += 1;
      }
    if ((left -= looked) < 0) {
      left = VALUES;
      yield undefined;
    }
  }
  return fields;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** An object or list on the way to a name. */
interface Level {
  /** Undefined for a list. */
  names: Set<string> | undefined;
  /** The last name, or the index in a list. */
  at: string | number;
  /** The next string is a field's name. */
  naming: boolean;
}

/**
 * The names of a valid JSON text that occur again in the same object.
 * @param slice characters after which it yields to other requests
 */
export function* repeatedNames(source: string, slice: number): Generator<undefined, Place[]> {
  const found: Place[] = [];
  const levels: Level[] = [];
  let next = slice;
  const enter = (level: Level, from: number): void => {
    const name = JSON.parse(source.slice(from, endOfString(source, from) + 1)) as string;
    level.naming = false;
    level.at = name;
    if (level.names!.has(name)) found.push(levels.map(({ at }) => at));
    level.names!.add(name);
  };
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
      if (level?.naming) enter(level, i);
      i = end;
    } else if (c === '{') levels.push({ names: new Set(), at: '', naming: true });
    else if (c === '[') levels.push({ names: undefined, at: 0, naming: false });
    else if (c === '}' || c === ']') levels.pop();
    else if (c === ',' && level) {
      if (typeof level.at === 'number' && !level.names) level.at += 1;
      else level.naming = true;
    }
  }
  return found;
}
