import { expect } from 'chai';
import excel from 'exceljs';
import { admin, newParticipant, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { imported, sendFile } from './stage.js';

describe('A file of participants', () => {
  let http: Http;
  before(async () => {
    http = await admin();
  });

  const people = async (study: Loose): Promise<unknown[][]> =>
    (await http.expect(200, 'GET', `/api/studies/${study.id}/participants?sort=participant_code`)).items.map(
      ({ participant_code, external_id, phone, arm }) => [participant_code, external_id, phone, arm],
    );

  it('that the service exported comes back as it was, also with texts that a spreadsheet would run', async () => {
    const study = await newStudy(http);
    for (const [participant_code, external_id, phone, arm] of [
      ['=1+1', '+4930', '+493012345', '@low'],
      ["'=1+1", "'", '+1 202 555 0143', "it's"],
      ['-5', "''-x", undefined, 'a;=b'],
      ["O'Neill", "a;'=b", undefined, "'quoted'"],
      ['00123', '-x', undefined, '＝wide'],
    ])
      await newParticipant(http, study.id, { participant_code, external_id, phone, arm });
    const file = await http.post('/api/exports/csv', { study_id: study.id, dataset: 'participants' });
    expect(file.text).to.contain("'+493012345");
    const copy = await newStudy(http);
    const result = await imported(http, copy.id, file.text);
    expect(result, JSON.stringify(result.errors)).to.include({ imported_count: 5, error_count: 0 });
    expect(await people(copy)).to.deep.equal(await people(study));
  });

  it('of rows that failed is corrected and sent again: telephone numbers are what they were', async () => {
    const study = await newStudy(http);
    const failed = await sendFile(
      http,
      study.id,
      'participant_code,phone,email\nP-1,+49 30 123456,nobody\n',
      '?answer=failed_rows',
    );
    expect(failed.text).to.contain("'+49 30 123456");
    await imported(http, study.id, failed.text.replace('nobody', 'nobody@example.org'));
    expect((await people(study))[0]).to.include('+49 30 123456');
  });

  it('of rows that failed may fail again: it has the reasons of the last time alone, and no warning of them', async () => {
    const study = await newStudy(http);
    let file = 'participant_code,site_code\nP-1,NOWHERE\n';
    for (const [place, next] of [
      ['NOWHERE', 'NEITHER'],
      ['NEITHER', 'NOR HERE'],
      ['NOR HERE', ''],
    ] as const) {
      const { status, text } = await sendFile(http, study.id, file, '?answer=failed_rows');
      expect([status, text.split('\n').slice(0, 2)]).to.deep.equal([
        200,
        [
          'participant_code,site_code,import_row,import_field,import_code,import_message',
          `P-1,${place},2,site_code,UNKNOWN_SITE,site_code is not a site of the study`,
        ],
      ]);
      file = text.replace(place, next);
    }
    const result = await imported(http, study.id, file);
    expect(result).to.include({ imported_count: 1, error_count: 0 });
    expect(result.warnings).to.deep.equal([]);
  });

  it('of rows that failed has the cells beyond the header too: without them a row would be taken as it is not', async () => {
    const study = await newStudy(http);
    const { text } = await sendFile(
      http,
      study.id,
      'participant_code,external_id\nP-1,Smith, John,\n',
      '?answer=failed_rows',
    );
    expect(text.split('\n')[1]).to.match(/^P-1,Smith,2,,TOO_MANY_CELLS,".*", John$/);
    const again = await imported(http, study.id, text);
    expect([again.imported_count, again.errors.map(({ code }) => code)]).to.deep.equal([0, ['TOO_MANY_CELLS']]);
    const mended = text.replace('Smith,2', '"Smith, John",2').replace(/, John$/m, '');
    expect(await imported(http, study.id, mended)).to.include({ imported_count: 1, error_count: 0 });
  });

  it('in windows-1252 has its own signs, not only those that ISO 8859-1 has too', async () => {
    const study = await newStudy(http);
    const bytes = Buffer.from('participant_code,arm\nP-\x8a\x9e,\x8030 \x96 it\x92s \xe9\n', 'latin1');
    expect(await imported(http, study.id, bytes)).to.include({ imported_count: 1 });
    expect(await people(study)).to.deep.equal([['P-Šž', null, null, '€30 – it’s é']]);
  });

  it('may be as wide as the export of a whole capture project; a wider one says how wide it may be', async () => {
    const study = await newStudy(http);
    const csv = (columns: number) => {
      const others = Array.from({ length: columns - 1 }, (_, i) => `item_${i}`);
      return `${others.join(',')},participant_code\n${','.repeat(columns - 1)}W-${columns}\n`;
    };
    expect(await imported(http, study.id, csv(2_000))).to.include({ imported_count: 1 });
    const book = new excel.Workbook();
    const wide = (columns: number) => {
      const sheet = book.addWorksheet(`S${columns}`);
      sheet.addRow([...Array.from({ length: columns - 1 }, (_, i) => `item_${i}`), 'participant_code']);
      sheet.getCell(2, columns).value = `X-${columns}`;
      return book.xlsx.writeBuffer();
    };
    expect(await imported(http, study.id, new Uint8Array(await wide(2_000)), '', 'excel')).to.include({
      imported_count: 1,
    });
    book.removeWorksheet('S2000');
    for (const [content, format] of [
      [csv(2_001), 'csv'],
      [new Uint8Array(await wide(2_500)), 'excel'],
    ] as const) {
      const refused = await sendFile(http, study.id, content, '', format);
      expect([refused.status, refused.body.detail]).to.deep.equal([400, 'The header has more than 2000 columns.']);
    }
  });

  it('of a spreadsheet: times are times, the first days of 1900 are these, and a day zero is none', async () => {
    const book = new excel.Workbook();
    const sheet = book.addWorksheet('People');
    sheet.addRow(['participant_code', 'external_id', 'date_of_birth']);
    const rows: [id: [number, string], birth: [number, string] | null][] = [
      [
        [0.127777777777778, 'hh:mm'],
        [59, 'dd.mm.yyyy'],
      ],
      [
        [1.25, '[h]:mm:ss'],
        [61, 'yyyy-mm-dd'],
      ],
      [
        [0.75, 'h:mm AM/PM'],
        [0, 'dd.mm.yyyy'],
      ],
      [
        [45_000.5, 'yyyy-mm-dd hh:mm'],
        [60, 'dd/mm/yyyy'],
      ],
      [[1, 'dd mmm'], null],
    ];
    rows.forEach(([id, birth], i) => {
      sheet.getCell(i + 2, 1).value = `P-${i}`;
      for (const [at, cell] of [
        [2, id],
        [3, birth],
      ] as const) {
        if (!cell) continue;
        sheet.getCell(i + 2, at).value = cell[0];
        sheet.getCell(i + 2, at).numFmt = cell[1];
      }
    });
    const study = await newStudy(http);
    const content = new Uint8Array(await book.xlsx.writeBuffer());
    const result = await imported(http, study.id, content, '', 'excel');
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [4, 'date_of_birth', 'FORMAT'],
      [5, 'date_of_birth', 'FORMAT'],
    ]);
    const { items } = await http.expect(200, 'GET', `/api/studies/${study.id}/participants?sort=participant_code`);
    expect(items.map(({ external_id, date_of_birth }) => [external_id, date_of_birth])).to.deep.equal([
      ['03:04:00', '1900-02-28'],
      ['30:00:00', '1900-03-01'],
      ['1900-01-01', null],
    ]);
  });
});
