import type { ComponentChildren } from 'preact';
import type { Words } from '../../words/words.js';
import { Field, Form, Notice, SelectField, errorOf } from '../../html/form.js';
import type { FieldProps } from '../../html/form.js';
import { refusalOf } from '../../html/refusal.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from './edit.js';

/** The field of a refusal without a field. */
const FIELD_OF: Readonly<Record<string, string>> = {
  STUDY_CODE_TAKEN: 'study_code',
  SITE_CODE_TAKEN: 'site_code',
  EVENT_OID_TAKEN: 'event_oid',
  WINDOW_CODE_TAKEN: 'code',
  BATTERY_CODE_TAKEN: 'code',
};

/** The error of one field, in words. */
export function wrongWith({ fault }: Pick<Edit, 'fault'>, name: string, words: Words): string | undefined {
  if (fault && FIELD_OF[fault.code] === name) return words.problems.refusals[fault.code] ?? fault.message;
  return errorOf(fault, name, words);
}

/** The refusal above the form; each field's error is at the field. */
export function EditRefusal({ edit, labels }: { edit: Edit; labels: Record<string, ComponentChildren> }) {
  const { words } = useUi();
  const { fault, changed } = edit;
  if (!fault) return null;
  if (fault.code === 'STALE')
    return (
      <Notice kind="alert" title={words.edit.stale}>
        <p class="plain">{words.edit.staleWhat}</p>
        <ul class="warnings">
          {changed.map(({ name, from, to }) => (
            <li key={name}>
              {labels[name] ?? name}: <del dir="auto">{from || words.edit.nothing}</del>{' '}
              <ins dir="auto">{to || words.edit.nothing}</ins>
            </li>
          ))}
        </ul>
      </Notice>
    );
  const atFields = (fault.options.errors ?? []).every(
    ({ path }) => path !== undefined && Object.hasOwn(labels, path.replace(/^body\./, '')),
  );
  const isAtField = FIELD_OF[fault.code] !== undefined || (fault.options.errors !== undefined && atFields);
  const { what, detail } = refusalOf(words, fault);
  return (
    <Notice kind="alert" title={words.edit.refused}>
      {isAtField ? undefined : (
        <>
          {what} {detail && <span lang="en">{detail}</span>}
        </>
      )}
    </Notice>
  );
}

/** The form of a record, with its initial values. */
export function EditForm({
  action,
  edit,
  children,
  ...more
}: {
  action: string;
  edit: Edit;
  class?: string;
  children?: ComponentChildren;
}) {
  return (
    <Form action={action} {...more}>
      <input type="hidden" name="version" value={edit.version} />
      <input type="hidden" name="seen" value={JSON.stringify(edit.seen)} />
      {children}
    </Form>
  );
}

/** A field of the form, with its value and error. */
export function EditField({ edit, ...field }: { edit: Edit } & FieldProps) {
  const { words } = useUi();
  return <Field {...field} value={edit.values[field.name] ?? ''} error={wrongWith(edit, field.name, words)} />;
}

/** A choice of one, with its error. */
export function EditChoice({
  edit,
  name,
  label,
  hint,
  options,
}: {
  edit: Edit;
  name: string;
  label: string;
  hint?: string;
  options: readonly (readonly [string, string])[];
}) {
  const { words } = useUi();
  return (
    <SelectField
      name={name}
      label={label}
      hint={hint}
      error={wrongWith(edit, name, words)}
      value={edit.values[name]}
      options={options}
    />
  );
}

/** A checkbox. */
export function EditBox({ edit, name, label }: { edit: Edit; name: string; label: string }) {
  return (
    <label class="check">
      <input type="checkbox" name={name} value="1" checked={(edit.values[name] ?? '') !== ''} /> {label}
    </label>
  );
}

/** Checkboxes of one name. */
export function EditBoxes({
  edit,
  name,
  label,
  hint,
  options,
}: {
  edit: Edit;
  name: string;
  label: string;
  hint?: string;
  options: readonly (readonly [string, string])[];
}) {
  const { words } = useUi();
  const error = wrongWith(edit, name, words);
  const ticked = new Set((edit.values[name] ?? '').split(','));
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="error">{error}</p>}
      {options.map(([value, called]) => (
        <label key={value} class="check">
          <input type="checkbox" name={name} value={value} checked={ticked.has(value)} /> <bdi>{called}</bdi>
        </label>
      ))}
    </fieldset>
  );
}
