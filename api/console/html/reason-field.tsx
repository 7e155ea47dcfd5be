import { Field } from './form.js';

/** Where a user says why: several lines, that a decision or a change is not taken without. */
export function ReasonField({
  name = 'reason',
  ...said
}: {
  name?: string;
  label: string;
  hint: string;
  error: string | undefined;
  value: string | undefined;
}) {
  return <Field name={name} multiline required maxLength={2000} {...said} />;
}
