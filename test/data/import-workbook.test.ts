import { expect } from 'chai';
import excel from 'exceljs';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { imported, sendFile } from './stage.js';
import { HEADER, archive, bookOf, handmade, participantsBook, readRows, text } from './workbooks.js';

/** A row without a code: five cells that come back as they were read. */
const row = (number: number, cells: string) => `<row r="${number}">${cells}</row>`;
const STYLES = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/><numFmt numFmtId="165" formatCode="[Red]yyyy\\-mm\\-dd"/><numFmt numFmtId="166" formatCode="&quot;days&quot; 0"/><numFmt numFmtId="167" formatCode="[Blue]0\\d"/></numFmts>
  <cellStyleXfs><xf numFmtId="14"/><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="14"/><xf numFmtId="31"/><xf numFmtId="167"/></cellXfs>
  <dxfs><dxf><numFmt numFmtId="164" formatCode="dd.mm.yyyy"/></dxf></dxfs></styleSheet>`;
const [ZEROS, DATE, WORDS, SHORT_DATE, EAST_ASIAN, LETTER] = [1, 2, 3, 4, 5, 6];

describe('A workbook that is imported row by row', function () {
  this.timeout(120_000);
  let http: Http;
  let study: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
  });
  const read = (content: Uint8Array) => readRows(http, study.id, content);
  const refused = async (content: Uint8Array) => {
    const answer = await sendFile(http, study.id, content, '', 'excel');
    expect([answer.status, answer.body.code], answer.text.slice(0, 300)).to.deep.equal([400, 'FILE_UNREADABLE']);
    return answer.body.detail;
  };

  it('the first sheet is the workbook’s, whatever its part is called, wherever it and what it refers to stand in the archive', async () => {
    const sheet = (word: string) =>
      `<worksheet><sheetData>${HEADER}${row(2, `<c r="B2" t="s"><v>1</v></c><c r="C2" s="${ZEROS}"><v>7</v></c>${text('D2', word)}`)}</sheetData></worksheet>`;
    const { 'xl/workbook.xml': workbook, 'xl/_rels/workbook.xml.rels': relationships } = bookOf({
      Chart: 'chartsheets/sheet1.xml',
      Früh: '/xl/Worksheets/people.xml',
      Second: 'worksheets/sheet1.xml',
    });
    const content = await archive({
      'xl/worksheets/sheet1.xml': sheet('the second'),
      'xl/worksheets/people.xml': sheet('the first'),
      'xl/chartsheets/sheet1.xml': '<chartsheet/>',
      'xl/styles.xml': STYLES,
      'xl/sharedStrings.xml': '<sst><si><t>no</t></si><si><t>shared</t></si></sst>',
      'xl/_rels/workbook.xml.rels': relationships!,
      'xl/workbook.xml': workbook!.replace('name="Früh"', 'name="Früh" state="hidden"'),
    });
    expect(await read(content)).to.deep.equal([[2, 'shared', '00007', 'the first', '', '']]);
    expect((await imported(http, study.id, content, '', 'excel')).file).to.deep.equal({ sheet: 'Früh' });
  });

  it('texts: shared and inline, in runs, without how they are pronounced, with characters that XML cannot hold', async () => {
    const strings =
      '<sst><si><r><rPr><b/></rPr><t>Al</t></r><r><t xml:space="preserve">ma </t></r></si><si><t>東京</t><rPh ' +
      'sb="0" eb="2"><t>トウキョウ</t></rPh></si><si/><si><t>a_x000A_b &amp;amp; <![CDATA[<c>]]></t></si></sst>';
    const shared = (at: string, index: number) => `<c r="${at}" t="s"><v>${index}</v></c>`;
    const content = await handmade(
      `${HEADER}${row(2, shared('B2', 0) + shared('C2', 1) + shared('D2', 2) + shared('E2', 3))}${row(
        3,
        '<c r="B3" t="inlineStr"><is><r><t>P-</t></r><r><rPr><i/></rPr><t>2</t></r><rPh sb="0" ' +
          'eb="1"><t>x</t></rPh></is></c><c r="C3" t="str"><v>lt &amp;lt;</v></c>',
      )}`,
      { 'xl/sharedStrings.xml': strings },
    );
    expect(await read(content)).to.deep.equal([
      [2, 'Alma ', '東京', '', 'a\nb &amp; <c>', ''],
      [3, 'P-2', 'lt &lt;', '', '', ''],
    ]);
    expect(
      await refused(await handmade(HEADER + row(2, shared('B2', 4)), { 'xl/sharedStrings.xml': strings })),
    ).to.match(/damaged/);
  });

  it('numbers by their format, dates from 1900 and from 1904, truth, errors, results of formulas', async () => {
    const cell = (at: string, value: string, attributes = '') => `<c r="${at}" ${attributes}><v>${value}</v></c>`;
    const rows =
      HEADER +
      row(
        2,
        cell('B2', '7', `s="${ZEROS}"`) +
          cell('C2', '1234567', `s="${ZEROS}"`) +
          cell('D2', '1.5', `s="${ZEROS}"`) +
          cell('E2', '7', `s="${WORDS}"`) +
          cell('F2', '7', `s="${LETTER}"`),
      ) +
      row(
        3,
        cell('B3', '21975', `s="${DATE}"`) +
          cell('C3', '21975.75', `s="${SHORT_DATE}"`) +
          cell('D3', '21975', `s="${EAST_ASIAN}"`) +
          cell('E3', '1960-02-29T00:00:00', 't="d"') +
          cell('F3', '21975'),
      ) +
      row(
        4,
        cell('B4', '1', 't="b"') +
          cell('C4', '0', 't="b"') +
          cell('D4', '#DIV/0!', 't="e"') +
          cell('E4', '1E3') +
          cell('F4', '-3', `s="${ZEROS}"`),
      ) +
      row(
        5,
        '<c r="B5"><f>1+1</f><v>2</v></c><c r="C5" t="str"><f>A1&amp;"x"</f><v>ax</v></c><c r="D5" ' +
          `t="b"><f>TRUE()</f><v>1</v></c><c r="E5" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="F5" s="${DATE}"><f ` +
          't="shared" si="0"/><v>21975</v></c>',
      ) +
      row(
        6,
        `<c r="B6"><f>never.calculated()</f></c><c r="C6" s="${ZEROS}"><f>6+1</f><v>7</v></c><c r="D6" t="str" ` +
          `s="${DATE}"><f>A1</f><v>soon</v></c>`,
      ) +
      row(
        7,
        // 1.1 + 0.1, 0.1 + 0.7 + 2.2, as programs write what they have calculated, and 1.1 as they write it too.
        cell('B7', '1.2000000000000002') +
          cell('C7', '3.0000000000000004', `s="${ZEROS}"`) +
          cell('D7', '1.1000000000000001') +
          cell('E7', '123456789012345') +
          cell('F7', '0.000001'),
      );
    const read1900 = await read(await handmade(rows, { 'xl/styles.xml': STYLES }));
    expect(read1900).to.deep.equal([
      [2, '00007', '1234567', '1.5', '7', '7'],
      [3, '1960-02-29', '1960-02-29', '1960-02-29', '1960-02-29', '21975'],
      [4, 'true', 'false', '#DIV/0!', '1000', '-3'],
      [5, '2', 'ax', 'true', '#DIV/0!', '1960-02-29'],
      [6, '#NOT_CALCULATED!', '00007', 'soon', '', ''],
      [7, '1.2', '00003', '1.1', '123456789012345', '0.000001'],
    ]);
    const read1904 = await read(await handmade(rows, { 'xl/styles.xml': STYLES }, '<workbookPr date1904="1"/>'));
    expect(read1904[1]).to.deep.equal([3, '1964-03-01', '1964-03-01', '1964-03-01', '1960-02-29', '21975']);
  });

  it('rows and cells have the numbers that they have, or those that follow; what is empty is left out and counted', async () => {
    const content = await handmade(
      `${HEADER}<row><c/><c t="inlineStr"><is><t>2</t></is></c></row>${row(5, text('C5', 'five'))}${row(6, '<c r="B6" s="1"/>')}<row/><row>${text('F8', 'eight')}</row></sheetData>
      <controls><anchor><xdr:row>9</xdr:row><xdr:c r="B9"><v>9</v></xdr:c></anchor></controls><sheetData>`,
      { 'xl/styles.xml': STYLES },
    );
    expect(await read(content)).to.deep.equal([
      [2, '2', '', '', '', ''],
      [5, '', 'five', '', '', ''],
      [8, '', '', '', '', 'eight'],
    ]);
    const prefixed =
      '<x:worksheet><x:sheetData><x:row r="1"><x:c r="A1" t="str"><x:v>participant_code</x:v></x:c><x:c r="B1" ' +
      't="str"><x:v>b</x:v></x:c></x:row><x:row r="3"><x:c ' +
      'r="B3"><x:v>3</x:v></x:c></x:row></x:sheetData></x:worksheet>';
    expect(
      await read(
        await archive({
          ...bookOf({ People: 'worksheets/sheet1.xml' }),
          'xl/worksheets/sheet1.xml': `\u{feff}${prefixed}`,
        }),
      ),
    ).to.deep.equal([[3, '3']]);
  });

  it('merged cells say each what the first of them says, also in rows that have nothing else', async () => {
    const merges =
      '</sheetData><mergeCells><mergeCell ref="B2:C3"/><mergeCell ref="D3:D5"/><mergeCell ' +
      'ref="E7:F8"/></mergeCells><sheetData>';
    const content = await handmade(
      `${HEADER}${row(2, text('B2', 'BER') + text('C2', 'hidden'))}${row(3, text('D3', 'x'))}${row(7, text('E7', 'y'))}${merges}`,
    );
    expect(await read(content)).to.deep.equal([
      [2, 'BER', 'BER', '', '', ''],
      [3, 'BER', 'BER', 'x', '', ''],
      [4, '', '', 'x', '', ''],
      [5, '', '', 'x', '', ''],
      [7, '', '', '', 'y', 'y'],
      [8, '', '', '', 'y', 'y'],
    ]);
  });

  it('of other writers: one that streams, with texts in their cells and beside them', async () => {
    for (const shared of [true, false])
      expect(
        await imported(http, study.id, await participantsBook(2_500, shared), '?dry_run=true', 'excel'),
      ).to.include({ success: true, imported_count: 2_500 });
  });

  it('reads what the library reads that writes them, from a sheet with something of everything', async () => {
    const book = new excel.Workbook();
    const sheet = book.addWorksheet('All');
    sheet.addRow(['participant_code', 'b', 'c', 'd', 'e', 'f']);
    sheet.addRow([
      null,
      { richText: [{ text: 'a' }, { text: 'b', font: { bold: true } }] },
      { text: 'link', hyperlink: 'https://example.org' },
      true,
      { error: '#N/A' },
      new Date(Date.UTC(2001, 1, 3)),
    ]);
    sheet.addRow([]);
    sheet.addRow([
      null,
      'line\nbreak',
      { formula: 'B2', result: 'a' },
      { formula: 'F2', result: new Date(Date.UTC(1999, 11, 31)) },
      12.25,
      ' blank ',
    ]);
    sheet.getCell('D4').numFmt = 'dd.mm.yyyy';
    sheet.addRow([null, 5, 'ä'.repeat(300), '', 'Ω', '😀']).getCell(2).numFmt = '0000';
    sheet.mergeCells('B7:C8');
    sheet.getCell('B7').value = 'merged';
    expect(await read(new Uint8Array(await book.xlsx.writeBuffer()))).to.deep.equal([
      [2, 'ab', 'link', 'true', '#N/A', '2001-02-03'],
      [4, 'line\nbreak', 'a', '1999-12-31', '12.25', ' blank '],
      [5, '0005', 'ä'.repeat(300), '', 'Ω', '😀'],
      [7, 'merged', 'merged', '', '', ''],
      [8, 'merged', 'merged', '', '', ''],
    ]);
  });

  it('what is damaged says so, and where', async () => {
    expect(await refused(await handmade(`${HEADER}${row(5, text('B5', 'x'))}${row(3, text('B3', 'y'))}`))).to.equal(
      'The workbook is damaged: row 3 of its sheet stands behind row 5.',
    );
    expect(
      await refused(
        await handmade(`${HEADER}${row(2, text('A2', 'P-1'))}</sheetData><sheetData>${row(2, text('A2', 'P-2'))}`),
      ),
    ).to.match(/row 2 of its sheet stands behind row 2/);
    expect(await refused(await handmade(`${HEADER}${row(4_000_000_000, '')}`))).to.equal(
      'The sheet has a row 4000000000; the last there can be is 1048576.',
    );
    expect(
      await refused(
        await handmade(`${HEADER}</sheetData><mergeCells><mergeCell ref="A1048576:A1048577"/></mergeCells><sheetData>`),
      ),
    ).to.match(/row 1048577/);
    expect(await refused(await archive({ 'xl/workbook.xml': '<workbook><sheets/></workbook>' }))).to.equal(
      'The workbook has no sheet.',
    );
    expect(await refused(await archive({ ...bookOf({ Gone: 'worksheets/sheet1.xml' }) }))).to.equal(
      'The workbook has no sheet.',
    );
    for (const rows of [
      `${HEADER}<row r="2">`,
      `${HEADER}${row(2, '<c r="?"/>')}`,
      `${HEADER}<row r="x"/>`,
      `${HEADER}${row(2, '<c r="XFE2"><v>1</v></c>')}`,
    ])
      expect(await refused(await handmade(rows))).to.match(/damaged/);
  });
});
