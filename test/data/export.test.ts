import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { expect } from 'chai';
import excel from 'exceljs';
import pg from 'pg';
import { datasetNames, datasetOf } from '../../db/exports/datasets.js';
import { copySql } from '../../db/exports/statement.js';
import { download } from '../support/download.js';
import { unzipped } from '../support/archive.js';
import { whileTheDayLasts } from '../reports/world.js';
import { admin, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { Site, day, trials } from '../assessment/stage.js';
import type { TrialGiven } from '../assessment/stage.js';
import { filledStudy } from './filled-study.js';
import type { FilledStudy } from './filled-study.js';

type Row = Record<string, unknown>;
const DATASETS = [
  'participants',
  'visits',
  'sessions',
  'task_summaries',
  'raw_trials',
  'anchors',
  'anchor_history',
  'schedule_versions',
  'notifications',
  'audit',
  'consents',
  'eligibility',
  'randomization',
  'forms',
];

describe('Exports', () => {
  let http: Http;
  let filled: FilledStudy;
  let database: pg.Client;
  before(async function fill() {
    this.timeout(120_000);
    http = await admin();
    filled = await filledStudy(http);
    database = new pg.Client({ connectionString: (await service()).database_url, options: '-c timezone=UTC' });
    await database.connect();
    await database.query(`select set_config('app.studies', '*', false)`);
  });
  after(() => database.end());
  const ask = (format: string, dataset: string, more: object = {}, by = http) =>
    by.post(`/api/exports/${format}`, { study_id: filled.study.id, dataset, ...more });
  const csv = async (dataset: string, more: object = {}): Promise<Record<string, string>[]> => {
    const answer = await ask('csv', dataset, more);
    expect(answer.status, answer.text.slice(0, 300)).to.equal(200);
    return parse(answer.text, { columns: true }) as Record<string, string>[];
  };
  const json = async (dataset: string, more: object = {}): Promise<Row[]> =>
    (
      await http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', {
        study_id: filled.study.id,
        dataset,
        ...more,
      })
    ).rows;

  for (const dataset of DATASETS) {
    it(`${dataset}: CSV and JSON have the same rows, the columns in the same order`, async () => {
      const [rows, cells] = [await json(dataset), await csv(dataset)];
      if (dataset === 'audit') expect(cells.length).to.be.greaterThan(rows.length);
      else expect(cells.length).to.equal(rows.length);
      if (dataset !== 'notifications') expect(rows.length).to.be.greaterThan(0);
      if (rows.length > 0) expect(Object.keys(cells[0]!)).to.deep.equal(Object.keys(rows[0]!));
      const plain = (value: unknown) => (value === null ? '' : typeof value === 'object' ? '{…}' : String(value));
      const unescaped = (cell: string) => (cell.startsWith("'") ? cell.slice(1) : /^[{[]/.test(cell) ? '{…}' : cell);
      // The audit grows by each export: what stood there first is compared.
      for (const [i, row] of rows.entries())
        expect(Object.values(cells[i]!).map(unescaped)).to.deep.equal(Object.values(row).map(plain));
    });
  }

  it('a participant’s row is what its own path shows', async () => {
    const one = await http.expect<Row>(200, 'GET', `/api/participants/${filled.people[0]!.id}`);
    const row = (await json('participants')).find(({ id }) => id === one.id)!;
    for (const [name, value] of Object.entries(row)) expect(value, name).to.deep.equal(one[name]);
  });

  it('visits and sessions say what the reports say of them, whatever is stored', async () => {
    await whileTheDayLasts();
    const site = await Site.open({ timezone: 'UTC' }, http);
    const [moved, passed] = [
      await site.visit({ name: 'moved' }, [-10, -8]),
      await site.visit({ name: 'passed' }, [0, 0]),
    ];
    await site.visit({ name: 'to come' }, [3, 5]);
    await http.expect(200, 'POST', `/api/visits/${moved.id}/complete`, {});
    const session = await site.session({ visit_id: null });
    await database.query(`update scheduled_visits set reporting_target_date = current_date where id = $1`, [moved.id]);
    await database.query(
      `update scheduled_visits set target_date = current_date - 9, window_open = current_date - 9, window_close = current_date - 8 where id = $1`,
      [passed.id],
    );
    await database.query(`update assessment_sessions set expires_at = now() - interval '1 minute' where id = $1`, [
      session,
    ]);
    const rowsOf = async (dataset: string) =>
      (await http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', { study_id: site.study.id, dataset })).rows;
    const told = ({ name, status, adherence, days_off_target }: Row) => ({ name, status, adherence, days_off_target });
    const reported = (
      await http.expect<{ items: Row[] }>(200, 'GET', `/api/reports/studies/${site.study.id}/visits`)
    ).items.map(told);
    expect((await rowsOf('visits')).map(told))
      .to.deep.equal(reported)
      .and.deep.include({ name: 'moved', status: 'completed', adherence: 'in_window', days_off_target: 0 })
      .and.deep.include({ name: 'passed', status: 'missed', adherence: 'missed', days_off_target: null });
    expect((await rowsOf('sessions')).map(({ status }) => status)).to.deep.equal(['expired']);
  });

  it('the file has a name, and JSON says what it is', async () => {
    const answer = await ask('json', 'sessions');
    expect(answer.headers.get('content-disposition')).to.match(
      /^attachment; filename="[\w-]+-sessions-\d{8}T\d{6}Z-[\da-f]{8}\.json"$/,
    );
    expect(answer.body).to.include({ dataset: 'sessions', study_code: filled.study.study_code });
    expect((await ask('csv', 'sessions')).headers.get('content-type')).to.equal('text/csv; charset=utf-8');
  });

  it('what a spreadsheet would run is neutralised, numbers stay numbers', async () => {
    const rows = await csv('participants');
    expect(rows.map((row) => row.participant_code).sort()).to.include.members(["'=1+1", '-3.5', 'Zoë, "the third"']);
    expect(rows.find((row) => row.external_id === 'E-1')!.phone).to.equal("'+49 30 1");
    expect((await csv('anchor_history')).map(({ reason }) => reason)).to.include("'@first");
    expect((await json('anchor_history')).map(({ reason }) => reason)).to.include('@first');
  });

  it('raw trials come as they were sent, every one', async () => {
    const rows = await json('raw_trials');
    expect(rows).to.have.length(1_200);
    expect(rows[1_100]).to.deep.include({
      session_id: filled.sessionId,
      participant_code: '=1+1',
      task: 'stroop',
      trial_index: 1_100,
      rt: 1_400,
      correct: false,
      data: { note: 'a, "b"\n' },
    });
    expect((await csv('raw_trials'))[3]).to.include({ rt: '303', correct: 'true' });
    const long = await json('task_summaries');
    expect(long.find(({ metric }) => metric === 'mean_rt')).to.include({ task: 'stroop', value: 512.25 });
  });

  it('raw trials with gaps, of somebody whose code has commas and quotes, are the same in every format', async () => {
    const site = await Site.open({}, http);
    const person = await site.newParticipant({ participant_code: 'Zoë, "the third"' });
    const sessionId = await site.session({ participant_id: person.id });
    const said: [Partial<TrialGiven>, string[]][] = [
      [{}, ['300', 'true', '']],
      [{ rt: null }, ['', 'false', '']],
      [{ correct: null }, ['302', '', '']],
      [{ data: {} }, ['303', 'true', '{}']],
      [{ data: { key: 'a,"b"', deep: [{ line: '\r\n' }, '\u2028ß', null] } }, ['304', 'true', '…']],
      [{ rt: 0.1 + 0.2 }, ['0.30000000000000004', 'true', '']],
    ];
    await site.submit(sessionId, {
      task_summaries: { stroop: {} },
      raw_trials: said.map(([fields], i) => ({ ...trials('stroop', 6)[i]!, correct: i !== 1, ...fields })),
    });
    const of = { study_id: site.study.id };
    const [rows, cells] = [await json('raw_trials', of), await csv('raw_trials', of)];
    expect(cells.map(({ rt, correct, data }) => [rt, correct, data!.length > 2 ? '…' : data])).to.deep.equal(
      said.map(([, as]) => as),
    );
    expect(rows.map(({ data }) => data)).to.deep.equal(said.map(([{ data }]) => data ?? null));
    expect(cells.map(({ data }) => (data === '' ? null : (JSON.parse(data!) as unknown)))).to.deep.equal(
      rows.map(({ data }) => data),
    );
    expect(new Set(cells.map(({ participant_code }) => participant_code))).to.deep.equal(new Set(['Zoë, "the third"']));
    const [hiddenRows, hiddenCells] = [
      await json('raw_trials', { ...of, deidentify: true }),
      await csv('raw_trials', { ...of, deidentify: true }),
    ];
    expect(hiddenCells).to.deep.equal(
      hiddenRows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? '' : String(value)])),
      ),
    );
    expect(JSON.stringify(hiddenRows)).not.to.include(sessionId).and.not.to.include('Zoë');
  });

  it('raw trials stand session by session as they were sent, by whatever plan the database reads them', async () => {
    const site = await Site.open({}, http);
    const sessions: string[] = [];
    for (const size of [1_100, 3, 1_050, 2, 1]) {
      const person = await site.newParticipant();
      const sessionId = await site.session({ participant_id: person.id });
      await site.submit(sessionId, { task_summaries: { stroop: {} }, raw_trials: trials('stroop', size) });
      expect((await site.end(sessionId)).status).to.equal(200);
      sessions.push(sessionId);
    }
    const wanted = sessions.sort();
    const copy = copySql(datasetOf('raw_trials'), { study_id: site.study.id, dataset: 'raw_trials' }, 'json');
    const [, select] = /^copy \((.*)\) to stdout/s.exec(copy)!;
    for (const without of [
      [],
      ['nestloop'],
      ['nestloop', 'mergejoin'],
      ['nestloop', 'hashjoin'],
      ['mergejoin', 'hashjoin'],
    ]) {
      await database.query('begin');
      for (const join of without) await database.query(`set local enable_${join} = off`);
      const { rows } = await database.query<{ lines: string }>(select!);
      await database.query('rollback');
      const read = rows.flatMap(({ lines }) => lines.split('\n').map((line) => JSON.parse(line) as Loose));
      expect([...new Set(read.map(({ session_id }) => session_id))], without.join()).to.deep.equal(wanted);
      for (const session of wanted) {
        const own = read.filter(({ session_id }) => session_id === session).map(({ trial_index }) => trial_index);
        expect(own, without.join()).to.deep.equal(own.map((_, i) => i));
      }
    }
  });

  it('site, participants and inclusive dates narrow it', async () => {
    expect((await csv('participants', { site_code: 'BER' })).map(({ external_id }) => external_id)).to.deep.equal([
      'E-1',
    ]);
    expect(await csv('participants', { site_code: "x' or 'a'='a" })).to.deep.equal([]);
    expect(
      (await json('visits', { participant_ids: [filled.people[0]!.id] })).every(
        ({ participant_id }) => participant_id === filled.people[0]!.id,
      ),
    ).to.equal(true);
    const visits = await json('visits');
    const target = String(visits[0]!.target_date);
    expect(await json('visits', { from: target, to: target })).to.have.length(
      visits.filter(({ target_date }) => target_date === target).length,
    );
    expect(await json('sessions', { from: day(1) })).to.deep.equal([]);
    expect(await json('sessions', { to: day(1) })).to.have.length(1);
  });

  it('bad requests are refused before anything is written', async () => {
    expect((await ask('csv', 'everything')).status).to.equal(422);
    expect((await http.post('/api/exports/csv', { dataset: 'visits' })).status).to.equal(422);
    expect((await ask('csv', 'visits', { from: '2026-02-30' })).status).to.equal(422);
    expect((await ask('csv', 'visits', { from: '2026-02-02', to: '2026-02-01' })).status).to.equal(400);
    expect((await ask('csv', 'audit', { deidentify: true })).body.errors[0]!.code).to.equal('NOT_DEIDENTIFIABLE');
    const other = await newStudy(http);
    expect(
      (
        await http.post(
          '/api/exports/csv',
          { study_id: filled.study.id, dataset: 'visits' },
          { headers: { 'X-Study-ID': other.id } },
        )
      ).status,
    ).to.equal(400);
  });

  it('data managers and researchers of the study may, its coordinators may not, strangers see no such study; each export is an audit record', async () => {
    const count = async () =>
      Number(
        (
          await database.query(`select count(*) as n from audit_log where study_id = $1 and action = 'data_exported'`, [
            filled.study.id,
          ])
        ).rows[0].n,
      );
    const before = await count();
    for (const [role, study_ids, status] of [
      ['data_manager', [filled.study.id], 200],
      ['researcher', [filled.study.id], 200],
      ['coordinator', [filled.study.id], 403],
      ['investigator', [filled.study.id], 403],
      ['data_manager', [], 404],
    ] as const) {
      expect(
        (await ask('csv', 'participants', {}, await user(http, role, { study_ids: [...study_ids] }))).status,
        role,
      ).to.equal(status);
    }
    expect(await count()).to.equal(before + 2);
    const { rows } = await database.query(
      `select audit_metadata from audit_log where study_id = $1 and action = 'data_exported' order by seq desc limit 1`,
      [filled.study.id],
    );
    expect(rows[0].audit_metadata).to.deep.equal({
      dataset: 'participants',
      format: 'csv',
      deidentify: false,
      filters: [],
    });
    const narrowed = await http.post<Loose>(
      '/api/exports/json',
      { study_id: filled.study.id, dataset: 'notifications' },
      { headers: { 'X-Site-ID': filled.sites[1]!.id } },
    );
    expect(narrowed.status).to.equal(200);
    const site = await http.post<{ rows: Row[] }>(
      '/api/exports/json',
      { study_id: filled.study.id, dataset: 'participants' },
      { headers: { 'X-Site-ID': filled.sites[1]!.id } },
    );
    expect(site.body.rows.map(({ participant_code }) => participant_code)).to.deep.equal(['-3.5']);
  });

  it('de-identified: the same pseudonyms in every export, dates moved together, nobody named', async () => {
    const [people, visits, again] = [
      await json('participants', { deidentify: true }),
      await json('visits', { deidentify: true }),
      await ask('csv', 'participants', { deidentify: true }),
    ];
    const first = people.find(
      ({ site_code }) => site_code !== null && visits.some((visit) => visit.site_code === site_code),
    )!;
    expect(first).not.to.have.any.keys('email', 'phone', 'date_of_birth', 'external_id', 'withdrawal_reason');
    const text = JSON.stringify([people, visits, again.text]);
    for (const secret of [
      ...filled.people.flatMap(({ id, participant_code }) => [id, JSON.stringify(participant_code).slice(1, -1)]),
      'BER',
      'example.org',
      filled.study.id,
    ])
      expect(text.includes(secret), secret).to.equal(false);
    expect(again.text).to.include(String(first.participant_code));
    expect(again.headers.get('content-disposition')).to.include('"deidentified-participants-');
    const real = (await json('visits')).filter(({ participant_id }) => participant_id === filled.people[0]!.id);
    const moved = visits.filter(({ participant_id }) => participant_id === first.id);
    const days = (a: unknown, b: unknown) => (Date.parse(String(a)) - Date.parse(String(b))) / 86_400_000;
    const gaps = (rows: Row[]) =>
      rows.map((row) => [days(row.target_date, rows[0]!.target_date), days(row.window_close, row.window_open)]).sort();
    expect(gaps(moved)).to.deep.equal(gaps(real));
    const shift = days(
      first.enrollment_date,
      (await json('participants', { participant_ids: [filled.people[0]!.id] }))[0]!.enrollment_date,
    );
    expect(shift).to.be.within(-364, -1);
  });

  it('as a workbook: dates and times are those of a spreadsheet, the header stays in view and filters', async () => {
    for (const [dataset, dates, instants] of [
      ['visits', ['target_date', 'window_open'], []],
      ['sessions', [], ['started_at']],
      ['participants', ['enrollment_date'], []],
    ] as const) {
      const { bytes } = await download(http, '/api/exports/xlsx', { study_id: filled.study.id, dataset });
      const book = new excel.Workbook();
      await book.xlsx.load(new Uint8Array(bytes).buffer);
      const sheet = book.worksheets[0]!;
      const names = (sheet.getRow(1).values as string[]).slice(1);
      expect(sheet.views[0]).to.include({ state: 'frozen', ySplit: 1 });
      expect(sheet.autoFilter).to.equal(`A1:${sheet.getRow(1).getCell(names.length).address}`);
      const rows = await json(dataset);
      expect(sheet.rowCount).to.equal(rows.length + 1);
      for (const [i, row] of rows.entries())
        for (const [name, length] of [
          ...dates.map((d) => [d, 10] as const),
          ...instants.map((d) => [d, 23] as const),
        ]) {
          const { value } = sheet.getRow(i + 2).getCell(names.indexOf(name) + 1);
          const told = row[name] as string | null;
          if (told === null) expect(value).to.equal(null);
          else
            expect((value as Date).toISOString().slice(0, length), name).to.equal(
              told.slice(0, length).replace('Z', ''),
            );
        }
      const complete = rows.findIndex((row) => [...dates, ...instants].every((name) => row[name] !== null));
      expect(complete).to.be.at.least(0);
      const formats = [...dates, ...instants].map(
        (name) => sheet.getRow(complete + 2).getCell(names.indexOf(name) + 1).numFmt,
      );
      expect(formats).to.deep.equal([...dates.map(() => 'yyyy-mm-dd'), ...instants.map(() => 'yyyy-mm-dd hh:mm:ss')]);
    }
  });

  it('consents, eligibility, randomization and forms are datasets of their own', async () => {
    const person = filled.people[0]!;
    const path = `/api/studies/${filled.study.id}/participants/${person.id}`;
    const form_oid = unique('form');
    await http.expect(201, 'POST', `${path}/forms`, {
      form_oid,
      status: 'complete',
      items: { AGE: 61, NOTE: '=1+1', DONE: true },
    });
    const all = await json('forms');
    expect(
      all
        .filter((row) => row.form_oid === form_oid)
        .map(({ participant_code, item_oid, value, status }) => [participant_code, item_oid, value, status]),
    ).to.deep.equal([
      [person.participant_code, 'AGE', '61', 'complete'],
      [person.participant_code, 'DONE', 'true', 'complete'],
      [person.participant_code, 'NOTE', '=1+1', 'complete'],
    ]);
    expect((await ask('csv', 'forms')).text).to.include(",'=1+1,");
    for (const [dataset, listed] of [
      ['consents', 'consents'],
      ['eligibility', 'eligibility'],
      ['randomization', 'randomization'],
    ] as const) {
      const rows = (await json(dataset)).filter(({ participant_id }) => participant_id === person.id);
      const told = (await http.get(`${path}/${listed}`)).body as Loose & { items?: Loose[] };
      const records = told.items ?? (told['id'] === undefined ? [] : [told]);
      expect(rows.map(({ id, status, arm }) => [id, status ?? arm])).to.have.deep.members(
        records.map((record) => [record['id'], record['status'] ?? record['arm']]),
      );
    }
    const hidden = await json('forms', { deidentify: true });
    expect(hidden).to.have.length(all.length);
    expect(hidden[0]).not.to.have.any.keys('value');
  });

  it('the dictionary lists the values that a column can have, and no row has another', async () => {
    for (const dataset of datasetNames) {
      const { bytes } = await download(http, '/api/exports/zip', { study_id: filled.study.id, dataset });
      const archive = unzipped(bytes);
      const rows = await json(dataset);
      const dictionary = parse(archive.get('data-dictionary.csv')!, { columns: true }) as Record<string, string>[];
      for (const { column, allowed_values } of dictionary) {
        if (allowed_values === '') continue;
        const allowed = new Set(allowed_values!.split('|'));
        const found = new Set(
          rows
            .map((row) => row[column!])
            .filter((value) => value !== null)
            .map(String),
        );
        expect(
          [...found].filter((value) => !allowed.has(value)),
          `${dataset}.${column!}`,
        ).to.deep.equal([]);
      }
      const named = (name: string) => dictionary.find(({ column }) => column === name)?.allowed_values;
      if (dataset === 'visits')
        expect([named('status'), named('is_baseline'), named('target_date')]).to.deep.equal([
          'scheduled|open|completed|missed|superseded|cancelled',
          'true|false',
          '',
        ]);
    }
  });

  it('as a workbook, as lines, and as a zip with a dictionary', async () => {
    const bytes = async (format: string) =>
      new Uint8Array(
        (await download(http, `/api/exports/${format}`, { study_id: filled.study.id, dataset: 'raw_trials' })).bytes,
      );
    const book = new excel.Workbook();
    await book.xlsx.load((await bytes('xlsx')).buffer);
    expect(book.worksheets[0]!.rowCount).to.equal(1_201);
    expect(book.worksheets[0]!.getRow(2).values).to.include(filled.sessionId);
    const lines = Buffer.from(await bytes('ndjson'))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    expect(lines).to.deep.equal(await json('raw_trials'));
    const zip = Buffer.from(await bytes('zip')).toString('latin1');
    for (const name of ['README.txt', 'data-dictionary.csv', 'raw_trials.csv']) expect(zip).to.include(name);
  });

  it('in the background: a file with its checksum, whole or from where a download broke', async () => {
    const accepted = await ask('csv', 'raw_trials', { mode: 'background' });
    expect(accepted.status).to.equal(202);
    const { export_id, status_url } = accepted.body as unknown as { export_id: string; status_url: string };
    expect(status_url).to.equal(`/api/exports/${export_id}`);
    const done = await until(
      async () => {
        const seen = await http.expect(200, 'GET', status_url);
        return seen.status === 'completed' ? seen : undefined;
      },
      { timeout: 60_000, what: 'the export to be written' },
    );
    const whole = await http.get(done.download_url as string);
    expect(whole.text).to.equal((await ask('csv', 'raw_trials')).text);
    expect(done).to.include({
      progress: 1,
      rows: 1_200,
      size: Buffer.byteLength(whole.text),
      sha256: createHash('sha256').update(whole.text).digest('hex'),
    });
    const rest = await http.get(done.download_url as string, {
      headers: { Range: 'bytes=100-199', 'If-Range': whole.headers.get('etag')! },
    });
    expect([rest.status, rest.text, rest.headers.get('content-range')]).to.deep.equal([
      206,
      whole.text.slice(100, 200),
      `bytes 100-199/${whole.text.length}`,
    ]);
    expect(
      (await http.get(done.download_url as string, { headers: { Range: `bytes=${whole.text.length}-` } })).status,
    ).to.equal(416);
    expect((await http.get(status_url, { headers: {} })).status).to.equal(200);
    expect((await (await user(http, 'data_manager', { study_ids: [] })).get(status_url)).status).to.equal(404);
    // Who asks about the file, or has it already, has not downloaded it.
    const etag = whole.headers.get('etag')!;
    expect((await http.send('HEAD', done.download_url as string)).status).to.equal(200);
    expect((await http.get(done.download_url as string, { headers: { 'If-None-Match': etag } })).status).to.equal(304);
    // The user who downloads the file is recorded, also where another requested it.
    const colleague = await user(http, 'data_manager', { study_ids: [filled.study.id] });
    expect((await colleague.get(done.download_url as string)).status).to.equal(200);
    const { rows } = await database.query(
      `select user_id, audit_metadata from audit_log where action = 'export_downloaded' and resource_id = $1 order by seq`,
      [export_id],
    );
    const about = { dataset: 'raw_trials', format: 'csv' };
    expect(rows.map((row) => row.audit_metadata)).to.deep.equal([about, { ...about, from_byte: 100 }, about]);
    expect(rows[2].user_id).to.equal(colleague.userId);
  });

  it('a broken download goes on, whatever range is asked for', async () => {
    const { status_url } = await http.expect<{ status_url: string }>(202, 'POST', '/api/exports/csv', {
      study_id: filled.study.id,
      dataset: 'raw_trials',
      mode: 'background',
    });
    const { download_url } = await until(
      async () => {
        const seen = await http.expect<{ status: string; download_url: string }>(200, 'GET', status_url);
        return seen.status === 'completed' ? seen : undefined;
      },
      { timeout: 60_000, what: 'the export to be written' },
    );
    const whole = Buffer.from((await http.get(download_url)).text);
    const part = async (Range: string, more: Record<string, string> = {}) => {
      const answer = await http.get(download_url, { headers: { Range, ...more } });
      return [
        answer.status,
        answer.headers.get('content-range'),
        createHash('sha256').update(answer.text).digest('hex'),
      ];
    };
    const is = (status: number, from = 0, to = whole.length - 1) => [
      status,
      status === 206 ? `bytes ${from}-${to}/${whole.length}` : null,
      createHash('sha256')
        .update(whole.subarray(from, to + 1))
        .digest('hex'),
    ];
    expect(await part('bytes=1000-')).to.deep.equal(is(206, 1000));
    expect(await part('bytes=-100')).to.deep.equal(is(206, whole.length - 100));
    expect(await part(`bytes=0-${whole.length * 2}`)).to.deep.equal(is(206));
    expect(await part(`bytes=-${whole.length * 2}`)).to.deep.equal(is(206));
    for (const other of ['bytes=0-1,5-6', 'lines=1-2', 'bytes=5-2', 'bytes=a-b', 'bytes='])
      expect(await part(other), other).to.deep.equal(is(200));
    expect(await part('bytes=1000-', { 'If-Range': '"another"' })).to.deep.equal(is(200));
    expect((await part('bytes=-0'))[0]).to.equal(416);
    const tag = (await http.get(download_url)).headers.get('etag')!;
    expect(await part('bytes=0-9', { 'If-None-Match': tag })).to.deep.equal([304, null, is(304, 0, -1)[2]]);
    // One that was cut off in the middle, and its rest.
    const cut = await new Promise<Buffer>((resolve, reject) => {
      const asked = request(
        `${http.base}${download_url}`,
        { headers: { Authorization: `Bearer ${http.token!}` } },
        (response) => {
          response.once('data', (first: Buffer) => {
            asked.destroy();
            resolve(first);
          });
          response.on('error', () => undefined);
        },
      );
      asked.on('error', reject);
      asked.end();
    });
    const rest = await http.get(download_url, { headers: { Range: `bytes=${cut.length}-` } });
    expect(Buffer.concat([cut, Buffer.from(rest.text)]).equals(whole)).to.equal(true);
  });

  describe('whose reader goes away', () => {
    let large: Loose;
    before(async () => {
      large = await newStudy(http);
      // Enough that it cannot hide in the buffers of sockets, and of chance, so that packed it cannot either.
      await database.query(
        `with chance as (select left(string_agg(translate(encode(sha512(n::text::bytea), 'base64'), E'\\n', ''), ''), 100000) as text from generate_series(1, 1200) n)
         insert into participants (study_id, participant_code, status, withdrawn_at, withdrawal_reason) select $1, 'P-' || n, 'withdrawn', now(), text from chance, generate_series(1, 400) n`,
        [large.id],
      );
    });
    after(() => database.query('delete from participants where study_id = $1', [large.id]));
    const running = async () =>
      Number(
        (
          await database.query(
            `select count(*) as n from pg_stat_activity where query like 'copy (select%' and query like '%' || $1 || '%' and state = 'active'`,
            [large.id],
          )
        ).rows[0].n,
      );

    for (const format of ['csv', 'json', 'ndjson', 'xlsx', 'zip'])
      it(`as ${format} end in the database`, async () => {
        const body = JSON.stringify({ study_id: large.id, dataset: 'participants' });
        const sent = request(`${http.base}/api/exports/${format}`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${http.token!}`,
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(body),
          },
        });
        sent.on('error', () => undefined);
        const began = new Promise((resolve) => {
          sent.on('response', (response) => {
            response.once('readable', resolve);
          });
        });
        sent.end(body);
        await began;
        await until(async () => (await running()) === 1, { what: 'the statement to be seen' });
        await sleep(100);
        sent.destroy();
        await until(async () => (await running()) === 0, { what: 'the statement to end' });
        expect((await http.get('/api/health')).status).to.equal(200);
        expect(
          (await http.post('/api/exports/csv', { study_id: filled.study.id, dataset: 'participants' })).status,
        ).to.equal(200);
      });
  });
});
