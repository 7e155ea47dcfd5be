import { driverFault } from '../../../db/client/connection/driver-faults.js';
import type { Ask } from '../../../db/exports/full-study/load.js';
import { problem } from '../../http/errors.js';

/** The database's reason for refusing a row, without the row's values. */
interface Refusal {
  code?: string;
  table?: string;
  column?: string;
  constraint?: string;
}
const RULES: Record<string, { code: string; sentence: string }> = {
  '23502': { code: 'REQUIRED', sentence: 'is required' },
  '23505': { code: 'DUPLICATE', sentence: 'has two rows that may not be alike' },
  '23503': { code: 'UNKNOWN_REFERENCE', sentence: 'refers to a row that is not in the document' },
};
const INVALID = { code: 'INVALID_VALUE', sentence: 'has a value that cannot be stored' };

/** Names the table of a document whose rows the database refuses, and where it can, the column or the rule. */
export const namingUnfitRows =
  (ask: Ask): Ask =>
  async (sql, values) => {
    try {
      return await ask(sql, values);
    } catch (fault) {
      const { code = '', table, column, constraint } = driverFault(fault) as Refusal;
      const loading = table ?? /^\s*insert into (\w+)/.exec(sql)?.[1];
      if (!/^2[23]/.test(code) || loading === undefined) throw fault;
      const rule = RULES[code] ?? INVALID;
      const path = ['tables', loading, ...(column === undefined ? [] : [column])].join('.');
      const message = `${path} ${rule.sentence}${constraint === undefined ? '' : ` (${constraint})`}`;
      throw problem('INVALID_VALUE', {
        detail: `${message}.`,
        errors: [{ path, code: rule.code, message }],
        cause: fault,
      });
    }
  };
