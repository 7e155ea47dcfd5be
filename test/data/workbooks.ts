import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import excel from 'exceljs';
import yazl from 'yazl';
import type { Http } from '../support/http.js';
import { sendFile } from './stage.js';

/** A workbook of so many participants, each with texts of its own, as a writer makes it that streams. */
export async function participantsBook(rows: number, useSharedStrings = true): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new PassThrough();
  const written = buffer(stream);
  const book = new excel.stream.xlsx.WorkbookWriter({ stream, useSharedStrings, useStyles: true });
  const sheet = book.addWorksheet('People');
  sheet.addRow(['participant_code', 'external_id', 'site_code', 'preferred_language']).commit();
  for (let i = 0; i < rows; i += 1) sheet.addRow([`P-${i}`, randomUUID(), '', 'en']).commit();
  sheet.commit();
  await book.commit();
  return new Uint8Array(await written);
}

/**
 * An archive with these parts, in this order.
 * @param compress false: as they are, which for very many parts takes a tenth of the time
 */
export async function archive(parts: Record<string, string | Buffer>, compress = true): Promise<Uint8Array> {
  const zip = new yazl.ZipFile();
  for (const [name, content] of Object.entries(parts))
    zip.addBuffer(Buffer.from(content as string), name, { compress });
  zip.end();
  return new Uint8Array(await buffer(zip.outputStream as unknown as AsyncIterable<Buffer>));
}

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
/** What a workbook is made of besides its sheets. `sheets`: where each is, by what it is called. */
export const bookOf = (sheets: Record<string, string>, properties = '') => ({
  'xl/workbook.xml': `<workbook xmlns:r="${OFFICE}">${properties}<sheets>${Object.keys(sheets)
    .map((name, i) => `<sheet name="${name}" sheetId="${i + 1}" r:id="s${i}"/>`)
    .join('')}</sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships>${[
    ...Object.values(sheets).map((target, i) => ['worksheet', `s${i}`, target]),
    ['sharedStrings', 'strings', 'sharedStrings.xml'],
    ['styles', 'styles', 'styles.xml'],
  ]
    .map(
      ([type, id, target]) =>
        `<Relationship Id="${id!}" Type="${OFFICE}/${target!.includes('chart') ? 'chartsheet' : type!}" ` +
        `Target="${target!}"/>`,
    )
    .join('')}</Relationships>`,
});
/** A workbook whose one sheet has these rows; others may have parts of its own. */
export const handmade = (rows: string, others: Record<string, string | Buffer> = {}, properties = '') =>
  archive({
    ...bookOf({ People: 'worksheets/sheet1.xml' }, properties),
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    ...others,
  });

export const text = (at: string, value: string) => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
/** A header with as many columns as a row of these tests may have, which nobody is enrolled by. */
export const HEADER =
  '<row ' +
  `r="1">${['participant_code', 'b', 'c', 'd', 'e', 'f'].map((name, i) => text(`${'ABCDEF'[i]!}1`, name)).join('')}</row>`;

/** The rows of a workbook as they were read: without participant_code all of them fail, and come back as they were. */
export async function readRows(
  http: Http,
  studyId: string,
  content: Uint8Array,
): Promise<[row: number, ...cells: string[]][]> {
  const answer = await sendFile(http, studyId, content, '?dry_run=true&answer=failed_rows', 'excel');
  if (answer.status !== 200) throw new Error(`the import answered ${answer.status}: ${answer.text.slice(0, 400)}`);
  const lines = (parse(answer.text, { relax_column_count: true }) as string[][]).slice(1);
  return lines.map((cells) => [Number(cells.at(-4)), ...cells.slice(1, -4)]);
}
