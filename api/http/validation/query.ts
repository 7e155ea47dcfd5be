import type { TSchema } from 'typebox';
import { rangeEndExclusive, rangeStart } from '../conventions/time-range.js';
import { invalidFields, problem } from '../errors.js';
import { RequestBody } from '../route.js';
import type { Route } from '../route.js';
import { suggestion } from './suggestion.js';
import { MAX_FAULTS, check } from './validation.js';

/**
 * Context parameters beside a route's own. A list that takes no participant would otherwise answer for all of them
 * where one was named.
 */
function contextKeys({ path, access: { token } }: Route): string[] {
  const isPortal = token === 'portal' || token === 'anyPortalUser' || token === 'either';
  const hasParticipant = isPortal || path.includes('{participant_id}');
  return ['study_id', ...(hasParticipant ? ['participant_id'] : [])];
}

/** Whether unknown query keys are refused. Callers of callbacks add some; pages read their query themselves. */
export const knowsItsQuery = (route: Pick<Route, 'path' | 'body'>): boolean =>
  route.path.startsWith('/api/') && !(route.body instanceof RequestBody && route.body.kind === 'bytes');

/** The declared keys of a query, checked (422). */
export function checkedQuery(route: Route, search: URLSearchParams): Record<string, unknown> {
  if (knowsItsQuery(route)) refuseUnknownKeys(route.query, search, contextKeys(route));
  const query = declaredQuery(route.query, search);
  if (route.query) check(route.query, query, 'query');
  refuseTurnedRanges(query);
  return query;
}

/** A range that ends before it begins holds nothing: a mistake, not a question. @throws 400 FROM_AFTER_TO */
function refuseTurnedRanges(query: Readonly<Record<string, unknown>>): void {
  for (const [name, from] of Object.entries(query)) {
    const last = name.replace(/(^|_)from$/, '$1to');
    const to = query[last];
    if (last === name || typeof from !== 'string' || typeof to !== 'string' || !from || !to) continue;
    const bothDays = from.length === to.length && from.length === 10;
    // A leap second is an instant to the database alone.
    if (bothDays ? from <= to : !(Date.parse(rangeStart(from)) > Date.parse(rangeEndExclusive(to)))) continue;
    const message = `${name} lies after ${last}`;
    throw problem('RULE_VIOLATED', {
      detail: `${message}.`,
      errors: [{ path: `query.${name}`, code: 'FROM_AFTER_TO', message }],
    });
  }
}

/**
 * Refuses unknown query keys: a misspelt filter would return everything.
 * @param further names that are allowed besides the schema's
 * @throws 422 with `errors[].code` UNKNOWN_PARAMETER for each
 */
function refuseUnknownKeys(schema: TSchema | undefined, search: URLSearchParams, further: readonly string[]): void {
  const known = [...Object.keys(propertiesOf(schema)), ...further];
  const unknown = [...new Set(search.keys())].filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const errors = unknown.slice(0, MAX_FAULTS).map((name) => {
    const path = `query.${name}`;
    const message = `${path} is not a parameter here${suggestion(name, known)}`;
    return { path, code: 'UNKNOWN_PARAMETER', message };
  });
  throw invalidFields(errors);
}

/** A key's value, for a query read without its schema. @throws 422 if it is given more than once */
export function singleValue(search: URLSearchParams, name: string): string | undefined {
  const values = search.getAll(name);
  if (values.length > 1) throw refused(name, 'DUPLICATE', 'is given more than once');
  return values[0];
}

/** The declared keys of a query; a repeated key is refused. */
function declaredQuery(schema: TSchema | undefined, search: URLSearchParams): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const values = search.getAll(name);
    if (values.length === 0) continue;
    if (values.some((v) => v.includes('\0'))) throw refused(name, 'PATTERN', 'has a character that cannot be stored');
    if (property.type === 'array') query[name] = values.flatMap((v) => v.split(','));
    else {
      const value = singleValue(search, name)!;
      query[name] = property['x-any-case'] ? value.toLowerCase() : typed(value, property);
    }
  }
  return query;
}

interface Property {
  type?: unknown;
  'x-any-case'?: true;
  'x-instant'?: true;
}
type Properties = Record<string, Property>;
const propertiesOf = (schema: TSchema | undefined): Properties =>
  (schema as { properties?: Properties } | undefined)?.properties ?? {};

/** Converts query text to its schema's type; other text stays text, which the schema refuses. */
function typed(value: string, { type, 'x-instant': instant }: Property): string | number | boolean {
  if (instant) return value.replace(LOST_PLUS, '$1+');
  if (type === 'boolean') return BOOLEANS.get(value.toLowerCase()) ?? value;
  return (type === 'integer' || type === 'number') && DECIMAL.test(value) ? asNumber(value) : value;
}

/** The plus of an offset that is in the URL as it is: there it means a blank. */
const LOST_PLUS = /(:\d\d(?:\.\d+)?) (?=\d\d(?::?\d\d)?$)/;
/** Notations of booleans: True, FALSE, 1 and 0. */
const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);
/** A JSON number with an optional plus: neither `Infinity` nor `0x10` nor surrounding blanks. */
const DECIMAL = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** A number too large for a double (`1e999`) stays text. */
const asNumber = (text: string): number | string => (Number.isFinite(Number(text)) ? Number(text) : text);

const refused = (name: string, code: string, sentence: string) =>
  problem('VALIDATION_FAILED', {
    detail: `query.${name} ${sentence}`,
    errors: [{ path: `query.${name}`, code, message: `query.${name} ${sentence}` }],
  });
