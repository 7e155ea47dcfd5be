import { setTimeout as pause } from 'node:timers/promises';
import { deflateRawSync } from 'node:zlib';
import { expect } from 'chai';
import excel from 'exceljs';
import { admin, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { mainThreadMs, processMs } from '../support/main-thread.js';
import { service } from '../support/service.js';
import { imported, sendFile } from './stage.js';
import { HEADER, archive, bookOf } from './workbooks.js';

const BETWEEN_LOOKS_MS = 10;

async function workbook(fill: (sheet: excel.Worksheet, book: excel.Workbook) => void): Promise<Uint8Array> {
  const book = new excel.Workbook();
  fill(book.addWorksheet('People'), book);
  return new Uint8Array(await book.xlsx.writeBuffer());
}

describe('Importing participants from a workbook', function () {
  this.timeout(180_000);
  let http: Http;
  let study: Loose;
  before(async () => {
    http = await admin();
  });
  beforeEach(async () => {
    study = await newStudy(http);
    await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: '01' });
  });
  const found = async (code: string) =>
    (
      await http.expect<{ items: Loose[] }>(
        200,
        'GET',
        `/api/studies/${study.id}/participants?search=${encodeURIComponent(code)}`,
      )
    ).items[0]!;

  it('a number of more digits than a workbook keeps is an error of its row that says what to do; as text it is taken', async () => {
    const bytes = await workbook((sheet) => {
      sheet.addRow(['participant_code', 'external_id', 'notes']);
      sheet.addRow([1234567890123450, 'A']);
      sheet.addRow(['1234567890123456789', '12345678901234567']);
      sheet.addRow(['P-4', 1.23456789012345e18]);
      sheet.addRow(['P-5', { formula: '10^16', result: 1e16 }]);
      sheet.addRow([999999999999999, 'B']);
    });
    const result = await imported(http, study.id, bytes, '', 'excel');
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [2, 'participant_code', 'NUMBER_NOT_EXACT'],
      [4, 'external_id', 'NUMBER_NOT_EXACT'],
      [5, 'external_id', 'NUMBER_NOT_EXACT'],
    ]);
    expect(result.errors[0]!.message).to.match(/participant_code in row 2 .*store it as text/);
    expect(
      result.imported_participants.map(({ participant_code, external_id }) => [participant_code, external_id]),
    ).to.deep.equal([
      ['1234567890123456789', '12345678901234567'],
      ['999999999999999', 'B'],
    ]);
  });

  it('a code that is a date or time is taken, and a warning names its row: it may have been typed as 3-4', async () => {
    const bytes = await workbook((sheet) => {
      sheet.addRow(['participant_code', 'external_id', 'date_of_birth']);
      sheet.addRow([new Date(Date.UTC(2026, 2, 4)), 'R-1', new Date(Date.UTC(1980, 0, 1))]);
      sheet.addRow(['P-2', new Date(Date.UTC(2026, 3, 3))]);
      sheet.addRow(['3-4', '4/3']);
    });
    const result = await imported(http, study.id, bytes, '', 'excel');
    expect(result.imported_participants.map(({ participant_code }) => participant_code)).to.deep.equal([
      '2026-03-04',
      'P-2',
      '3-4',
    ]);
    const said = (answer: typeof result) =>
      (answer.warnings as { code: string; message: string }[]).filter(({ code }) => code === 'CODE_IS_DATE');
    expect(said(result).map(({ message }) => /^(\w+) in row (\d+)/.exec(message)?.slice(1))).to.deep.equal([
      ['participant_code', '2'],
      ['external_id', '3'],
    ]);
    const csv = await imported(
      http,
      study.id,
      'participant_code,arm\n04.03.2027,A\n4-Mar,A\nMär 04,A\nMar-04,B\n4. Mrz,B\n03:40,B\n1.2,A\nA-4-Mar,A\n3-4-5,A\n',
      '?dry_run=true',
    );
    expect(said(csv).map(({ message }) => Number(/row (\d+)/.exec(message)?.[1]))).to.deep.equal([2, 3, 4, 5, 6, 7]);
  });

  it('reads the first sheet: dates without a zone, leading zeros, formulas’ results, rich text; rows are numbered as the sheet numbers them', async () => {
    const bytes = await workbook((sheet, book) => {
      sheet.addRow(['participant_code', 'external_id', 'site_code', 'preferred_language', 'date_of_birth']);
      sheet.addRow(['0042', 17, '01', 'de', new Date(Date.UTC(1960, 1, 29))]);
      sheet.addRow([]);
      sheet.addRow([
        { richText: [{ text: 'P-' }, { text: '2' }] },
        { formula: '1+1', result: 2 },
        1,
        'en',
        '1970-12-31',
      ]);
      sheet.getCell('C4').numFmt = '00';
      sheet.addRow([{ formula: '1/0', result: { error: '#DIV/0!' } }, '', 'XX']);
      book.addWorksheet('Other').addRow(['participant_code']);
    });
    const result = await imported(http, study.id, bytes, '', 'excel');
    expect(result).to.deep.include({ total_rows: 3, imported_count: 2, error_count: 1, file: { sheet: 'People' } });
    expect(result.imported_participants).to.deep.equal([
      { row: 2, participant_code: '0042', external_id: '17', site_code: '01' },
      { row: 4, participant_code: 'P-2', external_id: '2', site_code: '01' },
    ]);
    expect(result.errors.map(({ row, code }) => [row, code])).to.deep.equal([[5, 'FORMULA_ERROR']]);
    expect(await found('0042')).to.include({ date_of_birth: '1960-02-29' });
  });

  it('a formula without a value is an error of its row, in whatever column, and nothing comes of it', async () => {
    const own = await newStudy(http);
    const bytes = await workbook((sheet) => {
      sheet.addRow(['participant_code', 'external_id', 'site_code']);
      sheet.addRow([{ formula: 'NA()', result: { error: '#N/A' } }, 'E1', '']);
      sheet.addRow(['P-2', { formula: '1/0', result: { error: '#DIV/0!' } }, '']);
      sheet.addRow(['P-3', 'E3', { formula: 'A99', result: { error: '#REF!' } }]);
      sheet.addRow(['P-4', 'E4', '']);
    });
    const result = await imported(http, own.id, bytes, '?create_missing_sites=true', 'excel');
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [2, 'participant_code', 'FORMULA_ERROR'],
      [3, 'external_id', 'FORMULA_ERROR'],
      [4, 'site_code', 'FORMULA_ERROR'],
    ]);
    expect(result.imported_participants.map(({ participant_code }) => participant_code)).to.deep.equal(['P-4']);
    expect((await http.expect<{ total: number }>(200, 'GET', `/api/studies/${own.id}/sites`)).total).to.equal(0);
  });

  it('a formula that nobody calculated is an error that says so, and an empty result is no value', async () => {
    const bytes = await handmade(
      `<row r="1">${text('A1', 'participant_code')}${text('B1', 'external_id')}</row>` +
        `<row r="2"><c r="A2"><f>CONCAT("P","1")</f></c></row>` +
        `<row r="3">${text('A3', 'P-2')}<c r="B3"><f>C3&amp;"x"</f><v></v></c></row>` +
        `<row r="4">${text('A4', unique('P'))}<c r="B4" t="str"><f>""</f><v></v></c></row>`,
    );
    const result = await imported(http, study.id, bytes, '', 'excel');
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [2, 'participant_code', 'FORMULA_ERROR'],
      [3, 'external_id', 'FORMULA_ERROR'],
    ]);
    expect(result.errors[0]!.message).to.match(/without a stored value: open the file in a spreadsheet program/);
    expect(result.imported_count).to.equal(1);
  });

  it('a refused header names the title above it, the hidden sheet that was read, a formula in it', async () => {
    const refusal = async (bytes: Uint8Array) => {
      const answer = await sendFile(http, study.id, bytes, '', 'excel');
      expect([answer.status, answer.body['code']]).to.deep.equal([400, 'HEADER_INVALID']);
      return String(answer.body['detail']);
    };
    const rows = `<row r="1">${text('A1', 'Cohort of spring')}</row><row r="4">${text('B4', 'Participant code')}</row>`;
    expect(await refusal(await handmade(rows))).to.match(/Row 4 looks like the header/);
    const sheets = bookOf({ Lists: 'worksheets/sheet1.xml', People: 'worksheets/sheet2.xml' });
    const hidden = {
      ...sheets,
      'xl/workbook.xml': sheets['xl/workbook.xml'].replace('name="Lists"', 'name="Lists" state="hidden"'),
      'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row r="1">${text('A1', 'BER')}</row></sheetData></worksheet>`,
      'xl/worksheets/sheet2.xml': `<worksheet><sheetData>${HEADER}</sheetData></worksheet>`,
    };
    expect(await refusal(await archive(hidden))).to.match(/The first sheet is read: “Lists”, which is hidden\./);
    expect(await refusal(await archive({ ...hidden, 'xl/workbook.xml': sheets['xl/workbook.xml'] }))).to.match(
      /The first sheet is read: “Lists”, one of 2\./,
    );
    expect(await refusal(await handmade('<row r="1"><c r="A1"><f>B9</f></c></row>'))).to.match(
      /A cell of the header is a formula without a stored value\./,
    );
  });

  it('the template comes in both formats and goes back in, the sites to choose from', async () => {
    const at = `/api/studies/${study.id}/participants/import/template`;
    const csv = await http.get(at);
    expect(csv.text).to.equal('participant_code,external_id,site_code,preferred_language\n');
    expect(csv.headers.get('content-disposition')).to.include('participants-template.csv');
    expect(await imported(http, study.id, csv.text)).to.include({ success: true, total_rows: 0 });
    const response = await fetch(`${http.base}${at}?format=xlsx`, {
      headers: { Authorization: `Bearer ${http.token!}` },
    });
    const book = new excel.Workbook();
    await book.xlsx.load(await response.arrayBuffer());
    const sheet = book.worksheets[0]!;
    expect(sheet.getCell('C2').dataValidation).to.deep.include({ type: 'list', formulae: ['Sites!$A$2:$A$2'] });
    sheet.getRow(2).values = ['007', 'R', '01', 'de'];
    expect(await imported(http, study.id, new Uint8Array(await book.xlsx.writeBuffer()), '', 'excel')).to.include({
      success: true,
      imported_count: 1,
    });
    expect(await found('007')).to.include({ site_code: '01' });
  });

  /** A workbook whose one sheet is written by hand, as no program would. */
  const handmade = (rows: string, begin = '') =>
    archive({
      '[Content_Types].xml': Buffer.from(
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
      ),
      'xl/workbook.xml': Buffer.from(
        '<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="People" sheetId="1" r:id="rId1"/></sheets></workbook>',
      ),
      'xl/_rels/workbook.xml.rels': Buffer.from(
        '<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
      ),
      'xl/worksheets/sheet1.xml': Buffer.from(`${begin}<worksheet><sheetData>${rows}</sheetData></worksheet>`),
    });
  const text = (at: string, value: string) => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;

  it('a header that comes again is told, and enrolls nobody', async () => {
    const result = await imported(
      http,
      study.id,
      await handmade(
        `<row r="1">${text('A1', 'participant_code')}${text('B1', 'site_code')}</row><row r="3">${text('A3', 'N-2')}</row><row r="4">${text('A4', 'participant_code')}${text('B4', 'site_code')}</row>`,
      ),
      '',
      'excel',
    );
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [4, null, 'REPEATED_HEADER'],
    ]);
    expect(result.imported_participants.map(({ row, participant_code }) => [row, participant_code])).to.deep.equal([
      [3, 'N-2'],
    ]);
  });

  for (const [what, rows, begin] of [
    ['ten million cells in its first row', () => `<row r="1">${'<c/>'.repeat(10_000_000)}</row>`],
    [
      'a row whose number is four thousand million',
      () => `<row r="1">${text('A1', 'participant_code')}</row><row r="4000000000">${text('A4000000000', 'P-1')}</row>`,
    ],
    [
      'a column whose number is three hundred million',
      () => `<row r="1">${text('A1', 'participant_code')}${text('ZZZZZZ1', 'x')}</row>`,
    ],
    ['a NUL byte', () => `<row r="1">${text('A1', 'participant_code')}</row><row r="2">${text('A2', 'N-1&#0;')}</row>`],
    [
      'one merged cell of the whole sheet',
      () =>
        `<row r="1">${text('A1', 'participant_code')}</row></sheetData><mergeCells><mergeCell ref="A2:XFD1048576"/></mergeCells><sheetData>`,
    ],
    [
      'entities that unfold a thousand million times',
      () => `<row r="1">${text('A1', '&j;')}</row>`,
      `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${'abcdefghi'
        .split('')
        .map((name, i) => `<!ENTITY ${'bcdefghij'[i]!} "${`&${name};`.repeat(10)}">`)
        .join('')}]>`,
    ],
  ] as const) {
    it(`${what}: refused in seconds, and the API answers meanwhile`, async () => {
      const content = await handmade(rows(), begin);
      const { pids } = await service();
      const before = { all: processMs(pids.api!), main: mainThreadMs(pids.api!) };
      let answered = false;
      const sent = sendFile(http, study.id, content, '', 'excel').finally(() => {
        answered = true;
      });
      while (!answered) {
        await http.expect(200, 'GET', '/api/health');
        await pause(BETWEEN_LOOKS_MS);
      }
      const answer = await sent;
      expect(answer.status, answer.text.slice(0, 300)).to.equal(400);
      // In processor time: how long they take on the clock is the machine's as well.
      if (before.all === undefined || before.main === undefined) return;
      expect(processMs(pids.api!)! - before.all, 'ms of all threads').to.be.below(20_000);
      expect(mainThreadMs(pids.api!)! - before.main, 'ms of the thread that answers').to.be.below(5_000);
    });
  }

  it('widths of four thousand million columns are nobody’s business', async () => {
    const result = await imported(
      http,
      study.id,
      await handmade(
        `</sheetData><cols><col min="1" max="4000000000" width="3"/></cols><sheetData><row r="1">${text('A1', 'participant_code')}</row><row r="2">${text('A2', 'W-1')}</row>`,
      ),
      '',
      'excel',
    );
    expect(result).to.include({ success: true, imported_count: 1 });
  });

  it('a workbook of 21 MiB is 413', async () => {
    const answer = await sendFile(
      http,
      study.id,
      Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), Buffer.alloc(21 * 1024 * 1024)]),
      '',
      'excel',
    );
    expect([answer.status, answer.body.code]).to.deep.equal([413, 'TOO_LARGE']);
  });

  describe('what is refused, with 400 FILE_UNREADABLE and a reason', () => {
    const zeros = Buffer.alloc(80 * 1024 * 1024);
    const bad: [name: string, content: () => Promise<Uint8Array> | Uint8Array, reason: RegExp][] = [
      ['CSV', () => Buffer.from('participant_code\nP-1\n'), /not a workbook/],
      [
        'an old or encrypted workbook',
        () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]),
        /old \(\.xls\) or encrypted/,
      ],
      ['an archive of something else', () => archive({ 'readme.txt': Buffer.from('x') }), /not a workbook/],
      [
        'macros',
        () => archive({ 'xl/workbook.xml': Buffer.from('<workbook/>'), 'xl/vbaProject.bin': Buffer.from('x') }),
        /macros/,
      ],
      [
        'a workbook that is damaged',
        () => archive({ 'xl/workbook.xml': Buffer.from('<workbook') }),
        /damaged|no sheet/,
      ],
      [
        'a zip bomb',
        () => archive({ 'xl/workbook.xml': Buffer.from('<workbook/>'), 'xl/worksheets/sheet1.xml': zeros }),
        /unpacked/,
      ],
      [
        'a zip bomb that lies about its size',
        async () => {
          const bytes = Buffer.from(
            await archive({ 'xl/workbook.xml': Buffer.from('<workbook/>'), 'xl/worksheets/sheet1.xml': zeros }),
          );
          const size = Buffer.alloc(4);
          size.writeUInt32LE(zeros.length);
          for (let at = bytes.indexOf(size); at >= 0; at = bytes.indexOf(size, at + 4)) bytes.writeUInt32LE(10, at);
          return bytes;
        },
        /unpacked/,
      ],
      [
        'an archive cut short',
        async () => (await workbook((sheet) => sheet.addRow(['participant_code']))).slice(0, 500),
        /not a workbook/,
      ],
      [
        'random bytes behind a signature',
        () => Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), deflateRawSync(Buffer.from('noise'))]),
        /not a workbook/,
      ],
    ];
    for (const [name, content, reason] of bad) {
      it(name, async () => {
        const answer = await sendFile(http, study.id, await content(), '', 'excel');
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'FILE_UNREADABLE']);
        expect(answer.body.detail).to.match(reason);
      });
    }
  });
});
