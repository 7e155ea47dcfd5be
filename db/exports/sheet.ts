import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Column } from './datasets.js';

/** What a sheet holds, less its header. */
export const MAX_SHEET_ROWS = 1_048_575;
const MAX_CELL = 32_767;
const HIGH_WATER = 4 * 1024 * 1024;

export class TooManyRows extends Error {}

/**
 * Lines of JSON as the sheet of a workbook, written as they come. Texts stay texts in it: nothing of them is run.
 * @throws TooManyRows
 */
export async function writeSheet(
  lines: Readable,
  columns: readonly Column[],
  name: string,
  sink: Writable,
): Promise<void> {
  const { default: excel } = await import('exceljs');
  const workbook = new excel.stream.xlsx.WorkbookWriter({
    stream: sink as never,
    useStyles: false,
    useSharedStrings: false,
  });
  const sheet = workbook.addWorksheet(name);
  sheet.addRow(columns.map((column) => column.name)).commit();
  const done = finished(sink);
  done.catch(() => {
    lines.destroy();
  });
  const reader = createInterface({ input: lines, crlfDelay: Infinity });
  // It waits for ever for lines of what was destroyed: the statement would stay open, and its place among the exports
  // taken.
  lines.once('close', () => {
    reader.close();
  });
  // Told below, by what it leaves in `errored`: the connection that is given up says so once more.
  lines.on('error', () => {
    reader.close();
  });
  let rows = 0;
  for await (const line of reader) {
    if (++rows > MAX_SHEET_ROWS) throw new TooManyRows(`a sheet holds ${MAX_SHEET_ROWS} rows`);
    const record = JSON.parse(line) as Record<string, unknown>;
    sheet.addRow(columns.map(({ name: field, type }) => cellOf(record[field], type))).commit();
    // The library does not say when to wait.
    if (sink.writableLength > HIGH_WATER)
      await new Promise((resolve) => {
        sink.once('drain', resolve);
        sink.once('close', resolve);
      });
    if (sink.destroyed) throw new Error('the reader has gone');
  }
  if (lines.errored) throw lines.errored;
  if (sink.destroyed) throw new Error('the reader has gone');
  await workbook.commit();
  await done;
}

function cellOf(value: unknown, type: Column['type']): string | number | boolean | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return (type === 'json' ? JSON.stringify(value) : String(value)).slice(0, MAX_CELL);
}
