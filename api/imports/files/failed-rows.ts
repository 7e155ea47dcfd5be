import { stringify } from 'csv-stringify/sync';
import { csvText } from '../../../db/exports/formula-text.js';
import type { ImportPlan } from '../participant-import-plan.js';
import { isReason, reasonColumns } from './columns.js';
import type { ReadRow } from './rows.js';

// Cells come from a third party: none may run as a formula in the reader's spreadsheet.
const csv = (lines: string[][]): string => stringify(lines.map((cells) => cells.map(csvText)));

/** The cells of a row beyond the header, up to the last one that is filled. */
const surplus = (cells: readonly string[], columns: number): string[] =>
  cells.slice(columns, cells.findLastIndex((cell) => cell.trim() !== '') + 1);

/**
 * The failed rows as sent, with their errors: a CSV file that can be corrected and sent again (its added columns are
 * skipped then).
 */
export class FailedRows {
  private readonly pieces: string[] = [];
  /** The columns that are given back: of a file of failed rows, without the reasons of the last time. */
  private readonly columns: readonly number[];

  /** @param headerCells the file's header, unchanged */
  constructor(private readonly headerCells: readonly string[]) {
    this.columns = headerCells.flatMap((name, i) => (isReason(name) ? [] : [i]));
    this.pieces.push(csv([[...this.columns.map((i) => headerCells[i]!), ...reasonColumns]]));
  }

  /** Adds the failed rows of a portion of the file. */
  add(rows: readonly ReadRow[], { errors }: Pick<ImportPlan, 'errors'>): void {
    if (errors.length === 0) return;
    const byRow = new Map(errors.map((error) => [error.row, error]));
    this.pieces.push(
      csv(
        rows.flatMap((row) => {
          const error = byRow.get(row.row);
          if (!error) return [];
          return [
            [
              ...this.columns.map((i) => row.cells[i] ?? ''),
              String(error.row),
              error.field ?? '',
              error.code,
              [error, ...(error.others ?? [])].map(({ message }) => message).join('; '),
              // Without them the row would be taken as it stands, its values in wrong columns.
              ...surplus(row.cells, this.headerCells.length),
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
