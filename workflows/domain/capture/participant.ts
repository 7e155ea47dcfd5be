import { FIRST_LIVED_DAY, isZone, zoneName } from '../util/dates.js';
import { boxOf } from './choices.js';
import { isCalendarDate, isDateLike, leadingDay } from './dates.js';
import { NOT_COMPLETED } from './record.js';
import type { RecordValues } from './record.js';

/** The participant fields that the capture system may fill. `external_id` is always the record id. */
export const participantFields = [
  'participant_code',
  'enrollment_date',
  'date_of_birth',
  'preferred_language',
  'email',
  'phone',
  'timezone',
  'arm',
  'site_code',
] as const;
export type ParticipantField = (typeof participantFields)[number];

export interface MappedParticipant {
  /** Only valid values; missing fields stay unchanged. */
  values: Partial<Record<ParticipantField, string>>;
  /** Service fields with an unusable value. */
  dropped: ParticipantField[];
}

/** The codes of checkbox fields. */
export type BoxCodes = Readonly<Record<string, readonly string[]>>;

/**
 * The value of a capture field: missing-data codes and surveys not completed count as empty; for a checkbox the only
 * ticked code, as the dictionary has it.
 */
export function captureValue(
  record: RecordValues,
  field: string,
  missing: ReadonlySet<string>,
  boxes: BoxCodes = {},
): string | undefined {
  const value = Object.hasOwn(record, field) ? record[field] : tickedCode(record, field, missing, boxes);
  return value === undefined || value === '' || value === NOT_COMPLETED || missing.has(value) ? undefined : value;
}

/** The ticked boxes of a checkbox. That of a missing-data code means that there is no value. */
function tickedBoxes(record: RecordValues, field: string, missing: ReadonlySet<string>): string[] {
  const prefix = `${field}___`;
  const ticked = Object.keys(record)
    .filter((key) => key.startsWith(prefix) && record[key] === '1')
    .map((key) => key.slice(prefix.length));
  const codes = new Set([...missing].map(boxOf));
  return ticked.some((box) => codes.has(boxOf(box))) ? [] : ticked;
}

function tickedCode(
  record: RecordValues,
  field: string,
  missing: ReadonlySet<string>,
  boxes: BoxCodes,
): string | undefined {
  const [box, ...others] = tickedBoxes(record, field, missing);
  // Two ticks are no single value: nothing is guessed.
  if (box === undefined || others.length > 0) return undefined;
  return (Object.hasOwn(boxes, field) ? boxes[field]! : []).find((code) => boxOf(code) === box) ?? box;
}

/**
 * The checkbox fields of a record with a ticked box whose name does not tell its code: columns have it in lower case
 * and with underscores (`B-1` is `b_1`).
 */
export const unclearBoxes = (record: RecordValues): string[] => [
  ...new Set(
    Object.keys(record)
      .filter((column) => record[column] === '1' && /___.*\D/.test(column))
      .map((column) => column.split('___', 1)[0]!),
  ),
];

export const isDateField = (name: string): boolean => name === 'enrollment_date' || name === 'date_of_birth';

/**
 * Maps a record to participant fields: the day of a date and time is used, invalid dates are dropped, empty values are
 * not applied.
 * @param latestDay a date of birth after it is invalid
 */
export function mapParticipant(
  record: RecordValues,
  mapping: Record<string, string>,
  missing: ReadonlySet<string>,
  latestDay?: string,
  boxes?: BoxCodes,
): MappedParticipant {
  const mapped: MappedParticipant = { values: {}, dropped: [] };
  for (const name of participantFields) {
    const field = Object.hasOwn(mapping, name) ? mapping[name] : undefined;
    const value = field ? captureValue(record, field, missing, boxes) : undefined;
    if (field && tickedBoxes(record, field, missing).length > 1) mapped.dropped.push(name);
    if (value === undefined) continue;
    const taken = isDateField(name) ? (leadingDay(value) ?? value) : value;
    const isUnlived =
      name === 'date_of_birth' && (taken < FIRST_LIVED_DAY || (latestDay !== undefined && taken > latestDay));
    if (fits[name](taken) && !isUnlived) mapped.values[name] = rewritten(name, taken);
    else mapped.dropped.push(name);
  }
  return mapped;
}

/** As the API stores it: a zone's canonical name, a code in its composed form. */
function rewritten(name: ParticipantField, value: string): string {
  if (name === 'timezone') return zoneName(value);
  return name === 'participant_code' || name === 'site_code' ? value.normalize('NFC') : value;
}

/** A language code in common notation: `de`, `pt-BR`. */
export const LANGUAGE = '^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$';

/**
 * Marks of no width and of text direction, for a class of characters: with one of them a code looks like another.
 * Joiners are not among them: some scripts need them.
 */
export const MARKS = '\\xad\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff';
const marked = new RegExp(`[${MARKS}]`);

// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const plain = (value: string) => !/[\u0000-\u001f\u007f-\u009f]/.test(value);
const upTo = (length: number) => (value: string) => plain(value) && [...value].length <= length;

const fits: Record<ParticipantField, (value: string) => boolean> = {
  participant_code: (value) => isParticipantCode(value),
  enrollment_date: isCalendarDate,
  date_of_birth: isCalendarDate,
  preferred_language: (value) => value.length <= 35 && new RegExp(LANGUAGE).test(value),
  email: (value) => upTo(320)(value) && /^[^\s@,;:<>()]+@[^\s@,;:<>()]+$/.test(value),
  phone: upTo(40),
  timezone: (value) => value.length <= 50 && isZone(value),
  arm: upTo(100),
  site_code: (value) => isParticipantCode(value),
};

/** Whether a text can be a code: 1 to 64 characters with something to see, none of them a control character or mark. */
export const isParticipantCode = (code: string) =>
  /[^\s\u200c\u200d]/.test(code) && upTo(64)(code) && !marked.test(code);

const personal: readonly ParticipantField[] = ['date_of_birth', 'email', 'phone'];

export interface FactFields {
  mapping: Record<string, string>;
  enrollmentInstrument: string;
  /** The study's enrollment policy, as stored. */
  policy: unknown;
}

/**
 * The items that become facts of the enrollment form: the mapped enrollment date, and those that the policy's form
 * mappings and expressions name. Never names, birth dates, mails or phones.
 */
export function factItems(
  record: RecordValues,
  fields: FactFields,
  missing: ReadonlySet<string>,
  boxes?: BoxCodes,
): RecordValues {
  const forbidden = new Set(personal.map((name) => fields.mapping[name]).filter((field) => field !== undefined));
  const enrollment = fields.mapping['enrollment_date'];
  const items: RecordValues = {};
  for (const field of [enrollment, ...policyItems(fields.policy, fields.enrollmentInstrument)]) {
    if (field === undefined || forbidden.has(field)) continue;
    const given = captureValue(record, field, missing, boxes);
    const value = field === enrollment && given !== undefined && !isDateLike(given) ? leadingDay(given) : given;
    if (value === undefined || value.length > 500 || value.includes('\u0000')) continue;
    items[field] = value;
  }
  return items;
}

/** The items of each form that a stored policy names: it is asked for each record of a sync, and never changed. */
const itemsRead = new WeakMap<object, Map<string, readonly string[]>>();

/** The form items that the policy reads; a word of an expression that is no field finds no value and does no harm. */
export function policyItems(policy: unknown, form: string): string[] {
  if (typeof policy !== 'object' || policy === null) return [];
  let ofForms = itemsRead.get(policy);
  if (!ofForms) itemsRead.set(policy, (ofForms = new Map()));
  let items = ofForms.get(form);
  if (!items) ofForms.set(form, (items = itemsIn(policy, form)));
  return [...items];
}

function itemsIn(policy: object, form: string): string[] {
  const names = new Set<string>();
  visit(policy, (key, value, holder) => {
    if (key === 'item_oid' && holder['form_oid'] === form) names.add(value);
    if (key === 'expression' || key === 'custom_rule') {
      for (const word of value.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []) names.add(word);
    }
  });
  return [...names];
}

const ITEM = /\bforms\s*(?:\.\s*(\w+)|\[\s*(["'])(.*?)\2\s*\])\s*(?:\.\s*(\w+)|\[\s*(["'])(.*?)\5\s*\])/g;

/** Those of `policyItems` that the policy names as items of the form; the others are mere words of expressions. */
export function namedItems(policy: unknown, form: string): string[] {
  const names = new Set<string>();
  visit(policy, (key, value, holder) => {
    if (key === 'item_oid' && holder['form_oid'] === form) names.add(value);
    if (key === 'expression' || key === 'custom_rule')
      for (const [, plain, , quoted, item, , quotedItem] of value.matchAll(ITEM))
        if ((plain ?? quoted) === form) names.add((item ?? quotedItem)!);
  });
  return [...names];
}

function visit(node: unknown, text: (key: string, value: string, holder: Record<string, unknown>) => void): void {
  if (typeof node !== 'object' || node === null) return;
  const holder = node as Record<string, unknown>;
  for (const [key, value] of Object.entries(holder)) {
    if (typeof value === 'string') text(key, value, holder);
    else visit(value, text);
  }
}

const slug = (name: string) =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');

/** The length at which a capture system cuts the unique names of groups. */
const GROUP_LENGTH = 18;

/** How well a site's code fits the unique name of a data access group, the best way first. */
const WAYS: readonly ((code: string, group: string) => boolean)[] = [
  (code, group) => code === group,
  (code, group) => slug(code) === slug(group),
  (code, group) => slug(slug(code).slice(0, GROUP_LENGTH)) === slug(group),
];

/**
 * The sites that a data access group may be: its unique name is the site's code as a slug, in lower case, of at most 18
 * characters. Codes that begin alike have one slug: several may fit equally well.
 */
export function sitesOfGroup<S extends { site_code: string }>(sites: readonly S[], group: string): S[] {
  for (const fits of WAYS) {
    const found = sites.filter(({ site_code }) => fits(site_code, group));
    if (found.length > 0) return found;
  }
  return [];
}
