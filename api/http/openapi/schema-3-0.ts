import type { Json } from './components.js';

/** Keywords of an OpenAPI 3.0 schema, besides those handled here. */
const KEPT_KEYWORDS = new Set([
  ...[
    'title',
    'description',
    'default',
    'format',
    'enum',
    'deprecated',
    'readOnly',
    'writeOnly',
    'externalDocs',
    'xml',
  ],
  ...['minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'multipleOf', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties', 'required', 'discriminator', 'example', 'nullable', '$ref'],
]);
const NULL = { type: 'null' };
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isNull = (schema: unknown): boolean => isObject(schema) && [schema.type].flat().join() === NULL.type;

/** The type of a referenced component; undefined: it has no single one. */
export type TypeAt = (reference: string) => string | undefined;

/** Converts a schema of OpenAPI 3.1 (JSON Schema 2020-12) to 3.0.3; inexpressible parts become `x-` fields. */
export function schema30(schema: unknown, typeAt: TypeAt = () => undefined): unknown {
  if (schema === true) return {};
  if (schema === false) return { not: {} };
  if (!isObject(schema)) return schema;
  const { $ref, ...beside } = schema;
  // In 3.0 siblings of a reference are ignored.
  if (typeof $ref === 'string')
    return Object.keys(beside).length === 0 ? { $ref } : { ...(schema30(beside, typeAt) as Json), allOf: [{ $ref }] };
  return ofTypes(schema, withKeywords(schema, typeAt));
}

/** The type of a schema; an enum is a string even if it does not say so. */
export function typeOf({ type, enum: words }: Json): unknown {
  const texts = Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string');
  return type ?? (texts ? 'string' : undefined);
}

/** A list of types is one nullable type, or alternatives. */
function ofTypes(schema: Json, result: Json): Json {
  const type = typeOf(schema);
  const types = type === undefined ? [] : [type].flat().map(String);
  const others = types.filter((one) => one !== 'null');
  const nullable = others.length < types.length || result.nullable === true ? { nullable: true } : {};
  if (others.length === 0) return types.length === 0 ? result : { ...result, enum: [null], nullable: true };
  if (others.length > 1) {
    const { description, default: fallback, example, nullable: _, ...rules } = result;
    return {
      ...defined({ description, default: fallback, example }),
      ...nullable,
      anyOf: others.map((one) => ({ type: one, ...rules, ...itemsOf(one, rules) })),
    };
  }
  // Some generators treat a number without a format as a float.
  const digits = others[0] === 'number' ? { format: 'double' } : {};
  return { type: others[0], ...digits, ...result, ...itemsOf(others[0]!, result), ...nullable };
}
/** An array must define its items. */
const itemsOf = (type: string, rules: Json): Json => (type === 'array' && !('items' in rules) ? { items: {} } : {});
const defined = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

function withKeywords(schema: Json, typeAt: TypeAt): Json {
  const convert = (one: unknown) => schema30(one, typeAt);
  const result: Json = {};
  const maps: unknown[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'type') continue;
    else if (KEPT_KEYWORDS.has(key)) result[key] = value;
    else if (key.startsWith('x-')) result[key] = isObject(value) && '$ref' in value ? value.$ref : value;
    else if (key === 'const') result.enum = [value];
    else if (key === 'examples') result.example = (value as unknown[])[0];
    else if (key === 'exclusiveMinimum' || key === 'exclusiveMaximum') exclusive(result, schema, key);
    else if (key === 'properties')
      result.properties = Object.fromEntries(Object.entries(value as Json).map(([name, one]) => [name, convert(one)]));
    else if (key === 'items' || key === 'not') result[key] = convert(value);
    else if (key === 'additionalProperties') result[key] = typeof value === 'boolean' ? value : convert(value);
    else if (key === 'patternProperties') maps.push(...Object.values(value as Json).map(convert));
    else if (key === 'anyOf' || key === 'oneOf') alternatives(result, key, value as unknown[], typeAt);
    else if (key === 'allOf')
      result.allOf = [...((result.allOf as unknown[]) ?? []), ...(value as unknown[]).map(convert)];
    else if (key === 'prefixItems') result.items = anyOf((value as unknown[]).map(convert));
    else if (key === 'contentEncoding' && value === 'base64') result.format = 'byte';
    else if (key === 'contentMediaType' && value === 'application/octet-stream') result.format = 'binary';
    else result[`x-${key.replace(/^\$/, '')}`] = value;
  }
  // Pattern properties become additional properties, with one of these values.
  if (maps.length > 0)
    result.additionalProperties = anyOf([
      ...maps,
      ...(isObject(result.additionalProperties) ? [result.additionalProperties] : []),
    ]);
  return result;
}

const anyOf = (schemas: unknown[]): unknown => (schemas.length === 1 ? schemas[0] : { anyOf: schemas });

/** In 3.0 the bound is a number, and a flag makes it exclusive. Of both bounds the narrower one counts. */
function exclusive(result: Json, schema: Json, key: 'exclusiveMinimum' | 'exclusiveMaximum'): void {
  const plain = key === 'exclusiveMinimum' ? 'minimum' : 'maximum';
  const [own, other] = [schema[key], schema[plain]];
  if (typeof own !== 'number') {
    result[key] = own;
    return;
  }
  const wider = typeof other === 'number' && (plain === 'minimum' ? other > own : other < own);
  if (wider) return;
  result[plain] = own;
  result[key] = true;
}

/** A null alternative makes the others nullable. */
function alternatives(result: Json, key: 'anyOf' | 'oneOf', input: unknown[], typeAt: TypeAt): void {
  const others = input.filter((one) => !isNull(one)).map((one) => schema30(one, typeAt));
  if (others.length < input.length) result.nullable = true;
  const [only] = others as Json[];
  if (only === undefined) result.enum = [null];
  else if (others.length > 1) result[key] = others;
  else if (typeof only.$ref !== 'string') for (const [name, value] of Object.entries(only)) result[name] ??= value;
  else {
    // `nullable` requires a type beside it.
    const type = typeAt(only.$ref);
    if (type !== undefined && result.nullable) result.type = type;
    result.allOf = [...((result.allOf as unknown[]) ?? []), only];
  }
}
