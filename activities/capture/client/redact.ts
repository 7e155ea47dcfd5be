/**
 * `"record","field","value","message"`, the format of a refused import: inner quotes are doubled; cells may have line
 * breaks.
 */
const LINE = /^\s*"((?:[^"]|"")*)","((?:[^"]|"")*)","((?:[^"]|"")*)","((?:[^"]|"")*)"/gm;

/**
 * Removes personal data from a refusal: of lines with record, field, value and rule, only field and rule stay. A rule
 * may quote record or value, so these are removed from it as well.
 */
export function redactValues(refusal: string): string {
  const text = refusal.replaceAll('&quot;', '"');
  const lines = [...text.matchAll(LINE)].map(
    ([, record, field, value, rule]) => `${field}: ${redact(redact(rule!, value!), record!)}`,
  );
  if (lines.length === 0) return refusal;
  // The same rule for the same field of many records is listed once.
  return [...new Set(lines)].join('; ');
}

/** A text without a quoted value, which may contain anything. */
export function redact(rule: string, said: string): string {
  if (said.trim() === '') return rule;
  const literal = said.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return rule.replace(new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu'), '…');
}
