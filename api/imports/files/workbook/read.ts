import { partContent, partsOf } from './archive.js';
import { openBook } from './book.js';
import { Merged } from './merged.js';
import { assertSizeLimits } from './size-limits.js';
import { Packing } from './decompress.js';
import { WorkbookRows } from './rows.js';
import { SharedStrings } from './strings.js';
import { formatsOf } from './styles.js';
import { readXml } from './xml.js';

/** The sheet that was read: its name, the number of sheets, and whether it and its rows are visible. */
export interface SheetRead {
  name: string;
  sheets: number;
  hidden: boolean;
  hiddenRows: { count: number; first: readonly number[] };
}

/**
 * Reads the first sheet of a workbook completely, row by row while its elements arrive, in any order of the archive's
 * parts.
 * @param send gets the compressed rows
 * @throws 400 FILE_UNREADABLE: no workbook, macros, encrypted, damaged, or far larger uncompressed than any list of
 * participants
 */
export async function readWorkbook(bytes: Buffer, send: (piece: Uint8Array<ArrayBuffer>) => void): Promise<SheetRead> {
  const parts = partsOf(bytes);
  const merges = await assertSizeLimits(parts.values());
  const { sheet, name, sheets, hidden, date1904, strings, styles } = await openBook(parts);
  const meaning = { strings: await SharedStrings.of(strings), formats: await formatsOf(styles), date1904 };
  const packing = new Packing(send);
  const rows = new WorkbookRows(meaning, new Merged(merges.get(sheet) ?? []), (row, cells) => packing.add(row, cells));
  await readXml(partContent(sheet), rows);
  rows.end();
  packing.end();
  return { name, sheets, hidden, hiddenRows: rows.hidden };
}
