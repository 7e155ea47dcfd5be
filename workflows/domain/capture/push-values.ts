import { boxOf, choiceCodes, isComputed } from './choices.js';

/** A field of the capture system's dictionary, with its rules for values. */
export interface DictionaryField {
  field_name: string;
  form_name: string;
  field_type: string;
  /** `1, Yes | 0, No` */
  choices: string;
  validation: string;
  /** Its action tags. */
  annotation?: string;
  min: string;
  max: string;
}

const DECIMALS = /^number_([1-4])dp(_comma_decimal)?$/;
const COMMA = '_comma_decimal';

/**
 * A metric in the field's format: integers unchanged, floats with at most two decimals, or a fixed number of decimals
 * if the field's validation requires it (`number_1dp`: 22 is `22.0`). It is rounded once: 22.249 becomes 22.2, not 22.3
 * by way of 22.25.
 */
export function numberText(value: number, field: DictionaryField | undefined): string {
  const validation = field?.field_type === 'text' ? field.validation : '';
  const places = DECIMALS.exec(validation)?.[1];
  const rounded = Number.isInteger(value) ? value : roundHalfAway(value, Math.min(2, Number(places ?? 2)));
  const text = places === undefined ? plain(rounded) : fixed(rounded, Number(places));
  return validation.endsWith(COMMA) ? text.replace('.', ',') : text;
}

/** Rounds half away from zero, by the written digits: 1.005 becomes 1.01. */
export function roundHalfAway(value: number, places: number): number {
  const size = Math.abs(value);
  // Smaller numbers are written with an exponent.
  if (size < 1e-6) return 0;
  if (Number.isInteger(value)) return value;
  return Math.sign(value) * Number(`${Math.round(Number(`${size}e${places}`))}e-${places}`);
}
const plain = (value: number): string =>
  value === 0 ? '0' : Math.abs(value) >= 1e21 ? BigInt(value).toString() : String(value);
const fixed = (value: number, places: number): string =>
  Math.abs(value) >= 1e21
    ? `${plain(value)}.${'0'.repeat(places)}`
    : (roundHalfAway(value, places) || 0).toFixed(places);

const NOT_IMPORTED = new Set(['calc', 'file', 'descriptive']);
const YES_NO = new Set(['yesno', 'truefalse']);
const NOT_NUMBERS = /^(date|time|email|phone|zipcode|postalcode|ssn|vmrn|mrn|alpha_only)/;

/**
 * Why a field refuses a value; undefined: it accepts it, or is not in the dictionary. A checkbox is written one box at
 * a time (`field___code`), and `<instrument>_complete` is on every instrument.
 */
export function checkValue(
  name: string,
  text: string,
  fields: ReadonlyMap<string, DictionaryField>,
): string | undefined {
  const field = fields.get(name);
  if (field) return checkField(field, text);
  if ([...fields.values()].some(({ form_name }) => name === `${form_name}_complete`))
    return oneOf(['0', '1', '2'], text);
  const [base, code] = name.split('___', 2) as [string, string?];
  const box = code === undefined ? undefined : fields.get(base);
  return box?.field_type === 'checkbox' && codes(box).some((each) => boxOf(each) === code)
    ? oneOf(['0', '1'], text)
    : undefined;
}

/** Why a field accepts no number at all; undefined: it may. */
export function takesNoNumber({
  field_name,
  field_type: type,
  validation,
  annotation,
  choices = '',
}: Pick<DictionaryField, 'field_name' | 'field_type' | 'validation' | 'annotation'> &
  Partial<Pick<DictionaryField, 'choices'>>): string | undefined {
  if (type === 'text' && isComputed({ field_type: type, ...(annotation !== undefined && { annotation }) }))
    return 'the capture system computes it (@CALCTEXT or @CALCDATE)';
  if (NOT_IMPORTED.has(type)) return `a field of type ${type} takes no values`;
  if (type === 'checkbox') return `a checkbox is written to as ${field_name}___<code>`;
  if (type === 'text' && NOT_NUMBERS.test(validation))
    return `its validation is ${validation}, and a result is a number`;
  const allowed = type === 'radio' || type === 'dropdown' ? choiceCodes(choices) : [];
  if (allowed.length > 0 && allowed.every((code) => Number.isNaN(Number(code)))) return itTakesOnly(allowed);
  return undefined;
}

function checkField(field: DictionaryField, text: string): string | undefined {
  const { field_type: type, validation } = field;
  const never = takesNoNumber(field);
  if (never !== undefined) return never;
  if (YES_NO.has(type)) return oneOf(['0', '1'], text);
  const choices = codes(field);
  if (choices.length > 0 && type !== 'slider') return oneOf(choices, text);
  if (type === 'slider') return whole(text, 'slider');
  if (type !== 'text' || validation === '') return undefined;
  return validation === 'integer' ? whole(text, validation) : undefined;
}

/**
 * The suggested range that a value exceeds, in words; undefined: it is inside, or there is none. The capture system
 * accepts such a value, so it is sent with a warning.
 */
export function outOfRange(field: DictionaryField | undefined, text: string): string | undefined {
  if (field?.field_type === 'slider') return beyond(text, field.min || '0', field.max || '100');
  const numeric = field?.field_type === 'text' && /^(integer$|number)/.test(field.validation);
  return numeric ? beyond(text, field.min, field.max) : undefined;
}

const whole = (text: string, type: string) =>
  /^-?\d+$/.test(text) ? undefined : `its type is ${type}, and the result is no whole number`;
const oneOf = (allowed: readonly string[], text: string) => (allowed.includes(text) ? undefined : itTakesOnly(allowed));
const itTakesOnly = (allowed: readonly string[]) => `it takes only ${allowed.slice(0, 20).join(', ')}`;

function beyond(text: string, min: string, max: string): string | undefined {
  const number = (text: string) => Number(text.replace(',', '.'));
  const limit = (text: string) => text.trim() !== '' && Number.isFinite(number(text));
  if ((limit(min) && number(text) < number(min)) || (limit(max) && number(text) > number(max)))
    return `it is outside of the range from ${min || 'no minimum'} to ${max || 'no maximum'}`;
  return undefined;
}

/** `1, Yes | 0, No`: the stored codes. */
const codes = (field: DictionaryField): string[] =>
  ['radio', 'dropdown', 'checkbox'].includes(field.field_type) ? choiceCodes(field.choices) : [];
