import type { FieldFault } from '../../../workflows/domain/capture/push-record.js';

/**
 * `"record","field","value","message"`, the format of a refused import: inner quotes are doubled; cells may have line
 * breaks.
 */
const LINE = /^\s*"((?:[^"]|"")*)","((?:[^"]|"")*)","((?:[^"]|"")*)","((?:[^"]|"")*)"/gm;

/**
 * The fields that a refusal names, with their rules: of its lines with record, field, value and rule nothing else
 * stays. A rule may quote record or value, so these are removed from it.
 */
export const faultsOf = (refusal: string): FieldFault[] =>
  [...refusal.replaceAll('&quot;', '"').matchAll(LINE)].map(([, record, field, value, rule]) => ({
    field: field!,
    rule: redact(redact(rule!, value!), record!),
  }));

/** Removes personal data from a refusal (`faultsOf`). */
export function redactValues(refusal: string): string {
  const lines = faultsOf(refusal).map(({ field, rule }) => `${field}: ${rule}`);
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
