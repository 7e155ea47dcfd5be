import { expect } from 'chai';
import excel from 'exceljs';
import { Site, instant } from '../assessment/stage.js';
import { download } from '../support/download.js';
import { newStudy, unique } from '../support/http.js';
import { imported } from './stage.js';

/** As spreadsheet programs read the text of a cell. */
const unescaped = (text: string): string =>
  text.replace(/_x([\dA-F]{4})_/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));

describe('A text in an exported workbook', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });

  async function cells(dataset: string): Promise<Record<string, string>[]> {
    const { status, bytes } = await download(site.http, '/api/exports/xlsx', { study_id: site.study.id, dataset });
    expect(status).to.equal(200);
    const book = new excel.Workbook();
    await book.xlsx.load(new Uint8Array(bytes).buffer);
    const [header, ...rows] = book.worksheets[0]!.getSheetValues().slice(1) as unknown[][];
    // The library counts cells from 1.
    const names = header!.slice(1) as string[];
    return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, unescaped(String(row[i + 1]))])));
  }
  async function recorded(data: Record<string, unknown>): Promise<void> {
    const id = unique('x');
    const trial = { task: 'custom', trial_index: 0, rt: 1, correct: null, timestamp: instant(), data };
    const { results } = await site.bulk({
      sessions: [site.item(id)],
      responses: [{ id, sessionId: id, task: 'custom', summary: {}, trials: [trial] }],
    });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
  }

  it('may have any character that was accepted: the workbook opens, and has it', async () => {
    const data = { a: 'x\u0001\u000b\u007f\ufffe\uffff_x0041_', b: 'line\r\nbreak', c: '😀_x' };
    await recorded(data);
    const [row] = await cells('raw_trials');
    expect(JSON.parse(row!.data!)).to.deep.equal(data);
  });

  it('may have separators of lines and paragraphs', async () => {
    const data = { a: 'x\u2028y\u2029z\u0085' };
    await recorded(data);
    expect((await cells('raw_trials')).map((row) => JSON.parse(row.data!) as unknown)).to.deep.include(data);
  });

  it('may be the name of a column, or a site of the import template', async () => {
    const id = unique('x');
    const { results } = await site.bulk({
      sessions: [site.item(id)],
      responses: [{ id, sessionId: id, task: 'custom', summary: { 'm\ufffe': 1 }, trials: [] }],
    });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
    const { bytes } = await download(site.http, '/api/exports/xlsx', {
      study_id: site.study.id,
      dataset: 'task_summaries',
      layout: 'wide',
    });
    await new excel.Workbook().xlsx.load(new Uint8Array(bytes).buffer);
    await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, {
      site_code: 'B\ufffe',
      name: 'A site',
    });
    const template = await download(
      site.http,
      `/api/studies/${site.study.id}/participants/import/template?format=xlsx`,
    );
    const book = new excel.Workbook();
    await book.xlsx.load(new Uint8Array(template.bytes).buffer);
    expect(unescaped(book.getWorksheet('Sites')!.getCell('A2').text)).to.equal('B\ufffe');
  });

  it('says that it was cut where it is longer than a cell, and between characters', async () => {
    await recorded({ long: '😀'.repeat(20_000) });
    const row = (await cells('raw_trials')).find(({ data }) => data!.startsWith('{"long"'))!;
    expect(row.data).to.have.lengthOf.at.most(32_767);
    expect(row.data).to.match(/😀 … \[cut here: the formats csv and json have all of it\]$/u);
    expect(row.data!.isWellFormed()).to.equal(true);
  });

  it('comes back as it was, also where it looks like a workbook’s notation of a character', async () => {
    await site.newParticipant({ participant_code: '_x0041_', external_id: '_X000d_x' });
    const { bytes } = await download(site.http, '/api/exports/xlsx', {
      study_id: site.study.id,
      dataset: 'participants',
    });
    const copy = await newStudy(site.http);
    expect(await imported(site.http, copy.id, new Uint8Array(bytes), '', 'excel')).to.include({ imported_count: 2 });
    const { items } = await site.http.expect(200, 'GET', `/api/studies/${copy.id}/participants?search=_x0041_`);
    expect(items.map(({ participant_code, external_id }) => [participant_code, external_id])).to.deep.equal([
      ['_x0041_', '_X000d_x'],
    ]);
  });
});
