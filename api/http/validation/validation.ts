import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { isDeviceZone, isZone, zoneName } from '../../../workflows/domain/util/dates.js';
import { isVisible } from '../../../workflows/domain/util/visible.js';
import { invalidFields, problem } from '../errors.js';
import type { FaultEntry } from '../errors.js';
import { suggestion } from './suggestion.js';

/** The most errors that an answer names. */
export const MAX_FAULTS = 100;

/** An instant in its most common form. */
const USUAL_INSTANT =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;

/** Neither the calendar nor the database has a year 0: years are 0001 to 9999. */
const hasYear = (value: string): boolean => !value.startsWith('0000');

/** The same for the year in UTC, which may differ by the offset, or by a leap second. */
function hasYearInUtc(value: string): boolean {
  if (!hasYear(value)) return false;
  if (!/^(?:0001-01-01|9999-12-31)/.test(value)) return true;
  const [, hour, minute, second, sign = '+', hours = 0, minutes = 0] =
    /^(\d\d):(\d\d):(\d\d(?:\.\d+)?)(?:z|([+-])(\d\d):?(\d\d)?)$/i.exec(value.slice(11))!;
  const at =
    Number(hour) * 3_600 +
    Number(minute) * 60 +
    Number(second) -
    Number(`${sign}1`) * (Number(hours) * 3_600 + Number(minutes) * 60);
  // The database rounds to microseconds.
  return value.startsWith('0') ? at >= 0 : at < 86_400 - 0.000_000_5;
}

function build(allErrors: boolean): Ajv2020 {
  // JSON numbers such as 1e999 are no doubles: no schema accepts them.
  const ajv = new Ajv2020({
    allErrors,
    useDefaults: true,
    removeAdditional: false,
    strict: false,
    strictNumbers: true,
    // The schemas are the program's own, and the contract's lint checks them: compiling the schema of schemas in each
    // process and thread takes longer than compiling a body's.
    validateSchema: false,
    // Errors have their schema, for suggesting the most similar field.
    verbose: true,
  });
  // The package is CommonJS: under NodeNext its function is the property `default`.
  addFormats.default(ajv, ['date', 'date-time', 'time', 'email', 'uuid', 'uri']);
  ajv.addFormat('time-zone', isZone);
  ajv.addFormat('device-zone', isDeviceZone);
  // A locale of the device's own notation (`en_US@rg=gbzzzz`), or none.
  ajv.addFormat('device-language', (value) => value.length <= 200 && !/\s/.test(value));
  const known = (format: 'date' | 'date-time') =>
    (addFormats.default.get(format) as { validate: (value: string) => boolean }).validate;
  const [anyDate, anyInstant] = [known('date'), known('date-time')];
  const date = (value: string) => anyDate(value) && hasYear(value);
  // The package parses the text and takes ten times as long as this expression; raw trials come by the ten thousand.
  const instant = (value: string) => USUAL_INSTANT.test(value) || (anyInstant(value) && hasYearInUtc(value));
  ajv.addFormat('date', date);
  ajv.addFormat('date-time', instant);
  ajv.addFormat('date-or-date-time', (value: string) => date(value) || instant(value));
  addRewriting(ajv, 'x-instant', inUsualForm);
  addRewriting(ajv, 'x-time-zone', (value) => (isZone(value) ? zoneName(value) : undefined));
  addRewriting(ajv, 'x-nfc', (value) => (PLAIN.test(value) ? undefined : value.normalize('NFC')));
  addRewriting(ajv, 'x-trimmed', (value) => value.trim());
  // Beside a pattern, which tells of blanks already.
  ajv.addKeyword({
    keyword: 'x-visible',
    type: 'string',
    validate: (_schema: unknown, value: string) => isVisible(value) || value.trim() === '',
  });
  return ajv;
}

/** Text that is the same in every normal form. */
const PLAIN = /^[ -~]*$/;

/** Adds a keyword that replaces a text in place, if `rewritten` returns another. */
function addRewriting(ajv: Ajv2020, keyword: string, rewritten: (value: string) => string | undefined): void {
  ajv.addKeyword({
    keyword,
    type: 'string',
    modifying: true,
    errors: false,
    validate: (
      _schema: unknown,
      value: string,
      _parent: unknown,
      parent?: { parentData: Record<string | number, unknown>; parentDataProperty: string | number },
    ) => {
      const text = parent && rewritten(value);
      if (text !== undefined) parent!.parentData[parent!.parentDataProperty] = text;
      return true;
    },
  });
}

/** An instant in any form of its format. */
const INSTANT = /^(\d{4}-\d\d-\d\d)[t\s](\d\d:\d\d:\d\d)(\.\d+)?(?:z|([+-]\d\d)(?::?([0-5]\d))?)$/i;

/** It stays as it was sent: hashes are of what was sent. */
const READ_EVERYWHERE = /^\d{4}-\d\d-\d\d[t ][\d:.]+(?:z|[+-](?:0\d|1[0-5]):?\d\d)$/i;
/**
 * The same instant in a form that JavaScript and PostgreSQL read: offsets have minutes and are less than 16 hours, and
 * the separator is a T. Other text stays: its format refuses it.
 */
function inUsualForm(value: string): string | undefined {
  if (USUAL_INSTANT.test(value) || READ_EVERYWHERE.test(value)) return undefined;
  const [, day, time, fraction = '', hours, minutes = '00'] = INSTANT.exec(value) ?? [];
  if (day === undefined) return undefined;
  if (hours === undefined) return `${day}T${time}${fraction}Z`;
  if (Math.abs(Number(hours)) < 16) return `${day}T${time}${fraction}${hours}:${minutes}`;
  const at = Date.parse(`${day}T${time}Z`) - (Number(hours) * 60 + Math.sign(Number(hours)) * Number(minutes)) * 60_000;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().replace('.000Z', `${fraction}Z`);
}

/** Compiled on first use: a process that serves few routes need not compile all. */
function validators(allErrors: boolean): (schema: TSchema) => ValidateFunction {
  const ajv = build(allErrors);
  const compiled = new WeakMap<TSchema, ValidateFunction>();
  return (schema) => {
    let validate = compiled.get(schema);
    if (!validate) compiled.set(schema, (validate = ajv.compile(withoutNames(schema) as TSchema)));
    return validate;
  };
}
/** A copy without the contract's names: Ajv treats an $id as a unique address. */
function withoutNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNames);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !NAMES.includes(key));
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutNames(item)]));
}
const NAMES = ['$id', 'x-of', 'x-shown'];
const validator = validators(true);
/** Stops at the first error: a large body may have an error in each part. */
const firstFault = validators(false);

export type Where = 'body' | 'query' | 'headers';

/**
 * Validates `value` and fills in defaults in place. Reports all errors at once, up to a hundred.
 * @throws Problem 422 VALIDATION_FAILED with `errors: [{path, code, message}]`
 */
export function check(schema: TSchema, value: unknown, where: Where): void {
  const errors = isLarge(value) ? faultsOfLarge(schema, value, where) : faultsOf(schema, value, where);
  if (errors.length === 0) return;
  throw invalidFields(errors);
}

/**
 * The errors of a value outside of a request's body, such as a row of a file; empty: it is valid. Fills in defaults in
 * place.
 */
export function faultsIn(schema: TSchema, value: unknown): FaultEntry[] {
  return faultsOf(schema, value, 'body');
}

/** The same for a part with many items. */
export function largeFaultsIn(schema: TSchema, value: unknown): FaultEntry[] {
  return faultsOfLarge(schema, value, 'body');
}

function faultsOf(schema: TSchema, value: unknown, where: Where): FaultEntry[] {
  const validate = validator(schema);
  return validate(value) ? [] : faults(validate.errors ?? [], where);
}

/** The same for a body of many parts, in time that does not grow with its errors. */
function faultsOfLarge(schema: TSchema, value: unknown, where: Where): FaultEntry[] {
  const validate = firstFault(schema);
  if (validate(value)) return [];
  const first = faults(validate.errors ?? [], where);
  const inSample = faultsOf(schema, sampleOf(schema, value), where);
  return inSample.length > 0 ? inSample : first;
}

/** Values with fewer parts are validated whole. */
const LARGE = 5_000;
/** The most unknown fields, and list items, that are kept: as many as an answer names errors. */
const MAX_SAMPLES = 100;

/** Whether a parsed body has so many parts that listing all of its errors would block other requests. */
function isLarge(value: unknown): boolean {
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
function sampleOf(schema: TSchema | undefined, value: unknown): unknown {
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

function faults(errors: readonly ErrorObject[], where: Where): FaultEntry[] {
  const seen = new Set<string>();
  const entries: FaultEntry[] = [];
  for (const error of errors) {
    const entry = fault(error, where);
    const key = `${entry.path} ${entry.code}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (entries.push(entry) === MAX_FAULTS) break;
  }
  return entries;
}

function fault(error: ErrorObject, where: Where): FaultEntry {
  const params = error.params as Record<string, unknown>;
  const extra = params.missingProperty ?? params.additionalProperty ?? params.propertyName;
  const parts = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (typeof extra === 'string') parts.push(extra);
  const inside = parts.join('.');
  const path = where === 'body' ? inside || 'body' : `${where === 'query' ? 'query' : 'header'}.${inside}`;
  const { code, sentence } = wording(error, params, parts.at(-1) ?? '');
  return { path, code, message: `${path} ${sentence}` };
}

function wording(
  error: ErrorObject,
  params: Record<string, unknown>,
  name: string,
): { code: string; sentence: string } {
  switch (error.keyword) {
    case 'required':
      return { code: 'REQUIRED', sentence: 'is required' };
    case 'additionalProperties':
      return {
        code: 'UNKNOWN_FIELD',
        sentence: `is not a field here${suggestion(name, propertiesOf(error.parentSchema))}`,
      };
    case 'enum':
      return { code: 'ENUM', sentence: `must be one of ${(params.allowedValues as unknown[]).map(String).join(', ')}` };
    case 'type':
      return { code: 'TYPE', sentence: `must be ${[params.type].flat().map(String).join(' or ')}` };
    case 'format':
      return { code: 'FORMAT', sentence: formatWording(String(params.format)) };
    case 'pattern':
      return patternWording(params.pattern, error);
    case 'x-visible':
      return BLANK;
    case 'minLength':
    case 'minItems':
      return { code: codeOf(error), sentence: leastWording(error, Number(params.limit)) };
    case 'maxLength':
    case 'maxItems':
      return { code: codeOf(error), sentence: `must have at most ${amount(error, Number(params.limit))}` };
    default:
      return { code: codeOf(error), sentence: error.message ?? 'is not valid' };
  }
}

/** The code of a rule by its keyword: `minLength` is MIN_LENGTH. */
const codeOf = ({ keyword }: ErrorObject): string => keyword.replaceAll(/[A-Z]/g, (c) => `_${c}`).toUpperCase();

const amount = ({ keyword }: ErrorObject, limit: number): string =>
  `${limit} ${keyword.endsWith('Length') ? 'character' : 'item'}${limit === 1 ? '' : 's'}`;

const leastWording = (error: ErrorObject, limit: number): string =>
  limit === 1 ? 'must not be empty' : `must have at least ${amount(error, limit)}`;

/** How a value of a format is written, where its name does not say so. */
const WRITTEN: Record<string, string> = {
  date: 'YYYY-MM-DD',
  'date-time': 'YYYY-MM-DDThh:mm:ssZ, or an offset instead of Z',
  'date-or-date-time': 'YYYY-MM-DD, or YYYY-MM-DDThh:mm:ssZ',
  'time-zone': 'an IANA name such as Europe/Berlin',
  'device-zone': 'an IANA name such as Europe/Berlin',
  'device-language': 'a BCP 47 tag such as en-US',
};

const formatWording = (format: string): string =>
  `is not a valid ${format}${WRITTEN[format] === undefined ? '' : ` (${WRITTEN[format]})`}`;

const BLANK = { code: 'BLANK', sentence: 'must not be blank' };
function patternWording(pattern: unknown, { data, parentSchema }: ErrorObject): { code: string; sentence: string } {
  const schema = parentSchema as { minLength?: number; 'x-trimmed'?: boolean } | undefined;
  // An empty text breaks the pattern, too, but its length is the clearer reason.
  if (data === '' && (schema?.minLength ?? 0) > 0) return { code: 'MIN_LENGTH', sentence: 'must not be empty' };
  const blank = pattern === '\\S' || (schema?.['x-trimmed'] === true && !isVisible(data as string));
  return blank ? BLANK : { code: 'PATTERN', sentence: 'has characters that are not allowed here' };
}

const propertiesOf = (schema: unknown): string[] =>
  Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});

/** The body with exactly one of two fields. @throws 422 naming both */
export function exactlyOne<T extends object>(body: T, one: keyof T & string, other: keyof T & string): T {
  if ((body[one] === undefined) !== (body[other] === undefined)) return body;
  const message = `give either ${one} or ${other}`;
  throw problem('VALIDATION_FAILED', {
    detail: message,
    errors: [one, other].map((path) => ({ path, code: 'ONE_OF', message })),
  });
}
