import { isDeepStrictEqual } from 'node:util';

/** A path at which desired and current value differ; `null`: missing. */
export interface Difference {
  path: string;
  from: unknown;
  to: unknown;
}

/** The differences of two JSON values, by path (`modules.0.settings.trials`), in the order of the desired one. */
export function differences(from: unknown, to: unknown, path = ''): Difference[] {
  if (isDeepStrictEqual(from, to)) return [];
  const inner = (key: string) => (path === '' ? key : `${path}.${key}`);
  if (Array.isArray(from) && Array.isArray(to)) {
    return Array.from({ length: Math.max(from.length, to.length) }, (_, i) =>
      differences(from[i] ?? null, to[i] ?? null, inner(String(i))),
    ).flat();
  }
  if (isObject(from) && isObject(to)) {
    return [...new Set([...Object.keys(to), ...Object.keys(from)])].flatMap((key) =>
      differences(from[key] ?? null, to[key] ?? null, inner(key)),
    );
  }
  return [{ path, from: from ?? null, to: to ?? null }];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
