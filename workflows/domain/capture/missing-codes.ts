import { choiceCodes } from './choices.js';

/**
 * A project's codes for missing values, from its `missing_data_codes` (`UNK, Unknown | NASK, Not asked`). They may be
 * in any field, including dates.
 */
export function missingDataCodes(setting: unknown): ReadonlySet<string> {
  if (typeof setting !== 'string') return new Set();
  return new Set(choiceCodes(setting));
}
