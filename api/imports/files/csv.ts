import type { CsvRead } from './csv-rows.js';
import type { Sheet } from './sheet.js';
import { readInThread } from './workbook/in-thread.js';
import type { WorkbookReading } from './workbook/in-thread.js';
import { decompress } from './workbook/decompress.js';

/**
 * Reads a CSV file in a thread of its own (csv-rows.ts). What is wrong with it anywhere is known when it is open.
 * @throws 400 FILE_UNREADABLE for what cannot be taken apart, 413 for too many lines
 */
export async function readCsv(bytes: Buffer, reading: WorkbookReading): Promise<Sheet> {
  const { sheet, pieces } = await readInThread<CsvRead>(bytes, {
    what: 'file',
    program: ['./csv-thread', import.meta.url],
    ...reading,
  });
  return { rows: () => decompress(pieces), notes: { ...sheet } };
}
