import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'csv-parse/sync';
import { expect } from 'chai';
import excel from 'exceljs';
import { download } from '../support/download.js';
import { admin, newStudy } from '../support/http.js';
import type { Http } from '../support/http.js';
import { isThere } from '../support/program.js';
import { filledStudy } from './filled-study.js';
import type { FilledStudy } from './filled-study.js';
import { imported } from './stage.js';
import { readRows } from './workbooks.js';

const run = promisify(execFile);

/**
 * Where LibreOffice or R is not installed, these are pending, not passed: neither is small enough to be brought along.
 */
describe('A spreadsheet program and R', function () {
  this.timeout(300_000);
  let http: Http;
  let filled: FilledStudy;
  let office: boolean, r: boolean;
  const folder = mkdtempSync(join(tmpdir(), 'office-'));
  before(async function () {
    [office, r] = [await isThere('soffice'), await isThere('Rscript')];
    if (!office && !r) this.skip();
    http = await admin();
    filled = await filledStudy(http);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function exported(format: string, dataset: string): Promise<string> {
    const { status, bytes } = await download(http, `/api/exports/${format}`, { study_id: filled.study.id, dataset });
    expect(status).to.equal(200);
    const file = join(folder, `${dataset}.${format}`);
    await writeFile(file, bytes);
    return file;
  }
  /** A file as LibreOffice writes it again in another format. */
  async function converted(file: string, to: string, into: string): Promise<Buffer> {
    await run(
      'soffice',
      [
        `-env:UserInstallation=file://${folder}/profile`,
        '--headless',
        ...(file.endsWith('.csv') ? ['--infilter=CSV:44,34,76,1'] : []),
        '--convert-to',
        to,
        '--outdir',
        join(folder, into),
        file,
      ],
      { timeout: 120_000 },
    );
    return readFile(
      join(
        folder,
        into,
        `${file
          .split('/')
          .at(-1)!
          .replace(/\.\w+$/, '')}.${to.split(':')[0]!}`,
      ),
    );
  }

  it('LibreOffice opens a workbook and a CSV file, and what it says of them is what is in them', async function () {
    if (!office) this.skip();
    const sheet = parse(
      await converted(await exported('xlsx', 'raw_trials'), 'csv:Text - txt - csv (StarCalc):44,34,76', 'from-xlsx'),
      { columns: true },
    ) as Record<string, string>[];
    expect(sheet).to.have.length(1_200);
    expect(sheet[3]).to.include({ trial_index: '3', rt: '303', correct: 'TRUE', participant_code: '=1+1' });
    const people = parse(
      await converted(await exported('csv', 'participants'), 'csv:Text - txt - csv (StarCalc):44,34,76', 'from-csv'),
      { columns: true },
    ) as Record<string, string>[];
    expect(people.map(({ external_id }) => external_id)).to.include('E-1');
    // The code was not run as a formula: two would stand there.
    expect(people.map(({ participant_code }) => participant_code))
      .to.include.members(["'=1+1", 'Zoë, "the third"'])
      .and.not.to.include('2');
  });

  it('the template that LibreOffice opened and saved is imported again, with its list of sites', async function () {
    if (!office) this.skip();
    const study = await newStudy(http);
    await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: '01' });
    const book = new excel.Workbook();
    const given = await fetch(`${http.base}/api/studies/${study.id}/participants/import/template?format=xlsx`, {
      headers: { Authorization: `Bearer ${http.token!}` },
    });
    await book.xlsx.load(await given.arrayBuffer());
    book.worksheets[0]!.getRow(2).values = ['007', 'R', '01', 'de'];
    const file = join(folder, 'template.xlsx');
    await writeFile(file, new Uint8Array(await book.xlsx.writeBuffer()));
    const saved = await converted(file, 'xlsx', 'template');
    const again = new excel.Workbook();
    await again.xlsx.load(new Uint8Array(saved).buffer);
    expect(again.worksheets[0]!.getCell('C2').dataValidation).to.include({ type: 'list' });
    const result = await imported(http, study.id, saved, '', 'excel');
    expect(result.imported_participants).to.deep.equal([
      { row: 2, participant_code: '007', external_id: 'R', site_code: '01' },
    ]);
  });

  it('a list that LibreOffice saved is imported', async function () {
    if (!office) this.skip();
    const study = await newStudy(http);
    const list = join(folder, 'list.csv');
    await writeFile(list, 'participant_code,external_id,date_of_birth\nL-1,A,1960-02-29\nL-2,B,1971-12-31\n');
    expect(await imported(http, study.id, await converted(list, 'xlsx', 'saved'), '', 'excel')).to.include({
      success: true,
      imported_count: 2,
    });
    const people = (
      await http.expect<{ items: { participant_code: string; date_of_birth: string }[] }>(
        200,
        'GET',
        `/api/studies/${study.id}/participants?sort=created_at`,
      )
    ).items;
    expect(people.map(({ participant_code, date_of_birth }) => [participant_code, date_of_birth])).to.deep.equal([
      ['L-1', '1960-02-29'],
      ['L-2', '1971-12-31'],
    ]);
  });

  it('a workbook that LibreOffice saved is read as it shows it: dates, zeros, truth, results, texts in runs, merged cells', async function () {
    if (!office) this.skip();
    const study = await newStudy(http);
    const book = new excel.Workbook();
    const sheet = book.addWorksheet('Alles');
    sheet.addRow(['participant_code', 'b', 'c', 'd', 'e', 'f']);
    sheet.addRow([
      null,
      new Date(Date.UTC(1960, 1, 29)),
      42,
      true,
      { formula: 'C2+1', result: 0 },
      { richText: [{ text: 'rich ' }, { font: { bold: true }, text: 'text' }] },
    ]);
    sheet.getCell('B2').numFmt = 'dd.mm.yyyy';
    sheet.getCell('C2').numFmt = '00000';
    sheet.addRow([]);
    sheet.addRow([null, 'Ünï', 'two\nlines', 1.5, { formula: '1/0', result: 0 }, 'as text']);
    sheet.mergeCells('F4:F5');
    book.addWorksheet('Andere').addRow(['participant_code']);
    const file = join(folder, 'all.xlsx');
    await writeFile(file, new Uint8Array(await book.xlsx.writeBuffer()));
    // By way of its own format: it writes everything again.
    await converted(file, 'ods', 'own');
    expect(
      await readRows(http, study.id, await converted(join(folder, 'own', 'all.ods'), 'xlsx', 'again')),
    ).to.deep.equal([
      [2, '1960-02-29', '00042', 'true', '43', 'rich text'],
      [4, 'Ünï', 'two\nlines', '1.5', '#DIV/0!', 'as text'],
      [5, '', '', '', '', 'as text'],
    ]);
  });

  it('R reads the exports with the right types', async function () {
    if (!r) this.skip();
    const [visits, trials] = [await exported('csv', 'visits'), await exported('csv', 'raw_trials')];
    const program = `v <- read.csv(${JSON.stringify(visits)}); t <- read.csv(${JSON.stringify(trials)}, na.strings = "")
t$correct <- as.logical(toupper(t$correct)); d <- as.Date(v$target_date)
cat(nrow(t), class(t$rt), class(t$trial_index), sum(t$correct), class(d), anyNA(d), nrow(v), class(v$days_off_target), "\\n")`;
    const { stdout } = await run('Rscript', ['--vanilla', '-e', program]);
    expect(stdout.trim().split(' ')).to.deep.equal([
      '1200',
      'integer',
      'integer',
      '900',
      'Date',
      'FALSE',
      String(parse(await readFile(visits)).length - 1),
      'integer',
    ]);
  });
});
