import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import excel from 'exceljs';

/** A workbook of so many participants, each with texts of its own, as a writer makes it that streams. */
export async function participantsBook(rows: number): Promise<Uint8Array> {
  const stream = new PassThrough();
  const written = buffer(stream);
  const book = new excel.stream.xlsx.WorkbookWriter({ stream, useSharedStrings: true, useStyles: true });
  const sheet = book.addWorksheet('People');
  sheet.addRow(['participant_code', 'external_id', 'site_code', 'preferred_language']).commit();
  for (let i = 0; i < rows; i += 1) sheet.addRow([`P-${i}`, randomUUID(), '', 'en']).commit();
  sheet.commit();
  await book.commit();
  return new Uint8Array(await written);
}
