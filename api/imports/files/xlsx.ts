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
  return {
    rows: () => decompress(pieces),
    notes: { sheet: sheet.name },
    warnings: warningsOf(sheet),
    ...cautionOf(sheet),
  };
}

function cautionOf({ name, sheets, hidden }: SheetRead): { caution?: string } {
  if (sheets === 1 && !hidden) return {};
  return {
    caution: `The first sheet is read: “${name}”, ${hidden ? 'which is hidden' : `one of ${sheets}`}.`,
  };
}

/** What the program that the file was made with does not show, and is imported all the same. */
function warningsOf({ name, hidden, hiddenRows: { count, first } }: SheetRead): { code: string; message: string }[] {
  const more = count > first.length ? ` and ${count - first.length} more` : '';
  return [
    ...(hidden ? [{ code: 'HIDDEN_SHEET', message: `The first sheet, “${name}”, is hidden, and was read` }] : []),
    ...(count > 0
      ? [
          {
            code: 'HIDDEN_ROWS',
            message:
              'Hidden rows of the sheet, as a filter leaves them, were read like the others: ' +
              `${first.join(', ')}${more}`,
          },
        ]
      : []),
  ];
}
