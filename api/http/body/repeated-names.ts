import { nameAt, placeOf, walkJson } from './json-walk.js';
import type { Level, Place } from './json-walk.js';

/** Values checked before yielding to other requests. */
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

/**
 * The places of the names of a valid JSON text that occur again in the same object.
 * @param slice characters after which it yields to other requests
 */
export function* repeatedNames(source: string, slice: number): Generator<undefined, Place[]> {
  const found: Place[] = [];
  // Weak: the names of an object that was left are no longer needed, and a body may have a million objects.
  const namesOf = new WeakMap<Level, Set<string>>();
  yield* walkJson(source, slice, {
    name: (levels, from) => {
      const level = levels.at(-1)!;
      const name = nameAt(source, from);
      const names = namesOf.get(level) ?? new Set();
      if (names.has(name)) found.push(placeOf(source, levels));
      namesOf.set(level, names.add(name));
    },
  });
  return found;
}
