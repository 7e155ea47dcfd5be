/** Values checked before yielding to other requests. */
const VALUES = 20_000;

/** The names and indexes that lead to a part of a value. */
export type Path = readonly (string | number)[];

/** A part of a parsed body that no column can store. */
export interface Unstorable {
  path: Path;
  code: 'PATTERN' | 'NOT_FINITE';
  sentence: string;
}

/** An object or list on the way to the part that is checked. */
interface Level {
  value: object;
  /** Undefined for a list. */
  names: readonly string[] | undefined;
  at: number;
}

/**
 * The first part of a parsed value that cannot be stored, with other requests in between if it is long.
 * @param turn values left until the next yield; several walks share it
 */
export function* unstorablePart(value: unknown, turn: { left: number }): Generator<undefined, Unstorable | undefined> {
  const levels: Level[] = [];
  const found = (fault: Omit<Unstorable, 'path'>): Unstorable => ({
    ...fault,
    path: levels.map(({ names, at }) => (names ? names[at]! : at)),
  });
  const enter = (part: object) => {
    levels.push({ value: part, names: Array.isArray(part) ? undefined : Object.keys(part), at: -1 });
  };
  const alone = faultOf(value);
  if (alone) return found(alone);
  if (typeof value === 'object' && value !== null) enter(value);
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    level.at += 1;
    if (level.at >= (level.names ?? (level.value as unknown[])).length) {
      levels.pop();
      continue;
    }
    if ((turn.left -= 1) < 0) {
      turn.left = VALUES;
      yield undefined;
    }
    const name = level.names?.[level.at];
    const bad = name === undefined ? undefined : faultOfName(name);
    if (bad) return found(bad);
    const part: unknown = (level.value as Record<string | number, unknown>)[name ?? level.at];
    const fault = faultOf(part);
    if (fault) return found(fault);
    if (typeof part === 'object' && part !== null) enter(part);
  }
  return undefined;
}

const CHARACTER = { code: 'PATTERN', sentence: 'has a character that cannot be stored' } as const;
/** UTF-8, and so the database, cannot represent a lone surrogate; PostgreSQL has no NUL. */
const hasBadCharacter = (text: string): boolean => text.includes('\0') || !text.isWellFormed();

function faultOf(value: unknown): Omit<Unstorable, 'path'> | undefined {
  if (typeof value === 'string') return hasBadCharacter(value) ? CHARACTER : undefined;
  // JSON's grammar has no largest number; serialized again it would be null.
  return typeof value === 'number' && !Number.isFinite(value)
    ? { code: 'NOT_FINITE', sentence: 'is a number too large to be stored' }
    : undefined;
}

function faultOfName(name: string): Omit<Unstorable, 'path'> | undefined {
  if (name === '__proto__') return { code: 'PATTERN', sentence: 'is not a name for a field' };
  return hasBadCharacter(name) ? CHARACTER : undefined;
}
