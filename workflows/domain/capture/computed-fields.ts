/**
 * Whether the capture system computes a field's value: a calculated field, or a text field with `@CALCTEXT` or
 * `@CALCDATE`. It is no entry of a person, and no import changes it.
 */
export const isComputed = ({ field_type, annotation = '' }: { field_type: string; annotation?: string }): boolean =>
  field_type === 'calc' || (field_type === 'text' && /@CALC(TEXT|DATE)\b/i.test(annotation));
