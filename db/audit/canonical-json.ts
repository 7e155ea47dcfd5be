/** Characters that JSON writes unescaped. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Quoted member names: the same few recur. */
const names = new Map<string, string>();
const MAX_NAMES = 2_000;

/**
 * JSON in the canonical form of RFC 8785: keys sorted by UTF-16 code units, no spaces, numbers and strings as
 * ECMAScript writes them. The same content always hashes to the same bytes.
 * @throws TypeError for what JSON cannot hold (NaN, functions, bigint).
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`not a JSON number: ${value}`);
    return String(value);
  }
  if (typeof value !== 'object') throw new TypeError(`not a JSON value: ${typeof value}`);
  return Array.isArray(value) ? ofArray(value) : ofObject(value as Record<string, unknown>);
}

// Appending takes half the time of joining a list. Hashing is most of the cost of a decision.
function ofArray(items: readonly unknown[]): string {
  let text = '';
  for (const item of items) text += (text === '' ? '[' : ',') + canonicalJson(item === undefined ? null : item);
  return text === '' ? '[]' : `${text}]`;
}

function ofObject(record: Record<string, unknown>): string {
  const keys = inOrder(Object.keys(record));
  let text = '';
  for (const key of keys) {
    const member = record[key];
    if (member !== undefined) text += (text === '' ? '{' : ',') + nameOf(key) + canonicalJson(member);
  }
  return text === '' ? '{}' : `${text}}`;
}

/** Up to so many names are put in order where they are: the engine's own sort leaves copies of them as garbage. */
const FEW = 32;

function inOrder(keys: string[]): string[] {
  if (keys.length > FEW) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i]!;
    let at = i;
    for (; at > 0 && keys[at - 1]! > key; at--) keys[at] = keys[at - 1]!;
    if (at < i) keys[at] = key;
  }
  return keys;
}

function nameOf(key: string): string {
  let name = names.get(key);
  if (name === undefined) {
    name = `${JSON.stringify(key)}:`;
    if (names.size < MAX_NAMES) names.set(key, name);
  }
  return name;
}

interface Level {
  value: object;
  /** Undefined for a list. */
  keys: readonly string[] | undefined;
  at: number;
}

/** `canonicalJson` of a long value, which yields after so many characters: others are served in between. */
export function* canonicalJsonInSlices(value: unknown, slice: number): Generator<undefined, string> {
  const levels: Level[] = [];
  let text = '',
    since = 0;
  const enter = (part: object) => {
    const keys = Array.isArray(part) ? undefined : Object.keys(part).sort();
    text += keys ? '{' : '[';
    levels.push({ value: part, keys, at: 0 });
  };
  const write = (part: unknown) => {
    if (typeof part === 'object' && part !== null) enter(part);
    else text += canonicalJson(part);
  };
  write(value);
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    if (level.at >= (level.keys ?? (level.value as unknown[])).length) {
      text += level.keys ? '}' : ']';
      levels.pop();
      continue;
    }
    const key = level.keys?.[level.at];
    if (level.at > 0) text += ',';
    if (key !== undefined) text += nameOf(key);
    const part: unknown = (level.value as Record<string | number, unknown>)[key ?? level.at];
    level.at += 1;
    write(part);
    if (text.length - since > slice) {
      since = text.length;
      yield undefined;
    }
  }
  return text;
}
