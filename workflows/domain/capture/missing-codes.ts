/**
 * The codes that a project uses for "there is no value, because …", from its `missing_data_codes`
 * (`UNK, Unknown | NASK, Not asked`). They may stand in any field, dates too.
 */
export function missingDataCodes(setting: unknown): ReadonlySet<string> {
  if (typeof setting !== 'string') return new Set();
  return new Set(
    setting
      .split(/[|\n]/)
      .map((choice) => choice.split(',')[0]!.trim())
      .filter(Boolean),
  );
}
