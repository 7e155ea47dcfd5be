import { setImmediate as others } from 'node:timers/promises';

/** Characters processed before yielding to other requests. */
export const SLICE = 128 * 1024;

/**
 * The offset of the closing quote of a string that begins at `from`; -1: none. Of a string with many escapes, only a
 * part is searched: a negative offset below -1 encodes the place at which `restOfString` continues.
 */
export function partOfString(source: string, from: number): number {
  const end = source.indexOf('"', from + 1);
  return end < 0 || source.charCodeAt(end - 1) !== BACKSLASH ? end : restOfString(source, from);
}

const BACKSLASH = 92,
  QUOTE = 34;

/** @param from the offset before a letter or an escape; negative as `partOfString` tells it */
export function restOfString(source: string, from: number): number {
  const begin = Math.abs(from) + 1;
  const most = begin + SLICE;
  for (let i = begin; i < source.length; i += 1) {
    const c = source.charCodeAt(i);
    if (c === QUOTE) return i;
    if (c === BACKSLASH) i += 1;
    if (i >= most) return -i;
  }
  return -1;
}

/** The offset of the closing quote of a string that begins at `from`; -1: none. */
export function endOfString(source: string, from: number): number {
  let end = partOfString(source, from);
  while (end < -1) end = restOfString(source, end);
  return end;
}

/** `endOfString` that yields to other requests. The loops over whole bodies spell it out: they meet each string. */
export function* pastString(source: string, from: number): Generator<undefined, number> {
  let end = partOfString(source, from);
  while (end < -1) {
    yield undefined;
    end = restOfString(source, end);
  }
  return end;
}

/**
 * The first offset from `to` on that is not within an escape of a string.
 * @param from the beginning of a letter or an escape
 */
function afterEscape(source: string, from: number, to: number): number {
  // An escape of a character's number has six letters.
  for (let begin = Math.max(from, to - 5); begin < to; begin++) {
    let before = begin;
    while (before > from && source.charCodeAt(before - 1) === 92) before--;
    const isEscape = source.charCodeAt(begin) === 92 && (begin - before) % 2 === 0;
    if (!isEscape) continue;
    const end = begin + (source[begin + 1] === 'u' ? 6 : 2);
    if (end > to) return end;
  }
  return to;
}

const isBlank = (c: number): boolean => c === 32 || c === 9 || c === 10 || c === 13;

/**
 * Parses a long JSON text like `JSON.parse`, piece by piece, and yields to other requests in between: objects and lists
 * longer than a slice are split.
 * @throws SyntaxError
 */
export async function parseInSlices(source: string, slice = SLICE): Promise<unknown> {
  let since = 0;
  const parsed = async (text: string): Promise<unknown> => {
    since += text.length;
    if (since > slice) {
      since = 0;
      await others();
    }
    return JSON.parse(text) as unknown;
  };

  /** A string, in parts if it is long: escapes take the parser long. */
  const parsedText = async (from: number, to: number): Promise<unknown> => {
    if (to - from <= slice) return parsed(source.slice(from, to));
    if (to - from < 2 || source[to - 1] !== '"') throw new SyntaxError('a string has no end');
    const pieces: unknown[] = [];
    for (let at = from + 1; at < to - 1;) {
      const end = Math.min(to - 1, afterEscape(source, at, at + slice));
      pieces.push(await parsed(`"${source.slice(at, end)}"`));
      at = end;
    }
    return pieces.join('');
  };

  /** The text without surrounding blanks. */
  const trimmed = (from: number, to: number): [number, number] => {
    let [first, last] = [from, to];
    while (first < last && isBlank(source.charCodeAt(first))) first++;
    while (last > first && isBlank(source.charCodeAt(last - 1))) last--;
    return [first, last];
  };

  /** The ends of the elements between commas of an object or list with this content; the last one is `to`. */
  async function* ends(from: number, to: number): AsyncGenerator<number> {
    let depth = 0,
      scanned = from;
    for (let i = from; i < to; i++) {
      const c = source.charCodeAt(i);
      if (c === 34) {
        i = partOfString(source, i);
        while (i < -1) {
          await others();
          i = restOfString(source, i);
        }
        if (i < 0 || i >= to) throw new SyntaxError('a string has no end');
      } else if (c === 123 || c === 91) depth++;
      else if (c === 125 || c === 93) {
        if (--depth < 0) throw new SyntaxError('a bracket closes nothing');
      } else if (c === 44 && depth === 0) yield i;
      if (i - scanned > slice) {
        scanned = i;
        await others();
      }
    }
    if (depth !== 0) throw new SyntaxError('a bracket is not closed');
    yield to;
  }

  async function valueOf(start: number, end: number): Promise<unknown> {
    const [from, to] = trimmed(start, end);
    const open = source[from];
    if (open === '"') return parsedText(from, to);
    if (to - from <= slice || (open !== '{' && open !== '[')) return parsed(source.slice(from, to));
    const close = open === '{' ? '}' : ']';
    if (source[to - 1] !== close) throw new SyntaxError('a bracket is not closed');
    const list: unknown[] = [];
    const object: Record<string, unknown> = {};
    const put = (key: string, value: unknown) => {
      // As in JSON.parse: a name that would set the prototype is an ordinary field.
      if (key === '__proto__')
        Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      else object[key] = value;
    };
    const take = async (first: number, last: number) => {
      const some = await parsed(`${open}${source.slice(first, last)}${close}`);
      if (open === '[') for (const one of some as unknown[]) list.push(one);
      else for (const [key, one] of Object.entries(some as object)) put(key, one);
    };
    // The unparsed rest begins here; up to `small`, no part of it is longer than a slice.
    let pending = from + 1,
      small = pending,
      parts = 0;
    for await (const at of ends(from + 1, to - 1)) {
      const begin = parts === 0 ? from + 1 : small + 1;
      const [first, last] = trimmed(begin, at);
      if (first === last) {
        if (parts > 0 || at < to - 1) throw new SyntaxError('a value is missing');
        // It contains only blanks.
        break;
      }
      if (at - begin > slice) {
        if (parts > 0 && pending < small) await take(pending, small);
        if (open === '[') list.push(await valueOf(first, last));
        else {
          const quote = source[first] === '"' ? endOfString(source, first) : -1;
          let colon = quote + 1;
          while (quote > 0 && isBlank(source.charCodeAt(colon))) colon++;
          if (quote < 0 || source[colon] !== ':') throw new SyntaxError('a field has no name');
          put((await parsedText(first, quote + 1)) as string, await valueOf(colon + 1, last));
        }
        pending = at + 1;
      } else if (at - pending > slice) {
        await take(pending, at);
        pending = at + 1;
      }
      small = at;
      parts += 1;
    }
    if (pending < small) await take(pending, small);
    return open === '[' ? list : object;
  }
  return valueOf(0, source.length);
}
