import type { ImportColumn } from './columns.js';
import type { ReadRow } from './rows.js';

/** Columns of which a value is a name: a date in one was hardly meant. */
const NAMES = ['participant_code', 'external_id', 'site_code', 'arm'] as const satisfies readonly ImportColumn[];

/**
 * Forms of a code such as 3-4, 4/3 or 3:40 that a spreadsheet program took for a date or time: as in a workbook, or as
 * written to CSV (`03.04.2026`, `4-Mar`, `Mar-04`).
 */
const DATES = [
  /^\d{4}-\d\d-\d\d$/,
  /^\d{1,2}:\d\d(:\d\d)?$/,
  /^\d{1,2}([./])\d{1,2}\1(\d{2}|\d{4})$/,
  /^\d{1,2}[-. ]{1,2}\p{L}{3,4}\.?([- ]\d{2,4})?$/u,
  /^(jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])\.?[- ]\d{2}$/i,
];

/** The most rows that are named. */
const MAX_NAMED = 20;

/** Notes codes that are dates, row by row: what was typed is lost, and only a person can say whether it is right. */
export class DateCodes {
  private readonly named: string[] = [];
  private more = 0;

  add(rows: readonly ReadRow[]): void {
    for (const { row, fields } of rows)
      for (const name of NAMES) {
        const value = fields[name];
        if (value === undefined || !DATES.some((form) => form.test(value))) continue;
        if (this.named.length < MAX_NAMED) this.named.push(`${name} in row ${row} is a date or time (${value})`);
        else this.more += 1;
      }
  }

  warnings(): { code: string; message: string }[] {
    const others = this.more > 0 ? [`${this.more} more codes are dates or times`] : [];
    return [...this.named, ...others].map((what) => ({
      code: 'CODE_IS_DATE',
      message:
        `${what}: spreadsheet programs make them of codes such as 3-4; ` +
        `where that happened, store the column as text`,
    }));
  }
}
