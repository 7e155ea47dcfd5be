import { expect } from 'chai';
import pg from 'pg';
import { admin, goodPassword, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import type { RunJson } from '../support/service.js';
import { ConsoleBrowser, axe, fill, openConsole, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn } from './stage.js';

const SCRIPT = '<img src=x onerror=alert(1)>';

describe('the console’s pages of members and sites', function () {
  this.timeout(240_000);
  let run: RunJson;
  let by: Http;
  let browser: ConsoleBrowser;
  let sql: pg.Client;
  before(async () => {
    run = await service();
    by = await admin();
    sql = new pg.Client({ connectionString: run.database_url });
    await sql.connect();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await sql?.end();
  });

  const site = (studyId: string, code: string, fields: object = {}): Promise<Loose> =>
    by.expect(201, 'POST', `/api/studies/${studyId}/sites`, { site_code: code, ...fields });
  const account = async (email: string) =>
    (await by.expect(200, 'GET', `/api/users?search=${encodeURIComponent(email)}`)).items[0]!;
  const asAdmin = async () => {
    return Visitor.of(run.api, run.admin_email, run.admin_password ?? '');
  };

  it('add a member at a site, change role and sites, and end the membership; other studies stay', async () => {
    const study = await newStudy(by);
    const other = await newStudy(by);
    const berlin = await site(study.id, 'BER', { name: SCRIPT });
    const elsewhere = await site(other.id, 'BOS');
    const { email } = await user(by, 'coordinator', { study_ids: [other.id], site_ids: [elsewhere.id] });
    const { id } = await account(email);
    const { page, faults } = await openConsole(browser, `/console/studies/${study.id}`, {
      as: run.admin_email,
      password: run.admin_password ?? '',
    });
    await submit(page, `a[href="/console/studies/${study.id}/members"]`);
    expect(await textOf(page, 'main')).to.include('Nobody is assigned yet');
    await submit(page, 'main button.primary');
    expect(await textOf(page, '.error')).to.include('Fill this in.');
    await fill(page, { email: 'nobody@example.org' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '.error')).to.include('There is no active account with this email.');
    await fill(page, { email });
    await page.click(`[name=site_ids][value="${berlin.id}"]`);
    await submit(page, 'main button.primary');
    expect(await textOf(page, 'main'))
      .to.include('The person is a member now.')
      .and.to.include(email)
      .and.to.include('BER');
    expect(await page.$('main img')).to.equal(null);
    expect(await axe(page)).to.deep.equal([]);
    expect(await account(email)).to.deep.include({
      study_ids: [study.id, other.id].sort(),
      site_ids: [berlin.id, elsewhere.id].sort(),
    });
    await submit(page, `a[href$="/members/${id}"]`);
    await page.select('[name=role]', 'investigator');
    await page.click(`[name=site_ids][value="${berlin.id}"]`);
    await submit(page, 'section.card button.primary');
    expect(await textOf(page, 'main'))
      .to.include('Saved.')
      .and.to.include('Investigator');
    expect(await account(email)).to.deep.include({ role: 'investigator', site_ids: [elsewhere.id] });
    await submit(page, `a[href$="/members/${id}"]`);
    await submit(page, 'button.danger');
    expect(await textOf(page, 'main')).to.include('The membership has ended.');
    expect(await account(email)).to.deep.include({ study_ids: [other.id], site_ids: [elsewhere.id] });
    // Anyone who comes back to the page is told that there is no such member any more.
    await page.goto(`${browser.base}/console/studies/${study.id}/members/${id}`);
    expect(await page.$('button.danger')).to.equal(null);
    expect(faults).to.deep.equal([]);
    const { items } = await by.expect(200, 'GET', `/api/audit?resource_type=user&action=user_changed&limit=50`);
    expect(items.filter(({ resource_id }) => resource_id === id).length).to.equal(3);
  });

  it('are shown by pages, and weigh little however many there are', async () => {
    const study = await newStudy(by);
    await sql.query(
      `with u as (insert into users (email, name, role, password_hash)
         select 'many-' || n || '-' || left($1, 8) || '@example.org', 'Member ' || lpad(n::text, 4, '0'), 'coordinator', '-'
           from generate_series(1, 120) n returning id)
       insert into user_studies (user_id, study_id) select id, $1::uuid from u`,
      [study.id],
    );
    const visitor = await asAdmin();
    const path = `/console/studies/${study.id}/members`;
    const first = (await visitor.get(path)).text;
    expect(first).to.include('120 members').and.to.include('Member 0050').and.not.to.include('Member 0051');
    expect(first).to.include(`${path}?skip=50`);
    const last = (await visitor.get(`${path}?skip=100`)).text;
    expect(last).to.include('Member 0120').and.not.to.include('Member 0100');
  });

  it('say what somebody else has changed, and keep the choice', async () => {
    const study = await newStudy(by);
    const { email } = await user(by, 'coordinator', { study_ids: [study.id] });
    const { id } = await account(email);
    const visitor = await asAdmin();
    const path = `/console/studies/${study.id}/members/${id}`;
    const { text } = await visitor.get(path);
    await by.expect(200, 'PATCH', `/api/users/${id}`, { role: 'investigator' });
    const form = {
      _token: tokenIn(text),
      version: hiddenIn(text, 'version'),
      seen: hiddenIn(text, 'seen'),
      role: 'researcher',
    };
    const stale = await visitor.send('POST', path, form);
    expect(stale.status).to.equal(409);
    expect(stale.text)
      .to.include('Somebody else has changed this')
      .and.to.match(/<del[^>]*>coordinator<\/del> <ins[^>]*>investigator<\/ins>/)
      .and.to.match(/selected value="researcher"|value="researcher" selected/);
    const again = { ...form, version: hiddenIn(stale.text, 'version'), seen: hiddenIn(stale.text, 'seen') };
    expect((await visitor.send('POST', path, again)).status).to.equal(303);
    expect(await account(email)).to.deep.include({ role: 'researcher' });
    const forged = await visitor.send('POST', path, { ...again, role: 'emperor' });
    expect(forged.status).to.equal(422);
    expect(forged.text).to.include('Choose one of these: ');
    // Who is added twice is a member once.
    const list = `/console/studies/${study.id}/members`;
    expect((await visitor.post(list, list, { email })).status).to.equal(303);
    expect((await visitor.post(list, list, { email: 'nobody' })).status).to.equal(404);
    expect((await visitor.get(`${list}/${by.userId}`)).status).to.equal(404);
  });

  it('add and change sites without JavaScript, and refuse a code that is taken with what was typed', async () => {
    const study = await newStudy(by);
    const { email } = await user(by, 'researcher', { study_ids: [study.id] });
    const list = `/console/studies/${study.id}/sites`;
    const { page } = await openConsole(browser, list, { javascript: false, language: 'de', as: email });
    expect(await textOf(page, 'main')).to.include('Die Studie hat noch keinen Standort');
    await submit(page, 'main a.button');
    await fill(page, { site_code: 'BER', name: SCRIPT, timezone: 'Nowhere/Nothing' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '.error')).to.include('Nötig ist eine Zeitzone wie Europe/Berlin.');
    await fill(page, { timezone: 'Europe/Berlin' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, 'main'))
      .to.include('Es ist gespeichert.')
      .and.to.include(SCRIPT);
    const rows = async () => (await by.expect(200, 'GET', `/api/studies/${study.id}/sites`)).items;
    expect((await rows())[0]).to.include({ site_code: 'BER', name: SCRIPT, timezone: 'Europe/Berlin' });
    await page.goto(`${browser.base}${list}/new`);
    await fill(page, { site_code: 'BER', name: 'Another' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '.error')).to.include('Ein anderer Standort der Studie');
    expect(await page.$eval('[name=name]', (field) => (field as unknown as { value: string }).value)).to.equal(
      'Another',
    );
    const scripted = await openConsole(browser, list, { as: email });
    await submit(scripted.page, `a[href^="${list}/"][aria-label]`);
    await fill(scripted.page, { timezone: 'America/New_York' });
    await scripted.page.select('[name=status]', 'inactive');
    await submit(scripted.page, 'main button.primary');
    expect(await textOf(scripted.page, 'main'))
      .to.include('decided again in the background')
      .and.to.include('Closed');
    expect((await rows())[0]).to.include({ timezone: 'America/New_York', status: 'inactive' });
  });

  it('create an empty study, and delete one that nobody takes part in', async () => {
    const { email } = await user(by, 'researcher');
    const { page } = await openConsole(browser, '/console/studies/new', { as: email });
    await submit(page, 'a[href="/console/studies/create"]');
    const code = unique('NEW');
    await fill(page, { study_code: code, study_name: SCRIPT, timezone: 'Nowhere' });
    await submit(page, 'main button.primary');
    expect(await page.$('[name=timezone][aria-invalid]')).not.to.equal(null);
    await fill(page, { timezone: 'Europe/Paris' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, 'main')).to.include('The study is created.');
    const id = new URL(page.url()).pathname.split('/').at(-1)!;
    expect(await by.expect(200, 'GET', `/api/studies/${id}`)).to.include({
      study_code: code,
      timezone: 'Europe/Paris',
    });
    expect(await page.$('main img')).to.equal(null);
    await page.goto(`${browser.base}/console/studies/create`);
    await fill(page, { study_code: code, study_name: 'Twice' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '.error')).to.include('Another study has this code.');
    const visitor = await asAdmin();
    const path = `/console/studies/${id}/delete`;
    expect((await visitor.get(path)).text).to.include('Delete the study');
    const researcher = await Visitor.of(run.api, email);
    expect((await researcher.get(path)).status).to.equal(403);
    const { text } = await visitor.get(path);
    await by.expect(201, 'POST', `/api/studies/${id}/participants`, { participant_code: 'P1' });
    const version = hiddenIn(text, 'version');
    const now = await visitor.get(path);
    expect(now.text, 'with participants the page offers nothing').not.to.include(`action="${path}"`);
    expect((await visitor.get(`/console/studies/${id}/settings`)).text).not.to.include(path);
    const refused = await visitor.send('POST', path, { _token: tokenIn(text), version });
    expect(refused.status).to.equal(409);
    expect(refused.text).to.include('The study has participants and cannot be deleted.');
    const empty = await newStudy(by);
    expect((await visitor.get(`/console/studies/${empty.id}/settings`)).text).to.include(`${empty.id}/delete`);
    const shown = await visitor.get(`/console/studies/${empty.id}/delete`);
    const gone = await visitor.send('POST', `/console/studies/${empty.id}/delete`, {
      _token: tokenIn(shown.text),
      version: hiddenIn(shown.text, 'version'),
    });
    expect(gone.status).to.equal(303);
    expect((await by.get(`/api/studies/${empty.id}`)).status).to.equal(404);
  });

  it('are shown to whom REST shows them', async () => {
    const study = await newStudy(by);
    const { email } = await user(by, 'coordinator', { study_ids: [study.id] });
    const visitor = await Visitor.of(run.api, email);
    const at = `/console/studies/${study.id}`;
    const { text } = await visitor.get(`${at}/sites`);
    expect(text).not.to.include('Add a site').and.not.to.include(`${at}/members`).and.not.to.include('/connection');
    for (const path of ['members', 'sites/new', 'messages', 'events/new', 'delete'])
      expect((await visitor.get(`${at}/${path}`)).status, path).to.equal(403);
    for (const path of ['sites', 'events', 'batteries'])
      expect((await visitor.get(`${at}/${path}`)).status, path).to.equal(200);
    const other = await newStudy(by);
    const strange = await site(other.id, 'XX');
    const researcher = new Visitor(run.api);
    await researcher.login((await user(by, 'researcher', { study_ids: [study.id] })).email, goodPassword);
    expect((await researcher.get(`${at}/sites/${strange.id}`)).status).to.equal(404);
    expect((await (await asAdmin()).get(`${at}/sites/${strange.id}`)).status).to.equal(404);
  });
});
