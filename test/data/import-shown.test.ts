import { expect } from 'chai';
import excel from 'exceljs';
import { admin, newStudy } from '../support/http.js';
import type { Http } from '../support/http.js';
import { imported } from './stage.js';

/** A code is what a person reads in the cell, not what the program stores behind it. */
describe('Importing codes as cells show them', function () {
  this.timeout(120_000);
  let http: Http;
  before(async () => {
    http = await admin();
  });

  it('numbers have the zeros and texts of their format', async () => {
    const cells: [number: number, format: string, shown: string][] = [
      [12, '00000', '00012'],
      [15, '"P-"0000', 'P-0015'],
      [12_345, '"P-"0000', 'P-12345'],
      [1_234_567, '000-0000', '123-4567'],
      [34_567, '000-0000', '003-4567'],
      [123_456_789, String.raw`000\-00\-0000`, '123-45-6789'],
      [151_234_567, '"0"000000000', '0151234567'],
      [2_125_550_123, '(000) 000-0000', '(212) 555-0123'],
      [5_550_123, '(###) 000-0000', '() 555-0123'],
      [7, '0000;-0000;0', '0007'],
      [0, '000', '000'],
      // A percentage, a decimal point, groups, a sign and a condition stay the number that they are.
      [0.5, '0%', '0.5'],
      [1234.5, '0.00', '1234.5'],
      [1234, '#,##0', '1234'],
      [-5, '00000', '-5'],
      [5, '[<9]00;0000', '5'],
    ];
    const book = new excel.Workbook();
    const sheet = book.addWorksheet('People');
    sheet.addRow(['participant_code', 'external_id']);
    for (const [row, [number, format]] of cells.entries()) sheet.addRow([`P${row}`, number]).getCell(2).numFmt = format;
    const study = await newStudy(http);
    const bytes = new Uint8Array(await book.xlsx.writeBuffer());
    const result = await imported(http, study.id, bytes, '', 'excel');
    expect(result.imported_participants.map(({ external_id }) => external_id)).to.deep.equal(
      cells.map(([, , shown]) => shown),
    );
  });

  it('a text that a CSV file keeps as a formula is the text; a shortened number is refused by its row', async () => {
    const file = 'participant_code,external_id\n="0012",="007"\n"=""0013""","=""a,b"""\nP-1,1E+15\nP-2,="x"&"y"\n';
    const study = await newStudy(http);
    const { imported_participants, errors } = await imported(http, study.id, file);
    expect(imported_participants.map((one) => [one.participant_code, one.external_id])).to.deep.equal([
      ['0012', '007'],
      ['0013', 'a,b'],
      ['P-2', '="x"&"y"'],
    ]);
    expect(errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [4, 'external_id', 'NUMBER_NOT_EXACT'],
    ]);
  });
});
