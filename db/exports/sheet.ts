import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { yieldAfter } from '../client/yield-after.js';
import type { DatasetColumn } from './columns.js';

/** The most rows of a sheet, without its header. */
export const MAX_SHEET_ROWS = 1_048_575;
const MAX_CELL = 32_767;
const CUT = ' … [cut here: the formats csv and json have all of it]';
const HIGH_WATER = 4 * 1024 * 1024;

export class TooManyRows extends Error {}

const FORMATS: Partial<Record<DatasetColumn['type'], string>> = { date: 'yyyy-mm-dd', instant: 'yyyy-mm-dd hh:mm:ss' };
const WIDTHS: Partial<Record<DatasetColumn['type'], number>> = {
  id: 38,
  date: 12,
  instant: 20,
  number: 12,
  boolean: 10,
};
const WIDTH = 20;
/** Spreadsheets count days from 1900, and treat 1900 as a leap year: earlier dates can't be dates there. */
const FIRST_DAY = '1900-03-01';
const LAST = Date.UTC(9999, 11, 31);

/**
 * Writes lines of JSON as a workbook's sheet, streaming. Dates and instants (in UTC) become the spreadsheet's own; the
 * header is frozen and filterable. Texts stay texts: no formula runs.
 * @throws TooManyRows
 */
export async function writeSheet(
  lines: Readable,
  columns: readonly DatasetColumn[],
  name: string,
  sink: Writable,
): Promise<void> {
  const { default: excel } = await import('exceljs');
  const workbook = new excel.stream.xlsx.WorkbookWriter({
    stream: sink as never,
    useStyles: true,
    useSharedStrings: false,
  });
  const sheet = workbook.addWorksheet(name, { views: [{ state: 'frozen', ySplit: 1 }] });
  sheet.columns = columns.map(({ type }) => ({
    width: WIDTHS[type] ?? WIDTH,
    ...(FORMATS[type] && { style: { numFmt: FORMATS[type] } }),
  }));
  sheet.autoFilter = { from: { row: 1, column: 1 }, to: { row: 1, column: columns.length } };
  const header = sheet.addRow(columns.map((column) => sheetText(column.name)));
  header.font = { bold: true };
  header.commit();
  const done = finished(sink);
  done.catch(() => {
    lines.destroy();
  });
  // The loop throws it: the abandoned connection emits the error once more.
  lines.on('error', () => undefined);
  const serveOthers = yieldAfter();
  let rows = 0;
  for await (const line of linesOf(lines)) {
    if (++rows > MAX_SHEET_ROWS) throw new TooManyRows(`a sheet holds ${MAX_SHEET_ROWS} rows`);
    const record = JSON.parse(line) as Record<string, unknown>;
    sheet.addRow(columns.map(({ name: field, type }) => cellOf(record[field], type))).commit();
    await serveOthers();
    // The library has no back-pressure.
    if (sink.writableLength > HIGH_WATER)
      await new Promise((resolve) => {
        sink.once('drain', resolve);
        sink.once('close', resolve);
      });
    if (sink.destroyed) throw new Error('the reader has gone');
  }
  if (sink.destroyed) throw new Error('the reader has gone');
  await workbook.commit();
  await done;
}

/**
 * The lines of a COPY, which end with a line feed alone. Texts may have other separators (U+2028), at which some
 * releases of Node.js end a line too.
 */
async function* linesOf(source: Readable): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const whole = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = whole.lastIndexOf(10);
    rest = whole.subarray(end + 1);
    if (end >= 0) yield* whole.toString('utf8', 0, end).split('\n');
  }
  if (rest.length > 0) yield rest.toString('utf8');
}

function cellOf(value: unknown, type: DatasetColumn['type']): string | number | boolean | Date | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if ((type === 'date' || type === 'instant') && typeof value === 'string' && value >= FIRST_DAY) {
    const at = new Date(value);
    // Spreadsheets have no years of more than four digits either.
    if (at.getTime() <= LAST) return at;
  }
  return sheetText(type === 'json' ? JSON.stringify(value) : String(value));
}

/** Characters that XML cannot hold, or that its readers replace. */
const NOT_XML = /(?![\t\n])\p{Cc}|[\ufffe\uffff]/gu;
/** Text that a reader would take for such an escape. */
const LIKE_ESCAPE = /_(?=x[\da-f]{4}_)/gi;
const escaped = (character: string): string =>
  `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;

/** A text as a cell can hold it: cut with a remark where it is too long, other characters in workbooks' notation. */
export function sheetText(text: string): string {
  const whole =
    text.length <= MAX_CELL ? text : text.slice(0, MAX_CELL - CUT.length).replace(/[\ud800-\udbff]$/, '') + CUT;
  return whole.replace(LIKE_ESCAPE, escaped).replace(NOT_XML, escaped);
}
