import type { IncomingMessage } from 'node:http';
import type { TSchema } from 'typebox';
import type { Settings } from '../../../settings.js';
import { RequestBody, bodySchema } from '../route.js';
import type { Route } from '../route.js';

/** The default limit of a body, also the most that anyone can send without a login, except for a session's results. */
const SMALL_BYTES = 64 * 1024;
/** A usual submission is shorter. */
const LONG_BYTES = 1024 * 1024;
/** Whether a body is longer than what anybody may send, or may be. */
export const mayBeLong = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  headers['content-encoding'] !== undefined ||
  Number(headers['content-length'] ?? 0) > LONG_BYTES;

/** An escaped character: `\u00e4`. */
const ESCAPED = 6;
/** For a value's name, quotes, separators and surrounding blanks. */
const AROUND = 64;
/** Characters of a format, which clients do not escape; values of unlisted formats have at most a few hundred. */
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

/** The longest JSON of a value that fits its schema; Infinity: the schema sets no limit. */
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

/** The most bytes of body that a route reads: longer ones can't fit its schema. */
export function largestBody(route: Route, settings: Pick<Settings, 'MAX_BODY_BYTES' | 'MAX_UPLOAD_BYTES'>): number {
  const given = route.body instanceof RequestBody ? route.body : undefined;
  // Only `upload` and `largeJson` contain files and raw data.
  if (given && given.kind !== 'bytes') return settings.MAX_UPLOAD_BYTES;
  if (!route.access.token) return Math.min(SMALL_BYTES, settings.MAX_BODY_BYTES);
  if (given?.options.maxBytes !== undefined) return Math.min(given.options.maxBytes, settings.MAX_BODY_BYTES);
  const schema = bodySchema(route);
  return Math.min(schema ? Math.max(SMALL_BYTES, longestOf(schema)) : Infinity, settings.MAX_BODY_BYTES);
}
