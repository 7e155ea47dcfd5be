import type { TSchema } from 'typebox';
import type { Settings } from '../../../settings.js';
import { RequestBody, bodySchema } from '../route.js';
import type { Route } from '../route.js';

/** Every body may be so long, and none that anybody may send without a login is longer, but for a session's results. */
const SMALL_BYTES = 64 * 1024;
/** A letter that is escaped: `\u00e4`. */
const ESCAPED = 6;
/** Of a value's name, its quotes, its separators and the blanks around it. */
const AROUND = 64;
/** Letters of a format, which nobody escapes; of those that are not named here no value has more than some hundred. */
const UUID_LETTERS = 36;
const OTHER_FORMAT_BYTES = 1_000;

interface Parts {
  type?: string | string[];
  properties?: Record<string, TSchema>;
  additionalProperties?: boolean | TSchema;
  items?: TSchema;
  maxItems?: number;
  maxLength?: number;
  enum?: unknown[];
  const?: unknown;
  anyOf?: TSchema[];
  format?: string;
}

/** How long the JSON of a value can be that fits its schema; Infinity: the schema does not bound it. */
function longest(schema: TSchema): number {
  const { type, properties, additionalProperties, items, maxItems, maxLength, anyOf, format, ...rest } =
    schema as Parts;
  if (anyOf) return Math.max(...anyOf.map(longest));
  if (rest.const !== undefined || rest.enum) return JSON.stringify(rest.const ?? rest.enum).length + AROUND;
  const types = [type ?? 'any'].flat();
  if (types.some((one) => !['string', 'object', 'array', 'boolean', 'integer', 'number', 'null'].includes(one)))
    return Infinity;
  let most = AROUND;
  if (types.includes('string')) most = Math.max(most, longestText(format, maxLength));
  if (types.includes('array'))
    most = Math.max(most, items && maxItems !== undefined ? maxItems * (longest(items) + AROUND) : Infinity);
  if (types.includes('object'))
    most = Math.max(
      most,
      properties && additionalProperties === false
        ? Object.entries(properties).reduce((sum, [name, part]) => sum + name.length + AROUND + longest(part), AROUND)
        : Infinity,
    );
  return most;
}

function longestText(format: string | undefined, maxLength = Infinity): number {
  if (format === 'uuid') return UUID_LETTERS + AROUND;
  return format ? OTHER_FORMAT_BYTES : maxLength * 2 * ESCAPED + AROUND;
}

const known = new WeakMap<TSchema, number>();
function longestOf(schema: TSchema): number {
  let most = known.get(schema);
  if (most === undefined) known.set(schema, (most = longest(schema)));
  return most;
}

/** How many bytes of body a route takes: what does not fit its schema in any way is not read to its end. */
export function largestBody(route: Route, settings: Pick<Settings, 'MAX_BODY_BYTES' | 'MAX_UPLOAD_BYTES'>): number {
  const given = route.body instanceof RequestBody ? route.body : undefined;
  // Only `upload` and `largeJson` carry files and raw data.
  if (given && given.kind !== 'bytes') return settings.MAX_UPLOAD_BYTES;
  if (!route.access.token) return Math.min(SMALL_BYTES, settings.MAX_BODY_BYTES);
  if (given?.options.maxBytes !== undefined) return Math.min(given.options.maxBytes, settings.MAX_BODY_BYTES);
  const schema = bodySchema(route);
  return Math.min(schema ? Math.max(SMALL_BYTES, longestOf(schema)) : Infinity, settings.MAX_BODY_BYTES);
}
