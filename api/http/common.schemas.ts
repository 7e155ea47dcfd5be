import Type from 'typebox';
import type { Static, TObject, TProperties, TSchema } from 'typebox';
import { LANGUAGE, MARKS } from '../../workflows/domain/capture/participant.js';

export { Type };
export type { Static, TSchema };

export const Uuid = Type.String({ format: 'uuid' });
/** A calendar date, YYYY-MM-DD. */
export const IsoDate = Type.String({ format: 'date' });
/** An instant; answers are UTC with Z. `x-instant`: see api/http/validation/validation.ts. */
export const Instant = Type.String({ format: 'date-time', 'x-instant': true });
/** An instant or a calendar date, as the bound of a list: see api/http/conventions/time-range.ts. */
export const Moment = Type.Unsafe<string>({ type: 'string', format: 'date-or-date-time', 'x-instant': true });
/** `x-parameter`: the name of a query parameter that the contract defines once. */
export const since = {
  ...Moment,
  description: 'at or after this instant; a date: from its beginning (UTC)',
  'x-parameter': 'Since',
};
export const before = {
  ...Moment,
  description: 'before this instant; a date: to its end (UTC)',
  'x-parameter': 'Before',
};
/** An IANA time zone that this runtime knows. */
export const TimeZone = Type.String({ format: 'time-zone', maxLength: 50, 'x-time-zone': true });
export const Email = Type.String({ format: 'email', maxLength: 320 });
/** A BCP 47 tag; `en_US`, as many systems write it, means `en-US`. */
export const Language = Type.String({ pattern: LANGUAGE, maxLength: 35 });
const CONTROLS = '\\x00-\\x1f\\x7f-\\x9f';
/** No control characters. */
const LINE = `[^${CONTROLS}]*`;
/** With something to see: no blank, and no sign without width. */
const VISIBLE = '(?=.*[^\\s\\xad\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2069])';
/**
 * A code chosen by users: text without control characters, surrounding blanks, or marks that make two codes look alike.
 * `x-nfc`: composed and decomposed letters are the same (api/http/validation/validation.ts).
 */
export const Code = Type.String({
  minLength: 1,
  maxLength: 64,
  // Without joiners there is something to see.
  pattern: `^(?!\\s)(?=.*[^\\s\\u200c\\u200d])[^${CONTROLS}${MARKS}]*(?<!\\s)$`,
  'x-nfc': true,
});
/** A name chosen by users: one line with something to see; blanks around it are cut off. */
export const nameText = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: `^${VISIBLE}${LINE}$`, 'x-nfc': true, 'x-trimmed': true });
/**
 * The id of another system: one line without marks that nobody sees, by which it would match no record. Composed and
 * decomposed letters are the same.
 */
export const externalId = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: `^[^${CONTROLS}${MARKS}]*$`, 'x-nfc': true });
/** The unique name of an event of a capture system; blanks around it come from copying, and are cut off. */
export const EventName = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', 'x-trimmed': true });
export const text = (maxLength: number, minLength = 0) => Type.String({ minLength, maxLength });
/** A code that somebody looks for. */
export const SoughtCode = Type.String({ minLength: 1, maxLength: 64, 'x-nfc': true });
/** The reason of a permanently recorded act: not blank, and with something to see. */
export const Reason = Type.String({ minLength: 1, maxLength: 2_000, pattern: '\\S', 'x-visible': true });
/**
 * Names a schema: the contract defines it once, under `components.schemas`, and references it elsewhere. Each name is
 * used once (api/http/openapi/components.ts refuses another schema under it).
 */
export function named<S extends TSchema>(name: string, schema: S): S {
  // TypeBox keeps its own properties non-enumerable.
  return Object.create(Object.getPrototypeOf(schema) as object, {
    ...Object.getOwnPropertyDescriptors(schema),
    $id: { value: name, enumerable: true, configurable: true, writable: true },
  }) as S;
}
/** The schema with its own description at one place of use; the contract still references its definition. */
export function about<S extends TSchema>(schema: S, description: string): S {
  return { ...derived(schema), description };
}
/** A copy of a schema to be changed; a named one references its definition in `x-of`. */
function derived<S extends TSchema>(schema: S): S {
  const { $id, ...rest } = schema as S & { $id?: string };
  return ($id === undefined ? schema : { ...rest, 'x-of': schema }) as S;
}

/** Any JSON object. */
export const Json = named('JsonObject', Type.Record(Type.String(), Type.Unknown()));
/** Texts by name. */
export const TextMap = named('TextMap', Type.Record(Type.String(), Type.String()));
/** Numbers by name. */
export const NumberMap = named('NumberMap', Type.Record(Type.String(), Type.Number()));

/** For a record that names persons: a full import's claims, unverified by this service. */
export const importClaims = {
  imported: Type.Boolean({ description: 'it came with a full import' }),
  imported_by: nullable(Uuid),
  original_users: nullable(about(TextMap, 'whom the imported document names, field by field')),
};
/** One of some words. */
export const oneOf = <const T extends readonly string[]>(...values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] });

/** The schema or null, written as one type list so that an error names the value's rule and not both branches. */
export function nullable<S extends TSchema>(schema: S) {
  const plain = schema as unknown as { type?: string; enum?: unknown[] };
  if (plain.type === undefined) return Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }] });
  return Type.Unsafe<Static<S> | null>({
    ...derived(schema),
    type: [plain.type, 'null'],
    ...(plain.enum && { enum: [...plain.enum, null] }),
  });
}

/** A body: unknown fields are refused. */
export const body = <P extends TProperties>(
  properties: P,
  options: { minProperties?: number; description?: string } = {},
): TObject<P> => Type.Object(properties, { additionalProperties: false, ...options });

/** A record of answers under a name (see `named`). */
export const record = <P extends TProperties>(name: string, properties: P): TObject<P> =>
  Type.Object(properties, { $id: name });
/** A body under a name (see `named`). */
export const input = <P extends TProperties>(name: string, properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false, $id: name });

/** A record that extends another one: in the contract all of that one and these fields. */
export const extended = <B extends TProperties, P extends TProperties>(name: string, base: TObject<B>, more: P) =>
  Type.Object({ ...base.properties, ...more }, { $id: name, 'x-shown': { allOf: [base, Type.Object(more)] } });

/**
 * Records distinguished by one field: in the contract a `oneOf` with a `discriminator`, which client generators
 * support.
 * @param branches a named record for each value of the field
 */
export function toldApartBy<const B extends Record<string, TSchema>>(name: string, field: string, branches: B) {
  const named = Object.entries(branches) as [string, TSchema & { $id?: string }][];
  const mapping = Object.fromEntries(named.map(([word, { $id }]) => [word, `#/components/schemas/${$id}`]));
  const alternatives = named.map(([, schema]) => schema);
  return Type.Unsafe<Static<B[keyof B]>>({
    anyOf: alternatives,
    $id: name,
    'x-shown': { oneOf: alternatives, discriminator: { propertyName: field, mapping } },
  });
}

/** All fields of a body as optional, for PATCH. An empty PATCH is allowed and changes nothing. */
export const partial = <P extends TProperties>(object: TObject<P>) =>
  Type.Partial(object, { additionalProperties: false });

/** Paging of every list. */
export const paging = {
  skip: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      default: 0,
      description: 'how many to leave out',
      'x-parameter': 'Skip',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'how many at most', 'x-parameter': 'Limit' }),
  ),
};

/** The query of a list with paging only. */
export const Paged = Type.Object({ ...paging });
/** The page of a list that is short enough to be read whole. */
export const pageOf = <T>(
  all: readonly T[],
  { skip = 0, limit = 50 }: { skip?: number | undefined; limit?: number | undefined },
): { items: T[]; total: number } => ({ items: all.slice(skip, skip + limit), total: all.length });

/** An answer's field that the specification does not list; `x-extension` marks it in the contract. */
export const extension = <const S extends TSchema>(schema: S, what: string): S => ({
  ...derived(schema),
  description: `${what} (extension)`,
  'x-extension': true,
});

/** For answers to changes that affect schedules. */
export const earlierOverrides = {
  moved_by_earlier_override: Type.Optional(
    Type.Integer({
      description:
        'participants whose visits all move: an override with `regenerate_schedule: false` had left them behind; ' +
        'absent if none',
    }),
  ),
};

/** `sort=field` or `sort=-field`. */
export const sorting = <const F extends readonly string[]>(...fields: F) =>
  Type.Optional(
    Type.Unsafe<F[number] | `-${F[number]}`>({
      type: 'string',
      enum: fields.flatMap((f) => [f, `-${f}`]),
      description: '`field` or `-field`',
    }),
  );

/** `{items, total}`; if the items have a name, the page has one too. */
export const listOf = <S extends TSchema>(item: S) =>
  Type.Object({ items: Type.Array(item), total: Type.Integer() }, pageName(item));
/** The name of a page of such items. */
export const pageName = (item: TSchema): { $id?: string } => {
  const { $id } = item as { $id?: string };
  return $id === undefined ? {} : { $id: `${$id}Page` };
};

/** A remark that refuses nothing. */
export const Remark = record('Remark', { code: Type.String(), message: Type.String() });
/** The status of background work. */
export const WorkStatus = named('WorkStatus', oneOf('pending', 'running', 'completed', 'failed'));
/** Rows as stored. */
export const Rows = named('Rows', Type.Array(Json));
export const Fault = record('Fault', {
  path: Type.Optional(Type.String()),
  row: Type.Optional(Type.Integer()),
  code: Type.String(),
  message: Type.String(),
});
/** The body of every error. */
export const ErrorBody = record('Problem', {
  detail: Type.String(),
  code: Type.Optional(Type.String({ description: 'stable, upper case' })),
  errors: Type.Optional(Type.Array(Fault)),
  warnings: Type.Optional(Type.Array(Type.Unknown())),
  request_id: Type.Optional(Type.String()),
});
