/** One row of a file, as text; `row` is its number in a spreadsheet program. */
export interface SheetRow {
  row: number;
  cells: string[];
}

/**
 * A file that was opened. `rows` reads it from its beginning each time; `notes`: what was found out about it (encoding,
 * separator, name of the sheet).
 */
export interface Sheet {
  rows: () => AsyncIterable<SheetRow>;
  notes: Record<string, string>;
}
