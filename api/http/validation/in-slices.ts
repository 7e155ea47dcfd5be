import { setImmediate as others } from 'node:timers/promises';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { problem } from '../errors.js';
import type { FaultEntry } from '../errors.js';
import { check, largeFaultsIn } from './validation.js';

/** Items of a list that are validated before yielding to other requests. */
const ITEMS = 2_000;

interface ListSchema {
  type?: string | readonly string[];
  items?: TSchema;
  uniqueItems?: boolean;
  maxItems?: number;
}

/**
 * Validates a body as `check` does. A long list in it is validated some thousand items at a time, with other requests
 * in between.
 * @throws Problem 422 VALIDATION_FAILED
 */
export async function checkInSlices(schema: TSchema, value: unknown): Promise<void> {
  const long = longListsOf(schema, value);
  if (long.length === 0) {
    check(schema, value, 'body');
    return;
  }
  const body = value as Record<string, unknown[]>;
  // The first items stay: a list may not be empty.
  const rest = { ...body, ...Object.fromEntries(long.map(([name]) => [name, body[name]!.slice(0, ITEMS)])) };
  check(schema, rest, 'body');
  // Defaults are filled in.
  for (const [name, part] of Object.entries(rest)) if (!(name in body)) body[name] = part;
  for (const [name, items] of long) {
    const list = body[name]!;
    for (let from = ITEMS; from < list.length; from += ITEMS) {
      await others();
      const errors = largeFaultsIn(listOf(items), { items: list.slice(from, from + ITEMS) });
      if (errors.length > 0) throw refusal(errors.map((error) => placed(error, name, from)));
    }
  }
}

/** The long lists of an object whose items can be validated one by one. */
function longListsOf(schema: TSchema, value: unknown): [string, TSchema][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const { properties = {} } = schema as { properties?: Record<string, TSchema> };
  return Object.entries(properties).flatMap(([name, property]): [string, TSchema][] => {
    const { type, items, uniqueItems, maxItems } = property as ListSchema;
    const list: unknown = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    return [type].flat().includes('array') && items && !uniqueItems && maxItems === undefined && Array.isArray(list)
      ? list.length > ITEMS
        ? [[name, items]]
        : []
      : [];
  });
}

const lists = new WeakMap<TSchema, TSchema>();
/** A list of these items as a body of its own. */
function listOf(items: TSchema): TSchema {
  let schema = lists.get(items);
  if (!schema) lists.set(items, (schema = Type.Object({ items: Type.Array(items) })));
  return schema;
}

/** An error of a slice, where it is in the body. */
function placed({ path, code, message }: FaultEntry, name: string, from: number): FaultEntry {
  const [, index, ...inside] = path!.split('.');
  const at = [name, Number(index) + from, ...inside].join('.');
  return { path: at, code, message: at + message.slice(path!.length) };
}

const refusal = (errors: readonly FaultEntry[]) =>
  problem('VALIDATION_FAILED', {
    detail: errors
      .slice(0, 3)
      .map((e) => e.message)
      .join('; '),
    errors,
  });
