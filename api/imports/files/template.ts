import { sheetText } from '../../../db/exports/sheet.js';
import { sitesOf } from '../../../db/capture/captured-participants.queries.js';
import { reply } from '../../http/reply.js';
import type { Reply } from '../../http/reply.js';
import { templateColumns } from './columns.js';
import type { Tx } from '../../../db/client/database.js';

export const csvTemplate = (): string => `${templateColumns.join(',')}\n`;

const ROWS = 1_000;

/** The template as a workbook: text cells, so that leading zeros stay, and a choice of the study's sites. */
export async function xlsxTemplate(tx: Tx, studyId: string): Promise<Buffer> {
  const { default: excel } = await import('exceljs');
  const workbook = new excel.Workbook();
  const sheet = workbook.addWorksheet('Participants', { views: [{ state: 'frozen', ySplit: 1 }] });
  sheet.columns = templateColumns.map((key) => ({ header: key, key, width: 24, style: { numFmt: '@' } }));
  sheet.getRow(1).font = { bold: true };
  const sites = await sitesOf(tx, studyId);
  if (sites.length > 0) {
    // A list in the cell's own rule is limited to 255 characters; one on a sheet is not.
    const list = workbook.addWorksheet('Sites');
    list.columns = [{ header: 'site_code', width: 24, style: { numFmt: '@' } }];
    list.addRows(sites.map(({ site_code }) => [sheetText(site_code)]));
    const column = templateColumns.indexOf('site_code') + 1;
    for (let row = 2; row <= ROWS; row += 1) {
      sheet.getCell(row, column).dataValidation = {
        type: 'list',
        allowBlank: true,
        formulae: [`Sites!$A$2:$A$${sites.length + 1}`],
        showErrorMessage: true,
        errorTitle: 'Site',
        error: 'Not a site of the study',
      };
    }
  }
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

/** An empty template, as a download. */
export async function templateFile(tx: Tx, studyId: string, format: 'csv' | 'xlsx' = 'csv'): Promise<Reply> {
  const [body, type] =
    format === 'xlsx'
      ? ([
          await xlsxTemplate(tx, studyId),
          'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
        ] as const)
      : ([csvTemplate(), 'text/csv; charset=utf-8'] as const);
  return reply(200, body, {
    'Content-Type': type,
    'Content-Disposition': `attachment; filename="participants-template.${format}"`,
  });
}
