import { expect } from 'chai';
import excel from 'exceljs';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { imported, sendFile } from './stage.js';
import { archive, bookOf, text } from './workbooks.js';

/** What people send in place of a list, or have in it without seeing it. */
describe('Files that are not what their sender thinks', function () {
  this.timeout(120_000);
  let http: Http, study: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
  });

  const refusal = async (content: string | Uint8Array, format: 'csv' | 'excel' = 'csv') => {
    const { status, body } = await sendFile(http, study.id, content, '', format);
    expect(status).to.equal(400);
    return `${body.code}: ${body.detail}`;
  };

  it('are called what they are', async () => {
    const html = '\ufeff\n<!DOCTYPE html>\n<html><table><tr><td>participant_code</td></tr></table></html>';
    expect(await refusal(html)).to.equal('FILE_UNREADABLE: The file is a web page (HTML), not CSV.');
    expect(await refusal(html, 'excel')).to.equal(
      'FILE_UNREADABLE: The file is a web page (HTML), not a workbook (.xlsx).',
    );
    expect(await refusal('%PDF-1.7\n%\u00e2')).to.match(/^FILE_UNREADABLE: The file is a PDF document/);
    expect(await refusal('', 'excel')).to.match(/^FILE_UNREADABLE: The file is empty/);
    expect(await refusal(' \n')).to.match(/^HEADER_INVALID: .* No row has content\.$/);
    for (const [part, said] of [
      ['content.xml', /OpenDocument/],
      ['xl/workbook.bin', /binary workbook \(\.xlsb\)/],
      ['Index/Document.iwa', /Numbers/],
    ] as const)
      expect(await refusal(await archive({ [part]: 'x' }), 'excel'), part).to.match(said);
  });

  it('say by which sign their header is divided, where it is none that is read', async () => {
    expect(await refusal('participant_code|site_code\nP-1|BER\n')).to.match(/^HEADER_INVALID: .*“\|”.*“sep=\|”/);
    expect(await refusal('sep=,\nparticipant_code;site_code\nP-1;BER\n')).to.match(/divided by “;”/);
  });

  it('warn of a hidden sheet, and of rows that a filter hides, and read them all the same', async () => {
    const book = new excel.Workbook();
    const sheet = book.addWorksheet('People');
    for (const code of ['participant_code', 'F-1', 'F-2', 'F-3']) sheet.addRow([code]);
    book.addWorksheet('Notes').addRow(['none']);
    const bytes = async () => new Uint8Array(await book.xlsx.writeBuffer());
    expect((await imported(http, study.id, await bytes(), '?dry_run=true', 'excel')).warnings).to.deep.equal([]);
    sheet.getRow(1).hidden = sheet.getRow(2).hidden = sheet.getRow(4).hidden = sheet.getRow(9).hidden = true;
    sheet.state = 'hidden';
    const result = await imported(http, study.id, await bytes(), '', 'excel');
    expect([result.imported_count, result.warnings]).to.deep.equal([
      3,
      [
        { code: 'HIDDEN_SHEET', message: 'The first sheet, “People”, is hidden, and was read' },
        {
          code: 'HIDDEN_ROWS',
          message: 'Hidden rows of the sheet, as a filter leaves them, were read like the others: 1, 2, 4',
        },
      ],
    ]);
  });

  it('have codes of which a spreadsheet program made numbers with an exponent: errors of their rows', async () => {
    // The built-in formats 11 and 48, and two of their own; 1E5, 1E-01, 3E2, 1E5 as a text, and a number in a plain format.
    const styles =
      '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0E+00"/><numFmt numFmtId="165" formatCode="&quot;E+0&quot;0"/>' +
      '</numFmts><cellXfs><xf/><xf numFmtId="11"/><xf numFmtId="48"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>';
    const number = (at: string, value: string, style: number) => `<c r="${at}" s="${style}"><v>${value}</v></c>`;
    const rows = [
      text('A1', 'participant_code'),
      number('A2', '100000', 1),
      number('A3', '0.1', 2),
      number('A4', '300', 3),
      text('A5', '1E5'),
      number('A6', '100000', 0),
      number('A7', '7', 4),
    ].map((cell, i) => `<row r="${i + 1}">${cell}</row>`);
    const content = await archive({
      ...bookOf({ People: 'worksheets/sheet1.xml' }),
      'xl/styles.xml': styles,
      'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`,
    });
    const { errors, imported_participants } = await imported(http, study.id, content, '', 'excel');
    expect(errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal(
      [2, 3, 4].map((row) => [row, 'participant_code', 'NUMBER_NOT_EXACT']),
    );
    expect(imported_participants.map(({ participant_code }) => participant_code)).to.deep.equal(['1E5', '100000', '7']);
    // The same as CSV.
    const file = 'participant_code\n1.00E+05\n"1,00E-01"\n-1.00E+05\n1E-01\n';
    const csv = await imported(http, study.id, file);
    expect(csv.errors.map(({ row, code }) => [row, code])).to.deep.equal(
      [2, 3, 4].map((row) => [row, 'NUMBER_NOT_EXACT']),
    );
    expect(csv.imported_participants.map(({ participant_code }) => participant_code)).to.deep.equal(['1E-01']);
  });
});
