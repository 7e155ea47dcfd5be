import type { ComponentChildren } from 'preact';
import type { Problem } from '../../http/errors.js';
import type { Words } from '../words/words.js';
import { refusalOf, ruleText } from './refusal.js';
import { useUi } from './ui.js';

/** A form of the console, with its token and the page to return to. */
export function Form({
  action,
  upload = false,
  children,
  ...more
}: {
  action: string;
  upload?: boolean;
  class?: string;
  children?: ComponentChildren;
}) {
  const { formToken, path } = useUi();
  return (
    <form method="post" action={action} {...(upload && { enctype: 'multipart/form-data' })} {...more}>
      <input type="hidden" name="_token" value={formToken} />
      <input type="hidden" name="_back" value={path} />
      {children}
    </form>
  );
}

export interface FieldProps {
  name: string;
  /** The name of its form, if another form of the page has a field of this name. */
  within?: string | undefined;
  label: string;
  /** A hint below the label. */
  hint?: string | undefined;
  /** The field's error. */
  error?: string | undefined;
  value?: string | undefined;
  type?: 'text' | 'email' | 'password' | 'date' | 'search';
  required?: boolean;
  maxLength?: number;
  minLength?: number;
  autocomplete?: string;
  inputMode?: 'numeric' | 'text';
  multiline?: boolean;
  autofocus?: boolean | undefined;
  /** The id of a list of suggestions. */
  list?: string;
}

const idOf = ({ name, within }: Pick<FieldProps, 'name' | 'within'>): string =>
  within === undefined ? `field-${name}` : `field-${within}-${name}`;

/** What every labelled field has in common: its label, hint and error, and their link to the control. */
function LabelledField({
  name,
  within,
  label,
  hint,
  error,
  children,
}: Pick<FieldProps, 'name' | 'within' | 'label' | 'hint' | 'error'> & { children: ComponentChildren }) {
  const id = idOf({ name, within });
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {children}
    </div>
  );
}

/** The attributes by which a control names its hint and error. */
function controlAttributes({ name, within, hint, error }: Pick<FieldProps, 'name' | 'within' | 'hint' | 'error'>) {
  const id = idOf({ name, within });
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return {
    id,
    name,
    ...(described !== '' && { 'aria-describedby': described }),
    ...(error && { 'aria-invalid': true as const }),
  };
}

/** A labelled field with its hint and error. */
export function Field({
  name,
  within,
  label,
  hint,
  error,
  multiline,
  maxLength,
  minLength,
  inputMode,
  ...input
}: FieldProps) {
  const shared = { ...controlAttributes({ name, within, hint, error }), maxlength: maxLength, minlength: minLength };
  const { value, type = 'text', required, autocomplete, autofocus, list } = input;
  // JSX has a type for each input type; this is any of them.
  const written: Record<string, unknown> = { type, value, required, autocomplete, inputMode, autofocus, list };
  return (
    <LabelledField name={name} within={within} label={label} hint={hint} error={error}>
      {multiline ? (
        <textarea {...shared} rows={4} required={required}>
          {/* The HTML parser drops the first line break. */}
          {`\n${value ?? ''}`}
        </textarea>
      ) : (
        <input {...shared} {...written} />
      )}
    </LabelledField>
  );
}

/** A labelled choice of one of several. */
export function SelectField({
  name,
  label,
  hint,
  error,
  value = '',
  options,
}: Pick<FieldProps, 'name' | 'label' | 'hint' | 'error' | 'value'> & {
  /** Values with their labels. */
  options: readonly (readonly [string, string])[];
}) {
  return (
    <LabelledField name={name} label={label} hint={hint} error={error}>
      <select {...controlAttributes({ name, hint, error })}>
        {options.map(([one, called]) => (
          <option key={one} value={one} selected={one === value}>
            {called}
          </option>
        ))}
      </select>
    </LabelledField>
  );
}

/** A refusal's message for one field, in the words of its rule. */
export function errorOf(fault: Problem | undefined, name: string, { problems }: Words): string | undefined {
  const entry = fault?.options.errors?.find(({ path }) => path === name || path === `body.${name}`);
  return entry && (ruleText(problems, entry) ?? entry.message);
}

/**
 * Props for the fields of a form: name, typed or stored value, and error.
 * @param codes the field of each conflict code
 */
export function useGiven<Name extends string>({
  typed,
  stored = {},
  fault,
  codes = {},
}: {
  typed?: Partial<Record<Name, string>> | undefined;
  stored?: Partial<Record<Name, unknown>>;
  fault?: Problem | undefined;
  codes?: Record<string, Name>;
}): (name: Name) => { name: Name; value: string; error: string | undefined } {
  const { words } = useUi();
  return (name) => {
    const own = fault && codes[fault.code] === name ? words.problems.refusals[fault.code] : undefined;
    return { name, value: typed?.[name] ?? String(stored[name] ?? ''), error: own ?? errorOf(fault, name, words) };
  };
}

/** The refusal in words, with the service's details if the words are not enough. */
export function RefusalNotice({ fault }: { fault: Problem }) {
  const { words } = useUi();
  const { what, detail } = refusalOf(words, fault);
  return (
    <Notice kind="alert" title={what}>
      {detail && <span lang="en">{detail}</span>}
    </Notice>
  );
}

/** A highlighted sentence. `alert`: something was refused. */
export function Notice({
  kind = 'note',
  title,
  children,
}: {
  kind?: 'note' | 'good' | 'alert';
  title?: string;
  children?: ComponentChildren;
}) {
  return (
    <div class={`notice ${kind}`} role={kind === 'alert' ? 'alert' : 'status'}>
      {title && <strong>{title}</strong>}
      {children && <div>{children}</div>}
    </div>
  );
}
