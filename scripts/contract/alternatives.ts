/** A value of JSON that may be a schema; a document is read as it is. */
export type Json = Record<string, unknown>;
/** One kind of value that a schema allows, with its rules. `any`: everything. */
export type Alternative = Json & { type: string };
/** Follows a reference within its document. */
export type Resolve = (schema: unknown) => unknown;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A resolver of a document's local references. Documents are compared by meaning, not by notation. */
export function resolver(document: Json): Resolve {
  // The same object for the same schema, so that recursion is detected.
  const known = new WeakMap<object, unknown>();
  return (schema) => {
    if (!isObject(schema) || !('$ref' in schema)) return schema;
    if (!known.has(schema)) known.set(schema, follow(document, schema));
    return known.get(schema);
  };
}

function follow(document: Json, schema: Json): unknown {
  let at: unknown = schema;
  for (let steps = 0; isObject(at) && typeof at.$ref === 'string'; steps += 1) {
    if (steps > 100) throw new Error(`${at.$ref} refers to itself`);
    const { $ref, ...beside } = at;
    at = ($ref as string)
      .replace(/^#\//, '')
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((value, part) => (value as Json | undefined)?.[part], document);
    if (at === undefined) throw new Error(`${$ref as string} is not there`);
    // Descriptions beside a reference are no rules.
    const { description: _d, title: _t, summary: _s, examples: _e, default: _v, ...rules } = beside;
    if (Object.keys(rules).length > 0 && isObject(at)) at = { allOf: [at, rules] };
  }
  return at;
}

/**
 * A schema as alternatives of one kind each: type lists, anyOf and oneOf are equivalent, and so are const and enum,
 * nullable and null.
 */
export function alternatives(given: unknown, resolve: Resolve): Alternative[] {
  const schema = resolve(given);
  if (schema === true || schema === undefined) return [{ type: 'any' }];
  if (!isObject(schema)) return [];
  const { anyOf, oneOf, allOf, type, nullable, ...own } = schema;
  const rules = type === undefined ? own : { ...own, type };
  let parts: Json[] = [rules];
  for (const one of (allOf as unknown[] | undefined) ?? [])
    parts = parts.flatMap((part) => alternatives(one, resolve).flatMap((other) => both(part, other)));
  for (const list of [anyOf, oneOf])
    if (Array.isArray(list))
      parts = parts.flatMap((part) =>
        list.flatMap((one) => alternatives(one, resolve)).flatMap((other) => both(part, other)),
      );
  const kinds = parts.flatMap(ofOneKind);
  return nullable === true ? [...kinds, { type: 'null' }] : kinds;
}

/** Normalizes: an integer above 0 is one of at least 1; maps have several notations. */
function ofOneKind(part: Json): Alternative[] {
  const types = part.type === undefined ? [] : [part.type].flat().map(String);
  const values = 'const' in part ? [part.const] : (part.enum as unknown[] | undefined);
  const known = types.length > 0 ? types : values ? [...new Set(values.map(kindOf))] : impliedKinds(part);
  return known.flatMap((type): Alternative[] => {
    const { const: _c, enum: _e, ...rules } = part;
    const own = values?.filter((value) => isOfKind(value, type));
    if (values && own!.length === 0) return [];
    if (type === 'null') return [{ type }];
    return [{ ...withBounds(rules, type), ...asMap(rules), type, ...(own && type !== 'null' && { enum: own }) }];
  });
}
const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const isOfKind = (value: unknown, type: string): boolean =>
  type === 'any' || kindOf(value) === type || (type === 'integer' && Number.isInteger(value));

function impliedKinds(part: Json): string[] {
  if ('properties' in part || 'required' in part || 'additionalProperties' in part) return ['object'];
  if ('items' in part) return ['array'];
  if (['format', 'pattern', 'minLength', 'maxLength'].some((rule) => rule in part)) return ['string'];
  return ['any'];
}

function withBounds(part: Json, type: string): Json {
  const result = { ...part };
  for (const [exclusive, plain, step] of [
    ['exclusiveMinimum', 'minimum', 1],
    ['exclusiveMaximum', 'maximum', -1],
  ] as const) {
    const bound = part[exclusive];
    if (typeof bound === 'number' && type === 'integer') {
      delete result[exclusive];
      result[plain] = bound + step;
    }
  }
  return result;
}

/** Patterns with the same rule become additional properties. */
function asMap({ patternProperties, additionalProperties, properties }: Json): Json {
  if (!isObject(patternProperties)) return {};
  const values = Object.values(patternProperties);
  return {
    patternProperties: undefined,
    additionalProperties: additionalProperties === false || !properties ? values[0] : additionalProperties,
  };
}

/** The intersection of both: empty if the kinds differ. */
function both(one: Json, other: Json): Json[] {
  const types = (part: Json): string[] => (part.type === undefined ? ['any'] : [part.type].flat().map(String));
  const shared = types(one).includes('any')
    ? types(other)
    : types(other).includes('any')
      ? types(one)
      : types(one).filter((type) => types(other).includes(type));
  if (shared.length === 0) return [];
  const merged: Json = { ...one, ...other };
  if (shared[0] === 'any') delete merged.type;
  else merged.type = shared.length === 1 ? shared[0] : shared;
  if (isObject(one.properties) && isObject(other.properties)) {
    const names = new Set([...Object.keys(one.properties), ...Object.keys(other.properties)]);
    merged.properties = Object.fromEntries(
      [...names].map((name) => {
        const [mine, theirs] = [(one.properties as Json)[name], (other.properties as Json)[name]];
        return [name, mine === undefined ? theirs : theirs === undefined ? mine : { allOf: [mine, theirs] }];
      }),
    );
  }
  if (Array.isArray(one.required) || Array.isArray(other.required))
    merged.required = [...new Set([...((one.required as string[]) ?? []), ...((other.required as string[]) ?? [])])];
  return [merged];
}

export { isObject };
