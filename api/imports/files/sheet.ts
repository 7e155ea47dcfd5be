/** One row of a file, as text; `row` is its number in a spreadsheet program. */
export interface SheetRow {
  row: number;
  cells: string[];
}

/**
 * An open file. `rows` reads it from the beginning each time; `notes`: its detected encoding, separator or sheet name;
 * `caution`: a sentence on the origin of the rows, for a user who finds wrong ones; `warnings`: what the user who sent
 * it may not have seen in it.
 */
export interface Sheet {
  rows: () => AsyncIterable<SheetRow>;
  notes: Record<string, string>;
  caution?: string;
  warnings?: readonly { code: string; message: string }[];
}

/** The value of a cell whose formula has no stored result: the writing program does not calculate. */
export const NOT_CALCULATED = '#NOT_CALCULATED!';
/** The value of a cell with a number that is no longer what was typed: of more digits than are kept, or as `1E5`. */
export const DIGITS_LOST = '#DIGITS_LOST!';
