import { pastString } from './json-slices.js';
import { placeOf, walkJson } from './json-walk.js';
import type { Place } from './json-walk.js';

/** Stands for a part that was cut out. */
const CUT = '0';

/** A text whose parts of greater depth are cut out, and where `CUT` stands for them. */
export interface ShallowText {
  source: string;
  cuts: ReadonlySet<number>;
}

/**
 * A JSON text without its objects and lists that are nested deeper. What is not JSON stays: a parser refuses it.
 * @param slice characters after which it yields to other requests
 */
export function* withoutDeepParts(source: string, depth: number, slice: number): Generator<undefined, ShallowText> {
  const pieces: string[] = [];
  const cuts = new Set<number>();
  let level = 0,
    from = 0,
    kept = 0,
    length = 0,
    next = slice;
  for (let i = 0; i < source.length; i++) {
    const c = source.charCodeAt(i);
    if (i > next) {
      next = i + slice;
      yield undefined;
    }
    if (c === 34) {
      i = yield* pastString(source, i);
      if (i < 0) break;
    } else if (c === 123 || c === 91) {
      if (++level === depth + 1) from = i;
    } else if ((c === 125 || c === 93) && level-- === depth + 1) {
      pieces.push(source.slice(kept, from), CUT);
      length += from - kept + CUT.length;
      cuts.add(length - CUT.length);
      kept = i + 1;
    }
  }
  pieces.push(source.slice(kept));
  return { source: pieces.join(''), cuts };
}

/** The places of the parts that were cut out of a text, which is valid JSON without them. */
export function* deepPlaces({ source, cuts }: ShallowText, slice: number): Generator<undefined, Place[]> {
  const found: Place[] = [];
  yield* walkJson(source, slice, {
    number: (levels, from) => {
      if (cuts.has(from)) found.push(placeOf(source, levels));
      return from;
    },
  });
  return found;
}
