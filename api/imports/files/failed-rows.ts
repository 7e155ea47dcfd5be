import { stringify } from 'csv-stringify/sync';
import { csvText } from '../../../db/exports/formula-text.js';
import type { ImportPlan } from '../participant-import-plan.js';
import type { ReadRow } from './rows.js';

const REASONS = ['import_row', 'import_field', 'import_code', 'import_message'];
// Cells come from a third party: none may run as a formula in the reader's spreadsheet.
const csv = (lines: string[][]): string => stringify(lines.map((cells) => cells.map(csvText)));

/**
 * The failed rows as sent, with their errors: a CSV file that can be corrected and sent again (its added columns are
 * skipped then).
 */
export class FailedRows {
  private readonly pieces: string[] = [];

  /** @param headerCells the file's header, unchanged */
  constructor(private readonly headerCells: readonly string[]) {
    this.pieces.push(csv([[...headerCells, ...REASONS]]));
  }

  /** Adds the failed rows of a portion of the file. */
  add(rows: readonly ReadRow[], { errors }: Pick<ImportPlan, 'errors'>): void {
    if (errors.length === 0) return;
    const byRow = new Map(errors.map((error) => [error.row, error]));
    const width = this.headerCells.length;
    this.pieces.push(
      csv(
        rows.flatMap((row) => {
          const error = byRow.get(row.row);
          if (!error) return [];
          const cells = [...row.cells, ...Array<string>(Math.max(0, width - row.cells.length)).fill('')].slice(
            0,
            width,
          );
          return [
            [
              ...cells,
              String(error.row),
              error.field ?? '',
              error.code,
              [error, ...(error.others ?? [])].map(({ message }) => message).join('; '),
            ],
          ];
        }),
      ),
    );
  }

  text(): string {
    return this.pieces.join('');
  }
}
