import { stringify } from 'csv-stringify/sync';
import { csvText } from '../../../db/exports/formula-text.js';
import type { ImportPlan } from '../participant-import-plan.js';
import type { ReadRow } from './rows.js';

const REASONS = ['import_row', 'import_field', 'import_code', 'import_message'];
// A cell that a spreadsheet would run as a formula was sent by a stranger to whoever opens this.
const csv = (lines: string[][]): string => stringify(lines.map((cells) => cells.map(csvText)));

/**
 * The rows that failed, as they were sent, with what was wrong: a CSV file that can be mended and sent again (its added
 * columns are left out then).
 */
export class FailedRows {
  private readonly pieces: string[] = [];

  /** @param headerCells the file's header as it stands there */
  constructor(private readonly headerCells: readonly string[]) {
    this.pieces.push(csv([[...headerCells, ...REASONS]]));
  }

  /** Takes what failed of a portion of the file. */
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
