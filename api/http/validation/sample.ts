import type { TSchema } from 'typebox';

/** Values with fewer parts are validated whole. */
const LARGE = 5_000;
/** The most unknown fields, and list items, that are kept: as many as an answer names errors. */
const MAX_SAMPLES = 100;

/** Whether a parsed body has so many parts that listing all of its errors would block other requests. */
export function isLarge(value: unknown): boolean {
  let left = LARGE;
  const look = (part: unknown): boolean => {
    if ((left -= 1) < 0) return true;
    // A list is not copied for this: it may have a million numbers.
    if (Array.isArray(part)) return part.some(look);
    return typeof part === 'object' && part !== null && Object.values(part).some(look);
  };
  return look(value);
}

/**
 * A small part of a large invalid value, for naming its errors: every known field, the first hundred unknown ones, and
 * the first hundred items of a list, or one more than allowed.
 */
export function sampleOf(schema: TSchema | undefined, value: unknown): unknown {
  const {
    properties = {},
    items,
    maxItems = 0,
  } = (schema ?? {}) as {
    properties?: Record<string, TSchema>;
    items?: TSchema;
    maxItems?: number;
  };
  if (Array.isArray(value)) {
    const most = Math.max(MAX_SAMPLES, Math.min(maxItems + 1, value.length));
    return value.slice(0, most).map((item, i) => (i < MAX_SAMPLES ? sampleOf(items, item) : item));
  }
  if (typeof value !== 'object' || value === null) return value;
  const sample: Record<string, unknown> = {};
  let unknown = 0;
  for (const [name, part] of Object.entries(value)) {
    if (!(name in properties) && (unknown += 1) > MAX_SAMPLES) continue;
    sample[name] = sampleOf(properties[name], part);
  }
  return sample;
}
