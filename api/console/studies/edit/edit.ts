import type { Problem } from '../../../http/errors.js';
import { etagOf } from '../../../http/conventions/etag.js';

/** The fields of a form, as texts; an unticked box is an empty one. */
export type Texts = Record<string, string>;

/** What somebody else has changed since the form was drawn. */
export interface Changed {
  name: string;
  from: string;
  to: string;
}

/** A form of a record: what it shows, what it was drawn from, and what became of sending it. */
export interface Edit {
  values: Texts;
  /** What the record was when the form was drawn. */
  seen: Texts;
  version: string;
  changed: Changed[];
  fault?: Problem | undefined;
}

/** How a form is drawn again after it was refused. */
export interface Sent {
  form: URLSearchParams;
  fault: Problem;
}

/**
 * A form of what is stored now. One that was refused keeps what was typed, and the version that it was drawn from: only
 * what has been seen is overwritten. After a stale version it shows what the other one changed; fields that were not
 * touched have the new value.
 */
export function editOf(record: object | undefined, now: Texts, sent?: Sent): Edit {
  const version = record ? (etagOf(record) ?? '') : '';
  if (!sent) return { values: now, seen: now, version, changed: [] };
  const { form, fault } = sent;
  const typed = Object.fromEntries(Object.keys(now).map((name) => [name, typedIn(form, name)]));
  const seen = seenIn(form) ?? now;
  if (fault.code !== 'STALE')
    return { values: typed, seen, version: form.get('version') ?? version, changed: [], fault };
  const names = Object.keys(now);
  return {
    values: Object.fromEntries(names.map((name) => [name, typed[name] === seen[name] ? now[name]! : typed[name]!])),
    seen: now,
    version,
    changed: names
      .filter((name) => (seen[name] ?? '') !== now[name])
      .map((name) => ({ name, from: seen[name] ?? '', to: now[name]! })),
    fault,
  };
}

/** A field as it was typed; of several boxes of a name those that are ticked. Line ends are those of the database. */
export const typedIn = (form: URLSearchParams, name: string): string =>
  form.getAll(name).sort().join(',').replaceAll('\r\n', '\n');

/** What the form says that it was drawn from; undefined where it says nothing that can be read. */
export function seenIn(form: URLSearchParams): Texts | undefined {
  const said: unknown = readJson(form.get('seen') ?? '');
  if (typeof said !== 'object' || said === null) return undefined;
  return Object.fromEntries(
    Object.entries(said).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** @returns undefined for what is no JSON */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
}

/** A number where a whole one is written, else the text, which the schema refuses by its field. */
export const wholeNumber = (text: string): number | string => (/^-?\d{1,8}$/.test(text.trim()) ? Number(text) : text);
/** An empty text is none. */
export const orNull = <T>(text: string, value: T): T | null => (text.trim() === '' ? null : value);
