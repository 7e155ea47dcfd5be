import type { CellValue, Row, Worksheet } from 'exceljs';
import { problem } from '../errors.js';
import type { Sheet, SheetRow } from './sheet.js';
import { requirePlainWorkbook } from './workbook-archive.js';

/**
 * Reads the first sheet of a workbook. The library is loaded when the first workbook comes: it would be a third of the
 * process's memory.
 * @throws 400 FILE_UNREADABLE: no workbook, macros, encrypted, or far larger unpacked than any list of participants
 */
export async function readXlsx(bytes: Buffer): Promise<Sheet> {
  await requirePlainWorkbook(bytes);
  const { default: excel } = await import('exceljs');
  const workbook = new excel.Workbook();
  try {
    await workbook.xlsx.load(bytes as unknown as ArrayBuffer, { ignoreNodes: ['dataValidations', 'conditionalFormatting', 'drawing', 'picture', 'hyperlinks', 'tableParts', 'rowBreaks', 'colBreaks', 'cols'] });
  } catch (fault) {
    throw problem('FILE_UNREADABLE', { detail: 'The workbook is damaged: it cannot be read.', cause: fault });
  }
  const [sheet] = [...workbook.worksheets].sort((a, b) => orderOf(a) - orderOf(b));
  if (!sheet) throw problem('FILE_UNREADABLE', { detail: 'The workbook has no sheet.' });
  // A number that somebody wrote there: every row up to it would be looked for.
  if (sheet.rowCount > LAST_ROW) throw problem('FILE_UNREADABLE', { detail: `The sheet has a row ${sheet.rowCount}; the last there can be is ${LAST_ROW}.` });
  return { rows: () => rowsOf(sheet), notes: { sheet: sheet.name } };
}

const LAST_ROW = 1_048_576;
const orderOf = (sheet: object): number => (sheet as { orderNo?: number }).orderNo ?? 0;
async function* rowsOf(sheet: Worksheet): AsyncGenerator<SheetRow> {
  for (let number = 1; number <= sheet.rowCount; number += 1) {
    const row = sheet.findRow(number);
    if (row?.hasValues) yield { row: number, cells: cellsOf(row) };
  }
}

const MAX_CELLS = 2_000;
function cellsOf(row: Row): string[] {
  const cells: string[] = [];
  for (let column = 1; column <= Math.min(row.cellCount, MAX_CELLS); column += 1) {
    const cell = row.findCell(column);
    cells.push(cell ? textOf(cell.value, cell.numFmt) : '');
  }
  return cells;
}

/** A cell as the person sees it: dates without a zone, numbers with the zeros of their format, results of formulas. */
function textOf(value: CellValue, format: string | undefined): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString().slice(0, 10);
  if (typeof value === 'number') return /^0+$/.test(format ?? '') && Number.isInteger(value) && value >= 0 ? String(value).padStart(format!.length, '0') : String(value);
  if (typeof value !== 'object') return String(value);
  if ('richText' in value) return value.richText.map(({ text }) => text).join('');
  if ('hyperlink' in value) return typeof value.text === 'object' ? textOf(value.text as CellValue, format) : value.text;
  if ('error' in value) return value.error;
  if ('result' in value) return textOf(value.result as CellValue, format);
  return '';
}
