import type { Sheet } from './sheet.js';
import { readInThread } from './workbook/in-thread.js';
import type { WorkbookReading } from './workbook/in-thread.js';
import type { SheetRead } from './workbook/read.js';
import { decompress } from './workbook/decompress.js';

/**
 * Reads the first sheet of a workbook, row by row in its own thread. All of its faults are known when it is open.
 * @throws 400 FILE_UNREADABLE: no workbook, macros, encrypted, or far larger uncompressed than any list of participants
 */
export async function readXlsx(bytes: Buffer, reading: WorkbookReading): Promise<Sheet> {
  const { sheet, pieces } = await readInThread(bytes, reading);
  return { rows: () => decompress(pieces), notes: { sheet: sheet.name }, ...cautionOf(sheet) };
}

function cautionOf({ name, sheets, hidden }: SheetRead): { caution?: string } {
  if (sheets === 1 && !hidden) return {};
  return {
    caution: `The first sheet is read: “${name}”, ${hidden ? 'which is hidden' : `one of ${sheets}`}.`,
  };
}
