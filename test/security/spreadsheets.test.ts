import { parse } from 'csv-parse/sync';
import { expect } from 'chai';
import { sendFile } from '../data/stage.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

/** What one spreadsheet program or another runs when it opens the file, in its language. */
const FORMULAS = [
  '=1+1',
  '＝1+1',
  '+1+1',
  '＋1+1',
  '@SUM(1)',
  '＠SUM(1)',
  '-1+1',
  '－1+1',
  ';=1+1',
  'a;=1+1',
  'a; =1+1',
  'a;＝1+1',
  'a;"=1+1',
  ' =1+1',
  '"=1+1',
  ';;@SUM(1)',
];
/** Texts that are none. */
const HARMLESS = ['-3.5', 'a=b', 'a-b', 'x;y', 'one; two', 'a, "b"', 'a@b.example'];

const SIGN = /^[\s"]*[=+@\-\u2212＝＋－＠]/;
const NUMBER = /^-\d+(\.\d+)?$/;
/** Cells that begin like a formula, however the program divides the line. */
const run = (text: string, cells: readonly string[]): string[] =>
  [...cells, ...text.split(/[;\t\n]/), ...text.split(/[;,\t\n]/)].filter(
    (cell) => SIGN.test(cell) && !NUMBER.test(cell.trim()),
  );

describe('Spreadsheets: nothing that somebody entered is run by anyone who opens a file', () => {
  let http: Http, study: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
    for (const participant_code of [...FORMULAS.filter((text) => text === text.trim()), ...HARMLESS])
      await newParticipant(http, study.id, { participant_code, external_id: `x ${participant_code}`.slice(0, 60) });
  });
  const cellsOf = (text: string) => (parse(text) as string[][]).flat();

  it('exports', async () => {
    const { text } = await http.post('/api/exports/csv', { study_id: study.id, dataset: 'participants' });
    const cells = cellsOf(text);
    expect(run(text, cells)).to.deep.equal([]);
    for (const harmless of HARMLESS) expect(cells).to.include(harmless);
    for (const formula of ['=1+1', '＝1+1', ';=1+1'].map((of) => cells.find((cell) => cell.replaceAll("'", '') === of)))
      expect(formula).to.match(/^'/);
  });

  it('texts in the columns of JSON stay JSON', async () => {
    const [person] = (await http.expect(200, 'GET', `/api/studies/${study.id}/participants?limit=1`)).items;
    const note = 'a;=1+1';
    await http.expect(201, 'POST', `/api/studies/${study.id}/participants/${person!.id}/forms`, {
      form_oid: 'F',
      status: 'complete',
      items: { NOTE: note },
    });
    for (const dataset of ['forms', 'audit', 'anchor_history']) {
      const { status, text } = await http.post('/api/exports/csv', { study_id: study.id, dataset });
      expect(status).to.equal(200);
      expect(run(text, cellsOf(text)), dataset).to.deep.equal([]);
    }
  });

  it('the file of rows that failed, its header too', async () => {
    const rows = FORMULAS.map((formula) => `"${formula.replaceAll('"', '""')}",NOWHERE,x\n`).join('');
    const { status, text } = await sendFile(
      http,
      (await newStudy(http)).id,
      `participant_code,site_code,";=1+1"\n${rows}`,
      '?answer=failed_rows&dry_run=true',
    );
    expect(status).to.equal(200);
    expect(text.split('\n').length, text).to.be.greaterThan(FORMULAS.length);
    expect(run(text, cellsOf(text))).to.deep.equal([]);
  });
});
