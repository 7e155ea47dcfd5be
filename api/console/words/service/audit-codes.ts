import * as german from './audit-codes-de.js';
import * as english from './audit-codes-en.js';

/** The codes of the audit log that have words, by language. */
export const auditCodes = { en: english, de: german };

/** A code as words; codes of an older release, and the deployment's own actions, may have none. */
const spoken =
  (known: Record<string, string>) =>
  (code: string): string =>
    known[code] ?? code.replaceAll('_', ' ');

export const en = { action: spoken(english.actions), record: spoken(english.records) };
export const de: typeof en = { action: spoken(german.actions), record: spoken(german.records) };
