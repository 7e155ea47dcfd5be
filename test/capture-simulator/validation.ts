import { choicesOf } from './dictionary.js';
import type { Field } from './types.js';

export type DateFormat = 'YMD' | 'MDY' | 'DMY';
export type Checked = { value: string } | { error: string };

const FORMAT_ERROR =
  'The value you provided could not be validated because it does not follow the expected format. Please try again.';

const PATTERNS: Record<string, RegExp> = {
  integer: /^[-+]?\d+$/,
  number: /^[-+]?\d*\.?\d+(e[-+]?\d+)?$/i,
  number_1dp: /^-?\d+\.\d$/,
  number_2dp: /^-?\d+\.\d{2}$/,
  number_3dp: /^-?\d+\.\d{3}$/,
  number_4dp: /^-?\d+\.\d{4}$/,
  number_comma_decimal: /^[-+]?\d*,?\d+(e[-+]?\d+)?$/i,
  number_1dp_comma_decimal: /^-?\d+,\d$/,
  number_2dp_comma_decimal: /^-?\d+,\d{2}$/,
  number_3dp_comma_decimal: /^-?\d+,\d{3}$/,
  number_4dp_comma_decimal: /^-?\d+,\d{4}$/,
  time: /^([01]\d|2[0-3]):[0-5]\d$/,
  time_hh_mm_ss: /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/,
  email: /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
  alpha_only: /^[A-Za-z]+$/,
  time_mm_ss: /^[0-5]\d:[0-5]\d$/,
  phone: /^(\+?1[ .-]?)?\(?[2-9]\d\d\)?[ .-]?[2-9]\d\d[ .-]?\d{4}( ?x?\d+)?$/,
  phone_australia: /^(\(0[2-8]\)|0[2-8])\s*\d{4}\s*\d{4}$/,
  zipcode: /^\d{5}(-\d{4})?$/,
  postalcode_australia: /^\d{4}$/,
  postalcode_canada: /^[A-Z]\d[A-Z] \d[A-Z]\d$/i,
  postalcode_french: /^\d{5}$/,
  postalcode_germany: /^\d{5}$/,
  ssn: /^\d{3}-\d\d-\d{4}$/,
  mrn_10d: /^\d{10}$/,
  mrn_generic: /^[a-z0-9_-]+$/i,
  vmrn: /^\d{4,9}$/,
};

function realDate(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** A date, with a time where the type has one, as it is stored (YYYY-MM-DD first); undefined when it is none. */
function storedDate(type: string, value: string, order: DateFormat): string | undefined {
  const [date = '', time, ...more] = value.split(' ');
  if (more.length > 0) return undefined;
  if (type.startsWith('datetime') ? time === undefined : time !== undefined) return undefined;
  if (time !== undefined) {
    const timed = type.startsWith('datetime_seconds') ? PATTERNS['time_hh_mm_ss'] : PATTERNS['time'];
    if (!timed?.test(time)) return undefined;
  }
  let parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date)?.slice(1);
  if (!parts && order !== 'YMD') {
    const [first = '', second = '', year = ''] = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$/.exec(date)?.slice(1) ?? [];
    parts = order === 'MDY' ? [year, first, second] : [year, second, first];
  }
  const [year = '', month = '', day = ''] = parts ?? [];
  if (!realDate(Number(year), Number(month), Number(day))) return undefined;
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return time === undefined ? iso : `${iso} ${time}`;
}

/**
 * Checks one raw value for a field (`code` set: one checkbox choice) as an import does. A project's missing-data
 * codes are good in every field but a checkbox. A field's minimum and maximum are suggestions: a value outside of them
 * is taken. The value comes back as it is stored.
 */
export function checkValue(
  field: Field,
  code: string | null,
  value: string,
  missing: ReadonlyMap<string, string>,
  order: DateFormat,
): Checked {
  if (code !== null)
    return value === '0' || value === '1'
      ? { value }
      : { error: `The value is not a valid category for ${field.field_name}. Checkbox choices can only be 0 or 1.` };
  if (missing.has(value)) return { value };
  const choices = choicesOf(field);
  if (choices.size > 0)
    return choices.has(value) ? { value } : { error: `The value is not a valid category for ${field.field_name}` };
  if (field.field_type === 'calc')
    return { error: 'This field is a calculated field, to which data cannot be imported.' };
  if (field.field_type === 'file')
    return { error: 'This field is a file upload field, to which data cannot be imported.' };
  if (field.field_type !== 'text' && field.field_type !== 'slider') return { value };

  const type = field.field_type === 'slider' ? 'integer' : field.text_validation_type_or_show_slider_number;
  if (type.startsWith('date')) {
    const stored = storedDate(type, value, order);
    if (stored === undefined)
      return { error: `The value must be in the date format of the field (YYYY-MM-DD on import). ${FORMAT_ERROR}` };
    return { value: stored };
  }
  const pattern = PATTERNS[type];
  if (pattern && !pattern.test(value)) return { error: FORMAT_ERROR };
  return { value };
}
