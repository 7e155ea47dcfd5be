/** A labelled choice of one of several values. */
export function Select({
  name,
  label,
  hint,
  value,
  options,
}: {
  name: string;
  label: string;
  hint?: string | undefined;
  value: string | undefined;
  /** Value and text. */
  options: readonly (readonly [string, string])[];
}) {
  const id = `field-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <select id={id} name={name} {...(hint && { 'aria-describedby': `${id}-hint` })}>
        {options.map(([one, text]) => (
          <option key={one} value={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
