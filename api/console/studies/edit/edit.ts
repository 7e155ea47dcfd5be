import { parseJson } from '../../../http/body/json.js';
import { Problem } from '../../../http/errors.js';
import { etagOf } from '../../../http/conventions/etag.js';

/** The fields of a form, as texts; an unticked checkbox is an empty one. */
export type Texts = Record<string, string>;

/** A field that another user changed since the form was drawn. */
export interface Changed {
  name: string;
  from: string;
  to: string;
}

/** A form of a record: displayed values, initial values, and the result of sending it. */
export interface Edit {
  values: Texts;
  /** The record's values when the form was drawn. */
  seen: Texts;
  version: string;
  changed: Changed[];
  fault?: Problem | undefined;
}

/** The input for drawing a refused form again. */
export interface RefusedForm {
  form: URLSearchParams;
  fault: Problem;
}

/**
 * A form of the stored values. A refused one keeps the typed values and its original version: only seen values are
 * overwritten. After a stale version it shows the other user's changes; untouched fields get the new values.
 */
export function editOf(record: object | undefined, now: Texts, sent?: RefusedForm): Edit {
  const version = record ? (etagOf(record) ?? '') : '';
  if (!sent) return { values: now, seen: now, version, changed: [] };
  const { form, fault } = sent;
  const typed = Object.fromEntries(Object.keys(now).map((name) => [name, typedValue(form, name)]));
  const seen = seenIn(form) ?? now;
  if (fault.code !== 'STALE')
    return { values: typed, seen, version: form.get('version') ?? version, changed: [], fault };
  const names = Object.keys(now);
  const isTyped = (name: string) => Object.hasOwn(seen, name) && typed[name] !== seen[name];
  return {
    values: Object.fromEntries(names.map((name) => [name, isTyped(name) ? typed[name]! : now[name]!])),
    seen: now,
    version,
    // Some records have fields that others do not have: texts by language.
    changed: [...new Set([...names, ...Object.keys(seen)])]
      .map((name) => ({ name, from: seen[name] ?? '', to: now[name] ?? '' }))
      .filter(({ from, to }) => from !== to),
    fault,
  };
}

/** A form as it was typed, for a page with the preview of its effect. */
export const asTyped = (edit: Edit, form: URLSearchParams): Edit => ({
  ...edit,
  values: Object.fromEntries(Object.keys(edit.values).map((name) => [name, typedValue(form, name)])),
  seen: seenIn(form) ?? edit.seen,
  version: form.get('version') ?? '',
});

/** A typed field; of checkboxes with one name the ticked ones. Line ends are normalized as in the database. */
export const typedValue = (form: URLSearchParams, name: string): string =>
  form.getAll(name).sort().join(',').replaceAll('\r\n', '\n');

/** The form's initial values; undefined if they are missing or unreadable. */
export function seenIn(form: URLSearchParams): Texts | undefined {
  const said: unknown = readJson(form.get('seen') ?? '');
  if (typeof said !== 'object' || said === null) return undefined;
  return Object.fromEntries(
    Object.entries(said).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** @returns undefined for invalid JSON */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
}

/**
 * JSON that somebody typed, read as strictly as a request's body: without a name that stands twice, of which one would
 * be lost, and without a number that would be rounded.
 * @param field of the form; a fault is at a place in it
 * @returns undefined for invalid JSON
 * @throws 422 DUPLICATE_FIELD, NUMBER_NOT_EXACT, TOO_DEEP, or for text that cannot be stored
 */
export function typedJson(text: string, field?: string): unknown {
  try {
    return parseJson(Buffer.from(text));
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
    if (fault.code === 'MALFORMED_JSON') return undefined;
    const within = (path: string | undefined) => [field, path].filter((name) => name && name !== 'body').join('.');
    throw new Problem(fault.status, fault.code, fault.message, {
      ...fault.options,
      ...(fault.options.errors && {
        errors: fault.options.errors.map((error) => ({ ...error, path: within(error.path) })),
      }),
    });
  }
}

/** A number if the text is a whole one, else the text, which the schema refuses by its field. */
export const wholeNumber = (text: string): number | string => (/^-?\d{1,8}$/.test(text.trim()) ? Number(text) : text);
/** An empty text becomes null. */
export const orNull = <T>(text: string, value: T): T | null => (text.trim() === '' ? null : value);
