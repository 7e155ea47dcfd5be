import type { ImportCounts } from '../../../db/imports/imports.queries.js';
import type { ImportPlan, PlannedRow } from '../participant-import-plan.js';
import { JsonArrayWriter, jsonStream } from '../../http/json/json-stream.js';
import type { JsonStream } from '../../http/json/json-stream.js';

const brief = ({ row, fields }: PlannedRow) => ({
  row,
  participant_code: fields.participant_code,
  external_id: fields.external_id ?? null,
  site_code: fields.site_code ?? null,
});

/** An import's statements about the file as a whole. */
export interface ImportSummary {
  dry_run: boolean;
  total_rows: number;
  created_sites: string[];
  warnings: { code: string; message: string }[];
  file: Record<string, string>;
}

export interface FailedRow {
  row: number;
  field: string | null;
  code: string;
  message: string;
}
/** An import's counts and first failed rows, for a page. */
export interface ImportOverview extends ImportSummary, Omit<ImportCounts, 'total_rows'> {
  first_errors: FailedRow[];
}
/** The most failed rows shown; the file of failed rows has all. */
const MAX_SHOWN = 100;

/** The result of each row, in the file's order, collected portion by portion. */
export class ImportLists {
  private readonly errors = new JsonArrayWriter();
  private readonly imported = new JsonArrayWriter();
  private readonly skipped = new JsonArrayWriter();
  private readonly updated = new JsonArrayWriter();
  private readonly firstErrors: FailedRow[] = [];

  /** @param plan of a portion, after it was written */
  add({ errors, fresh, skipped, changed }: ImportPlan): void {
    this.errors.add(sortByRow(errors));
    this.firstErrors.push(...sortByRow(errors).slice(0, MAX_SHOWN - this.firstErrors.length));
    this.imported.add(fresh.map(brief));
    this.skipped.add(sortByRow(skipped).map((row) => ({ ...brief(row), reason: row.reason })));
    this.updated.add(changed.map((row) => ({ ...brief(row), fields: row.changes })));
  }

  counts(): Omit<ImportCounts, 'total_rows'> {
    return {
      imported_count: this.imported.length,
      skipped_count: this.skipped.length,
      error_count: this.errors.length,
      updated_count: this.updated.length,
    };
  }

  overview(summary: ImportSummary): ImportOverview {
    return { ...summary, ...this.counts(), first_errors: this.firstErrors };
  }

  /** The answer of the contract (ImportResult). */
  answer({ dry_run, total_rows, ...rest }: ImportSummary): JsonStream {
    return jsonStream({
      success: this.errors.length === 0,
      dry_run,
      total_rows,
      ...this.counts(),
      errors: this.errors,
      imported_participants: this.imported,
      skipped_participants: this.skipped,
      updated_participants: this.updated,
      ...rest,
    });
  }
}

const sortByRow = <T extends { row: number }>(list: readonly T[]): T[] => [...list].sort((a, b) => a.row - b.row);
