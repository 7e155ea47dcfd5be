import { expect } from 'chai';
import pg from 'pg';
import { startApi } from '../support/api-process.js';
import { newStudy, user } from '../support/http.js';
import { until } from '../support/until.js';
import { Stage } from '../anchor/stage.js';
import { ConsoleBrowser, axe, openConsole, submit, textOf } from './browser.js';
import { Visitor } from './stage.js';

const LIST = '/console/reports/documents';
const READY = 'The PDF is ready.';

describe('documents of the console', function () {
  this.timeout(180_000);
  let stage: Stage;
  let sql: pg.Client;
  before(async () => {
    stage = await Stage.open();
    sql = new pg.Client({ connectionString: stage.run.database_url });
    await sql.connect();
  });
  after(async () => {
    await sql.end();
    await stage.close();
  });

  const userId = async (email: string): Promise<string> =>
    (await sql.query<{ id: string }>('select id from users where email = $1', [email])).rows[0]!.id;
  const reader = async (study?: string, role: 'researcher' | 'coordinator' = 'researcher') => {
    const id = study ?? (await newStudy(stage.admin)).id;
    const who = await user(stage.admin, role, { study_ids: [id] });
    const visitor = await Visitor.of(stage.run.api, who.email);
    return { study: id, email: who.email, userId: await userId(who.email), visitor };
  };
  /** Asks for the document of a study. @returns the address that it leads to */
  const order = async (visitor: Visitor, study: string, fields: Record<string, string> = {}) => {
    const at = `/console/reports/${study}`;
    const answer = await visitor.post(at, `${at}/documents`, { page_size: 'a4', ...fields });
    expect(answer.status, answer.text.slice(0, 500)).to.equal(303);
    return answer.headers.get('location')!;
  };
  const says = (visitor: Visitor, path: string, words: string) =>
    until(async () => (await visitor.get(path)).text.includes(words), {
      timeout: 90_000,
      what: `“${words}” at ${path}`,
    });

  it('go on when their page is left, and are there when one comes back', async () => {
    const browser = await ConsoleBrowser.start();
    try {
      const { study, email } = await reader();
      const { page, faults } = await openConsole(browser, `/console/reports/${study}`, { as: email });
      await submit(page, '.download button');
      const own = new URL(page.url()).pathname;
      expect(own).to.match(/^\/console\/reports\/documents\/[\da-f-]{36}$/);
      await page.goto(`${browser.base}/console/inbox`);
      await page.goto(`${browser.base}${LIST}`);
      // The list asks for itself again.
      await page.waitForFunction(`document.querySelector('#documents a[download]')`, { polling: 250, timeout: 90_000 });
      expect(await textOf(page, '#documents')).to.include('Ready');
      expect(await axe(page)).to.deep.equal([]);
      await submit(page, '#documents th a');
      expect(new URL(page.url()).pathname).to.equal(own);
      expect(await textOf(page, '#document')).to.include(READY);
      expect(await axe(page)).to.deep.equal([]);
      const begins = await page.evaluate(
        `fetch(document.querySelector('#document a[download]').href).then((a) => a.text()).then((text) => text.slice(0, 5))`,
      );
      expect(begins).to.equal('%PDF-');
      expect(faults).to.deep.equal([]);
      const { body } = await stage.admin.get(`/api/audit?study_id=${study}&action=report_printed`);
      expect(body.total).to.equal(1);
      expect(body.items[0]!.user_id).to.equal(await userId(email));
    } finally {
      await browser.close();
    }
  });

  it('are had without a script, with their filter, asked for twice at a time are one, and are kept for a day', async () => {
    const { study, visitor } = await reader();
    const filter = { from: '2026-01-01', to: '2026-02-01', page_size: 'letter' };
    const [first, second] = [await order(visitor, study, filter), await order(visitor, study, filter)];
    const [row] = (
      await sql.query<{ status: string }>('select status from report_documents where id = $1', [
        first.split('/').at(-1),
      ])
    ).rows;
    expect(first === second || row!.status === 'completed').to.equal(true);
    const { text } = await visitor.get(first);
    if (!text.includes(READY)) expect(text).to.include('Show how far it is').and.to.include('<progress');
    await says(visitor, first, READY);
    expect((await visitor.get(first)).text)
      .to.include('2026-01-01')
      .and.to.include('Letter');
    const file = await visitor.get(`${first}/file`);
    expect([file.status, file.headers.get('content-type')]).to.deep.equal([200, 'application/pdf']);
    expect(file.headers.get('content-disposition')).to.match(/^attachment; filename="S-[\w-]+-summary-.*\.pdf"$/);
    expect(file.headers.get('cache-control')).to.include('no-store');
    const wrong = await visitor.post(first, `/console/reports/${study}/documents`, {
      page_size: 'a4',
      from: '2026-02-02',
      to: '2026-02-01',
    });
    expect(wrong.status).to.equal(400);
    const id = first.split('/').at(-1);
    const { rows } = await sql.query<{ hours: number }>(
      `select round(extract(epoch from expires_at - completed_at) / 3600)::integer as hours from report_documents where id = $1`,
      [id],
    );
    expect(rows[0]!.hours).to.equal(24);
    await sql.query('update report_documents set expires_at = clock_timestamp() where id = $1', [id]);
    expect((await visitor.get(first)).text)
      .to.include('Expired')
      .and.not.to.include('/file');
    expect((await visitor.get(`${first}/file`)).status).to.equal(404);
  });

  let once: ReturnType<typeof print> | undefined;
  const print = async () => {
    const by = await reader(undefined, 'coordinator');
    const at = await order(by.visitor, by.study);
    await says(by.visitor, at, READY);
    return { ...by, at };
  };
  /** A document that several tests look at: each takes seconds to print. */
  const printed = () => (once ??= print());

  it('are shown and given by every process, and one that fails says why', async () => {
    const api = await startApi({ CHROMIUM_PATH: '/nonexistent/chromium' });
    try {
      const { study, email, visitor, at } = await printed();
      const there = await Visitor.of(api.url, email);
      expect((await there.get(`${at}/file`)).text.slice(0, 5)).to.equal('%PDF-');
      const failing = await order(there, study);
      await says(visitor, failing, 'No PDF can be printed right now.');
      expect((await visitor.get(LIST)).text)
        .to.include('Failed')
        .and.to.include('Ready');
    } finally {
      await api.stop();
    }
  });

  it('are gone for who sees other sites than when they were printed', async () => {
    const { study, userId: id, visitor, at } = await printed();
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${study}/sites`, {
      site_code: 'S1',
      timezone: 'UTC',
    });
    const sees = (site_ids: string[]) => stage.admin.expect(200, 'PATCH', `/api/users/${id}`, { site_ids });
    await sees([site.id]);
    expect((await visitor.get(`${at}/file`)).status).to.equal(404);
    await sees([]);
    expect((await visitor.get(`${at}/file`)).status, 'the same as then').to.equal(200);
  });

  it('are of the user who asked, for as long as the user may read the study', async () => {
    const { study, userId: id, visitor, at } = await printed();
    const { visitor: other } = await reader(study);
    for (const path of [at, `${at}/file`]) expect((await other.get(path)).status, path).to.equal(404);
    expect((await other.get(`${at}/progress`)).text).to.equal('');
    expect((await other.get(LIST)).text).not.to.include(at);
    expect((await visitor.get(LIST)).text).to.include(at);
    const elsewhere = await newStudy(stage.admin);
    await stage.admin.expect(200, 'PATCH', `/api/users/${id}`, { study_ids: [elsewhere.id] });
    try {
      for (const path of [at, `${at}/file`]) expect((await visitor.get(path)).status, path).to.equal(404);
      expect((await visitor.get(LIST)).text).not.to.include(at);
    } finally {
      await stage.admin.expect(200, 'PATCH', `/api/users/${id}`, { study_ids: [study] });
    }
  });

  it('that a process left behind are printed by another', async () => {
    const { study, userId: id, visitor } = await reader();
    const { rows } = await sql.query<{ id: string }>(
      `insert into report_documents (study_id, requested_by_id, request_id, question, status, progress, attempt, taken_until)
       values ($1, $2, 'left-behind', '{"page_size":"a4","language":"en"}', 'running', 0.4, 1, clock_timestamp() + interval '1 hour') returning id`,
      [study, id],
    );
    const at = `${LIST}/${rows[0]!.id}`;
    expect((await visitor.get(at)).text).to.include('Drawing, 40 %');
    await sql.query(`update report_documents set taken_until = clock_timestamp() - interval '1 minute' where id = $1`, [
      rows[0]!.id,
    ]);
    await says(visitor, at, READY);
  });
});
