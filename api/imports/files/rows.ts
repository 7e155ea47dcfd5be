import { problem } from '../../http/errors.js';
import { NewParticipant } from '../../participants/participants.schemas.js';
import { faultsIn } from '../../http/validation/validation.js';
import { hasParticipantCode, readHeader } from './columns.js';
import type { Header, ImportColumn } from './columns.js';
import { DIGITS_LOST, NOT_CALCULATED } from './sheet.js';
import type { Sheet, SheetRow } from './sheet.js';

export type RowFields = { [K in ImportColumn]?: string };
export interface RowFault {
  field: string | null;
  code: string;
  message: string;
}
/** A row of the file: its non-empty fields, and their errors. */
export interface ReadRow {
  row: number;
  fields: RowFields;
  faults: RowFault[];
  cells: string[];
}
/** The facts of a file before its rows are processed. */
export interface FileOutline {
  header: Header;
  headerCells: string[];
  /** The number of its row: rows above it are empty. */
  headerRow: number;
  rows: number;
}

const MAX_ROWS = 100_000;

/**
 * Reads a file once without storing it: all faults that make it unreadable, and its number of rows, are known before
 * anything is written. Empty rows are skipped.
 * @throws 400 FILE_UNREADABLE, HEADER_INVALID; 413 more than 100,000 rows
 */
export async function outlineOf(sheet: Sheet): Promise<FileOutline> {
  let header: Header | undefined;
  let headerCells: string[] = [];
  let headerRow = 0;
  let rows = 0;
  for await (const { row, cells } of sheet.rows()) {
    if (!isFilled(cells)) continue;
    if (!header) {
      header = await headerOf(sheet, row, cells);
      headerCells = cells;
      headerRow = row;
    } else {
      if (rows === MAX_ROWS)
        throw problem('TOO_LARGE', { detail: `The file has more than ${MAX_ROWS} rows: divide it.` });
      rows += 1;
    }
  }
  return { header: header ?? (await headerOf(sheet, 1, [])), headerCells, headerRow, rows };
}

/** Rows searched for a header if the first one is none. */
const SEARCHED = 50;

/** @throws 400 HEADER_INVALID, naming what is in place of the header, if that can be detected */
async function headerOf(sheet: Sheet, row: number, cells: readonly string[]): Promise<Header> {
  if (hasParticipantCode(cells)) return readHeader(cells, { row, remarks: [] });
  return readHeader(cells, {
    row,
    remarks: [
      ...(cells.length === 0 ? ['No row has content.'] : otherSeparator(cells)),
      ...(cells.includes(NOT_CALCULATED) ? ['A cell of the header is a formula without a stored value.'] : []),
      ...(await titleAbove(sheet, row)),
      ...(sheet.caution === undefined ? [] : [sheet.caution]),
    ],
  });
}

/** A header with all of its names in one cell: the file is divided by another sign than the one it is read with. */
function otherSeparator(cells: readonly string[]): string[] {
  const sign = OTHER_SIGNS.find((one) => hasParticipantCode(cells.flatMap((cell) => cell.split(one))));
  return sign === undefined
    ? []
    : [
        `The names are divided by “${sign}”: columns are divided by comma, semicolon or tab, ` +
          `or by the sign that a first line such as “sep=${sign}” names.`,
      ];
}
const OTHER_SIGNS = ['|', ';', ',', ':', '^', '~'];

async function titleAbove(sheet: Sheet, first: number): Promise<string[]> {
  let searched = 0;
  for await (const { row, cells } of sheet.rows()) {
    // The title may have another sign than the rows below are divided by.
    if (row > first && hasParticipantCode(cells.flatMap((cell) => cell.split(/[,;\t]/))))
      return [`Row ${row} looks like the header: the rows above it have to go.`];
    if ((searched += 1) > SEARCHED) break;
  }
  return [];
}

/** A file's rows in order, `size` at a time, each validated by the rules of a participant's own fields. */
export async function* portionsOf(
  sheet: Sheet,
  { header, headerCells, headerRow }: FileOutline,
  size: number,
): AsyncGenerator<ReadRow[]> {
  let portion: ReadRow[] = [];
  for await (const one of sheet.rows()) {
    if (one.row > headerRow && isFilled(one.cells))
      portion.push(
        isSame(one.cells, headerCells)
          ? { row: one.row, fields: {}, faults: [REPEATED], cells: one.cells }
          : readRow(one, header),
      );
    if (portion.length < size) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

const isFilled = (cells: readonly string[]): boolean => cells.some((cell) => cell.trim() !== '');

/** Two concatenated files: the second header is not a participant. */
const REPEATED: RowFault = { field: null, code: 'REPEATED_HEADER', message: 'The row is the header once more' };
const isSame = (cells: readonly string[], header: readonly string[]): boolean =>
  cells[0] === header[0] &&
  Array.from({ length: Math.max(cells.length, header.length) }).every(
    (_, i) => (cells[i] ?? '').trim() === (header[i] ?? '').trim(),
  );

function readRow({ row, cells }: SheetRow, { columns }: Header): ReadRow {
  const fields: RowFields = {};
  for (let i = 0; i < columns.length; i += 1) {
    const column = columns[i],
      value = cells[i]?.trim();
    if (column && value) fields[column] = value;
  }
  const broken = [...lostDigits(row, fields), ...formulaErrors(fields)];
  return {
    row,
    fields,
    faults: [...tooMany(cells, columns.length), ...(broken.length > 0 ? broken : faultsOf(fields))],
    cells,
  };
}

function tooMany(cells: readonly string[], columns: number): RowFault[] {
  if (cells.length <= columns || !isFilled(cells.slice(columns))) return [];
  return [{ field: null, code: 'TOO_MANY_CELLS', message: `The row has ${cells.length} cells, the header ${columns}` }];
}

/** Error values of spreadsheet formulas. */
const FORMULA_ERROR =
  /^#(?:N\/A|DIV\/0!|REF!|VALUE!|NAME\?|NUM!|NULL!|GETTING_DATA|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|UNKNOWN!|BUSY!|PYTHON!|EXTERNAL!)$/i;
/**
 * The same in other languages, as programs write it to CSV: `#WERT!`, `#¡VALOR!`, `#NOM?`, `#NV`; LibreOffice:
 * `Err:502`.
 */
const LOCAL_FORMULA_ERROR =
  /^(?:#[¡¿]?\p{Lu}[\p{Lu}\p{N}/ _.]*[!?]|#(?:NV|N\/[BD]|I\/T|YOK|HIÁNYZIK|Н\/Д|NENÍ_K_DISPOZICI)|(?:Err|Fehler|Erreur|Errore):5\d\d)$/u;
/** A date or number as programs write it to CSV from a column too narrow to show it. */
const TOO_NARROW = /^#{3,}$/;
const isFormulaError = (value: string): boolean =>
  FORMULA_ERROR.test(value) || LOCAL_FORMULA_ERROR.test(value) || TOO_NARROW.test(value);
const formulaErrors = (fields: RowFields): RowFault[] =>
  Object.entries(fields)
    .filter(([, value]) => value !== DIGITS_LOST && (value === NOT_CALCULATED || isFormulaError(value)))
    .map(([field, value]) => ({
      field,
      code: 'FORMULA_ERROR',
      message:
        value === NOT_CALCULATED
          ? `${field} is a formula without a stored value: open the file in a spreadsheet program and save it there`
          : TOO_NARROW.test(value)
            ? `${field} is ${value}: the column was too narrow when the file was saved`
            : `${field} is ${value}: the formula of the cell has no value`,
    }));

/** A text that a spreadsheet program took for a number, as written to CSV: `1.23457E+15`, or `1.00E-01` for 1E-01. */
const SHORTENED = /^-?\d(?:(?:[.,]\d+)?E\+|[.,]\d+E-)\d{2,3}$/;
const NAMES = ['participant_code', 'external_id', 'site_code'] as const;

/** Numbers that are no longer those that were typed: two participants may have become the same. */
const lostDigits = (row: number, fields: RowFields): RowFault[] =>
  (Object.keys(fields) as ImportColumn[])
    .filter(
      (field) =>
        fields[field] === DIGITS_LOST || (NAMES.some((name) => name === field) && SHORTENED.test(fields[field]!)),
    )
    .map((field) => ({
      field,
      code: 'NUMBER_NOT_EXACT',
      message:
        `${field} in row ${row} is a number of more than 15 digits, or with an exponent (1E5), which a spreadsheet ` +
        `program does not keep as it was typed: store it as text`,
    }));

/** A lone surrogate, and the NUL that no column can store. */
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** The same rules as POST …/participants, and those that a JSON body can't break. */
function faultsOf(fields: RowFields): RowFault[] {
  const unstorable = Object.entries(fields)
    .filter(([, value]) => UNSTORABLE.test(value))
    .map(([field]) => ({ field, code: 'PATTERN', message: `${field} has a character that cannot be stored` }));
  return unstorable.length > 0
    ? unstorable
    : faultsIn(NewParticipant, fields).map(({ path, code, message }) => ({ field: path ?? null, code, message }));
}
