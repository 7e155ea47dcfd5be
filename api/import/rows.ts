import { problem } from '../errors.js';
import { NewParticipant } from '../schemas/participants.js';
import { faultsIn } from '../validation.js';
import { readHeader } from './columns.js';
import type { Header, ImportColumn } from './columns.js';
import type { Sheet, SheetRow } from './sheet.js';

export type RowFields = { [K in ImportColumn]?: string };
export interface RowFault { field: string | null; code: string; message: string }
/** A row of the file: its non-empty fields, and what is wrong with them. */
export interface ReadRow { row: number; fields: RowFields; faults: RowFault[]; cells: string[] }
export interface ReadFile { header: Header; headerCells: string[]; rows: ReadRow[] }

const MAX_ROWS = 100_000;

/**
 * Reads a file's rows and holds each against the rules of a participant's own fields. Empty rows are left out, but counted.
 * @throws 400 FILE_UNREADABLE, HEADER_INVALID; 413 more than 100,000 rows
 */
export async function readRows(sheet: Sheet): Promise<ReadFile> {
  let header: Header | undefined;
  let headerCells: string[] = [];
  const rows: ReadRow[] = [];
  for await (const one of sheet.rows) {
    if (!header) {
      header = readHeader(one.cells);
      headerCells = one.cells;
    } else if (one.cells.some((cell) => cell.trim() !== '')) {
      if (rows.length === MAX_ROWS) throw problem('TOO_LARGE', { detail: `The file has more than ${MAX_ROWS} rows: divide it.` });
      rows.push(readRow(one, header));
    }
  }
  return { header: header ?? readHeader([]), headerCells, rows };
}

function readRow({ row, cells }: SheetRow, { columns }: Header): ReadRow {
  const fields: RowFields = {};
  for (const [i, column] of columns.entries()) {
    const value = cells[i]?.trim();
    if (column && value) fields[column] = value;
  }
  return { row, fields, faults: [...tooMany(cells, columns.length), ...faultsOf(fields)], cells };
}

function tooMany(cells: readonly string[], columns: number): RowFault[] {
  if (!cells.slice(columns).some((cell) => cell.trim() !== '')) return [];
  return [{ field: null, code: 'TOO_MANY_CELLS', message: `The row has ${cells.length} cells, the header ${columns}` }];
}

/** Half a character, and the one that no column can hold. */
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** The same rules as of POST …/participants, and what a JSON body could not bring in. */
function faultsOf(fields: RowFields): RowFault[] {
  const unstorable = Object.entries(fields).filter(([, value]) => UNSTORABLE.test(value))
    .map(([field]) => ({ field, code: 'PATTERN', message: `${field} has a character that cannot be stored` }));
  return unstorable.length > 0 ? unstorable : faultsIn(NewParticipant, fields).map(({ path, code, message }) => ({ field: path ?? null, code, message }));
}
