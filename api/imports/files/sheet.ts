/** One row of a file, as text; `row` is its number in a spreadsheet program. */
export interface SheetRow {
  row: number;
  cells: string[];
}

/**
 * A file that was opened. `rows` reads it from its beginning each time; `notes`: what was found out about it (encoding,
 * separator, name of the sheet); `caution`: a sentence on where the rows are from, for who finds the wrong ones.
 */
export interface Sheet {
  rows: () => AsyncIterable<SheetRow>;
  notes: Record<string, string>;
  caution?: string;
}

/** Stands in a cell whose formula has no stored value: the program that wrote the file calculates nothing. */
export const NOT_CALCULATED = '#NOT_CALCULATED!';
