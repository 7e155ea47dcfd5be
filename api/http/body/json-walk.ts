import { endOfString, pastString } from './json-slices.js';

/** The place of a part of a JSON body: names of fields and indexes of lists, from outside. */
export type Place = (string | number)[];

/** An object or list on the way to a part. */
export interface Level {
  array: boolean;
  /** The index in a list; in an object, the offset of the last field's name. */
  at: number;
  /** The next string is a field's name. */
  naming: boolean;
}

/** Called for the names and numbers on the way; `number` returns the offset of the number’s last sign. */
export interface Visitor {
  name?: (levels: readonly Level[], from: number) => void;
  number?: (levels: readonly Level[], from: number) => number;
}

/** The name of a field that begins at an offset. */
export const nameAt = (source: string, from: number): string =>
  JSON.parse(source.slice(from, endOfString(source, from) + 1)) as string;

export const placeOf = (source: string, levels: readonly Level[]): Place =>
  levels.map(({ array, at }) => (array ? at : nameAt(source, at)));

/**
 * Walks through a valid JSON text.
 * @param slice characters after which it yields to other requests
 */
export function* walkJson(source: string, slice: number, visitor: Visitor): Generator<undefined, void> {
  const levels: Level[] = [];
  let next = slice;
  for (let i = 0; i < source.length; i++) {
    const c = source[i]!;
    const level = levels.at(-1);
    if (i > next) {
      next = i + slice;
      yield undefined;
    }
    if (c === '"') {
      const end = yield* pastString(source, i);
      if (level?.naming) {
        level.at = i;
        level.naming = false;
        visitor.name?.(levels, i);
      }
      i = end;
    } else if (c === '{' || c === '[') levels.push({ array: c === '[', at: 0, naming: c === '{' });
    else if (c === '}' || c === ']') levels.pop();
    else if (c === ',' && level) {
      if (level.array) level.at += 1;
      else level.naming = true;
    } else if (visitor.number && (c === '-' || (c >= '0' && c <= '9'))) i = visitor.number(levels, i);
  }
}
