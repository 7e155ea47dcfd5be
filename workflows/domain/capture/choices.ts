/** The stored codes of `1, Yes | 0, No`. */
export const choiceCodes = (choices: string): string[] =>
  choices
    .split(/[|\n]/)
    .map((choice) => choice.split(',')[0]!.trim())
    .filter(Boolean);

/** The column suffix of a box: its code in lower case, other characters as underscores. */
export const boxOf = (code: string): string => code.toLowerCase().replace(/[^a-z0-9_]/g, '_');

/**
 * Whether the capture system computes a field's value: a calculated field, or a text field with `@CALCTEXT` or
 * `@CALCDATE`. It is no entry of a person, and no import changes it.
 */
export const isComputed = ({ field_type, annotation = '' }: { field_type: string; annotation?: string }): boolean =>
  field_type === 'calc' || (field_type === 'text' && /@CALC(TEXT|DATE)\b/i.test(annotation));
