import { stringify } from 'csv-stringify/sync';
import type { ReadFile } from './rows.js';
import type { RowError } from '../services/participant-import-plan.js';

const REASONS = ['import_row', 'import_field', 'import_code', 'import_message'];

/** The rows that failed, as they were sent, with what was wrong: a CSV file that can be mended and sent again (its added columns are left out then). */
export function failedRowsCsv({ headerCells, rows }: ReadFile, errors: readonly RowError[]): string {
  const byRow = new Map(errors.map((error) => [error.row, error]));
  const width = headerCells.length;
  const failed = rows.flatMap((row) => {
    const error = byRow.get(row.row);
    const cells = [...row.cells, ...Array<string>(Math.max(0, width - row.cells.length)).fill('')].slice(0, width);
    return error ? [[...cells, String(error.row), error.field ?? '', error.code, [error, ...(error.others ?? [])].map(({ message }) => message).join('; ')]] : [];
  });
  // A cell that a spreadsheet would run as a formula was sent by a stranger to whoever opens this.
  return stringify([[...headerCells, ...REASONS], ...failed], { escape_formulas: true });
}
