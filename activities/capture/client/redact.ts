/** `"record","field","value","message"`, as an import is refused: quotes within are doubled; cells may break lines. */
const LINE = /^\s*"((?:[^"]|"")*)","((?:[^"]|"")*)","((?:[^"]|"")*)","((?:[^"]|"")*)"/gm;

/**
 * A refusal without what it repeats of a person: of the lines that name record, field, value and rule, field and rule
 * stay. A rule may quote record or value again, so these are taken out of it as well.
 */
export function redactValues(refusal: string): string {
  const text = refusal.replaceAll('&quot;', '"');
  const lines = [...text.matchAll(LINE)].map(
    ([, record, field, value, rule]) => `${field}: ${redact(redact(rule!, value!), record!)}`,
  );
  if (lines.length === 0) return refusal;
  // The same rule for the same field of many records is one thing to know.
  return [...new Set(lines)].join('; ');
}

/** A text without a word that it quotes, which may hold anything. */
export function redact(rule: string, said: string): string {
  if (said.trim() === '') return rule;
  const literal = said.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return rule.replace(new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu'), '…');
}
