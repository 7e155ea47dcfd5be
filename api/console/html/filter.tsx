/** Links to parts of a list, each with its count. */
export function Chips({
  label,
  chips,
}: {
  label: string;
  chips: readonly { text: string; n: number; href: string; isHere: boolean }[];
}) {
  return (
    <nav aria-label={label} class="chips">
      <ul>
        {chips.map(({ text, n, href, isHere }) => (
          <li key={href}>
            <a href={href} {...(isHere && { 'aria-current': 'true' as const })}>
              {text} <span class="number">{n}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** What a page is narrowed to, on paper: the form that says so on a screen is not printed. */
export function NarrowedOnPaper({
  to,
}: {
  to: readonly (readonly [name: string, value: string | null | undefined])[];
}) {
  const chosen = to.filter(([, value]) => value);
  if (chosen.length === 0) return null;
  return (
    <ul class="on-paper">
      {chosen.map(([name, value]) => (
        <li key={name}>
          {name}: <bdi>{value}</bdi>
        </li>
      ))}
    </ul>
  );
}

/** A choice of one value, or all. */
export function Choice({
  name,
  label,
  all,
  value,
  named,
  options,
}: {
  name: string;
  label: string;
  all: string;
  value: string | undefined;
  /** The text of the value, which may not be among the options: nothing of it is left. */
  named?: string | null | undefined;
  /** Value and text; duplicates are merged. */
  options: readonly (readonly [string, string])[];
}) {
  const known = new Map(options);
  if (value && !known.has(value)) known.set(value, named ?? '–');
  if (known.size < 2 && !value) return null;
  return (
    <label class="choice">
      <span>{label}</span>
      <select name={name}>
        <option value="">{all}</option>
        {[...known].map(([one, text]) => (
          <option key={one} value={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
