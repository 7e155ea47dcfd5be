import type { CsvRead } from './csv-rows.js';
import type { Sheet } from './sheet.js';
import { readInThread } from './workbook/in-thread.js';
import type { WorkbookReading } from './workbook/in-thread.js';
import { decompress } from './workbook/decompress.js';

/**
 * Reads a CSV file in its own thread (csv-rows.ts). All of its faults are known when it is open.
 * @throws 400 FILE_UNREADABLE if it can't be parsed, 413 for too many lines
 */
export async function readCsv(bytes: Buffer, reading: WorkbookReading): Promise<Sheet> {
  const { sheet, pieces } = await readInThread<CsvRead>(bytes, {
    what: 'file',
    program: ['./csv-thread', import.meta.url],
    ...reading,
  });
  return { rows: () => decompress(pieces), notes: { ...sheet } };
}
