import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import { startApi } from '../support/api-process.js';
import { goodPassword, newStudy, unique, user } from '../support/http.js';
import { until } from '../support/until.js';
import { ConsoleBrowser, axe, fill, openConsole, setValue, submit, textOf, valueOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn } from './stage.js';

const SCRIPT = '<img src=x onerror=alert(1)>';
const manual = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };

describe('the console’s pages of studies', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await stage?.close();
  });

  const visitorOf = (email: string) => Visitor.of(stage.run.api, email);

  it('leads from nothing to a study: template, preview, policy in words, first steps', async () => {
    const researcher = await user(stage.admin, 'researcher');
    const { page, faults } = await openConsole(browser, '/console/studies', { as: researcher.email });
    expect(await textOf(page, 'main')).to.include('There is no study yet');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'a.primary');
    await submit(page, 'a[href="/console/studies/new/longitudinal-cognition"]');
    const preview = await textOf(page, 'main');
    expect(preview).to.include('This is what the study will have').and.to.include('Visit windows');
    expect(preview).to.include('Visits are counted from');
    const taken = await newStudy(stage.admin);
    await fill(page, { study_code: taken.study_code as string, study_name: 'A study of memory' });
    await submit(page, 'button.primary');
    expect(await textOf(page, '.error')).to.include('Another study has this code.');
    const code = unique('MEM');
    await fill(page, { study_code: code });
    await submit(page, 'button.primary');
    const said = await textOf(page, 'main');
    for (const part of ['The study is created.', 'First steps', 'A study of memory', 'Visits are counted from'])
      expect(said).to.include(part);
    const studyId = new URL(page.url()).pathname.split('/').at(-1)!;
    expect(await page.$(`a[href="/console/studies/${studyId}/enroll"]`)).not.to.equal(null);
    expect(await axe(page)).to.deep.equal([]);
    const made = await researcher.expect(200, 'GET', `/api/studies/${studyId}`);
    expect(made).to.include({ study_code: code, study_name: 'A study of memory' });
    await page.goto(`${browser.base}/console/studies`);
    expect(await textOf(page, 'main')).to.include(code);
    expect(faults).to.deep.equal([]);
  });

  it('names templates in the reader’s language, and proposes that name for the study', async () => {
    const researcher = await user(stage.admin, 'researcher');
    const { page } = await openConsole(browser, '/console/studies/new', { language: 'de', as: researcher.email });
    expect(await textOf(page, 'main'))
      .to.include('Kognition im Längsschnitt, drei Jahre')
      .and.to.include('Kognitives Altern')
      .and.not.to.include('Longitudinal cognition');
    await submit(page, 'a[href="/console/studies/new/longitudinal-cognition"]');
    expect(await textOf(page, 'h1')).to.equal('Kognition im Längsschnitt, drei Jahre');
    expect(await valueOf(page, '[name=study_name]')).to.equal('Kognition im Längsschnitt, drei Jahre');
  });

  it('shows what another policy would move, saves it, and follows the change to its end', async () => {
    const study = await stage.study(manual, { days: [0, 30] });
    const people = [await study.person(), await study.person(), await study.person()];
    for (const person of people.slice(0, 2)) await person.set(DAY);
    const { email } = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const path = `/console/studies/${study.id}/policy`;
    const { page, faults } = await openConsole(browser, path, { as: email });
    const next = { ...manual, schedule_on_provisional: true, prerequisites: { require_eligibility_confirmed: true } };
    await setValue(page, 'textarea', '{ "sources": [');
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.notice')).to.include('This is not JSON');
    expect(await valueOf(page, 'textarea')).to.equal('{ "sources": [');
    await setValue(
      page,
      'textarea',
      JSON.stringify({ sources: [{ type: 'form_item' }], prerequisites: { custom_rule: '1 +' } }),
    );
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.notice'))
      .to.include('sources.0.form_mapping This is required')
      .and.to.include('2 faults');
    expect(await axe(page)).to.deep.equal([]);
    await setValue(page, 'textarea', JSON.stringify({ ...next, sources: [{ type: 'consent_workflow' }] }));
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.trial')).to.include('0 of 3 would move.');
    await setValue(page, 'textarea', JSON.stringify(next));
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.policy-words'))
      .to.include('Changed')
      .and.to.include('confirmed eligibility');
    expect(await axe(page)).to.deep.equal([]);
    expect((await stage.admin.get(`/api/studies/${study.id}/config/enrollment-policy`)).body).to.include({
      schedule_on_provisional: false,
    });
    await submit(page, 'button[value=save]');
    expect(page.url()).to.match(/\/changes\/policy-2$/);
    await page.waitForFunction(`document.querySelector('main').innerText.includes('The change is carried out.')`, {
      polling: 250,
      timeout: 60_000,
    });
    expect(await axe(page)).to.deep.equal([]);
    expect((await stage.admin.get(`/api/studies/${study.id}/config/enrollment-policy`)).body).to.include({
      schedule_on_provisional: true,
    });
    expect(faults).to.deep.equal([]);
  });

  it('looks at a large study beside the page, which may be left and found again', async () => {
    const study = await stage.study(manual, { days: [0, 30] });
    const { email } = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    // The sweep for participants without a running workflow leaves those of tomorrow alone.
    await stage.sql(
      `with p as (insert into participants (study_id, participant_code, status, enrollment_date, created_at)
         select :study, 'L-' || n, 'enrolled', current_date - 20, now() + interval '1 day' from generate_series(1, 2001) n returning id)
       insert into anchor_dates (participant_id, study_id, enrollment_date_value, timezone, source_type, source_ref, captured_at, status, version)
       select id, :study, current_date - 20, 'UTC', 'manual_entry', '{}', now(), 'provisional', 2 from p`,
      { study: study.id },
    );
    const path = `/console/studies/${study.id}/policy`;
    const { page, faults } = await openConsole(browser, path, { as: email });
    const next = JSON.stringify({ ...manual, sources: [{ type: 'consent_workflow' }] });
    await setValue(page, 'textarea', next);
    await submit(page, 'button[value=try]');
    expect(page.url()).to.match(/\/policy\/trials\/[0-9a-f-]{36}$/);
    const address = page.url();
    await page.goto(`${browser.base}/console/inbox`);
    await page.goto(address);
    await page.waitForSelector('.trial', { timeout: 60_000 });
    expect(await textOf(page, '.trial')).to.include('of 2,001 would move.');
    expect(await valueOf(page, 'textarea')).to.equal(next);
    expect(await axe(page)).to.deep.equal([]);
    // Another process shows it as well.
    const api = await startApi();
    try {
      const there = new Visitor(api.url);
      await there.login(email, goodPassword);
      expect((await there.get(new URL(address).pathname)).text).to.include('of 2,001 would move.');
    } finally {
      await api.stop();
    }
    // It is its asker's.
    const other = await visitorOf((await user(stage.admin, 'researcher', { study_ids: [study.id] })).email);
    const theirs = await other.get(`${new URL(address).pathname}/progress`);
    expect(theirs.text).to.include('This dry run ended before it was done.').and.not.to.include('would move');
    await submit(page, 'button[value=save]');
    expect(page.url()).to.match(/\/changes\/policy-2$/);
    expect(faults).to.deep.equal([]);
  });

  it('counts who would move, with examples by code, without JavaScript and in German', async () => {
    const study = await stage.study({ ...manual, prerequisites: { require_eligibility_confirmed: true } });
    const person = await study.person({ participant_code: unique('WAITS') });
    await person.set(DAY);
    const { email } = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const by = await visitorOf(email);
    const path = `/console/studies/${study.id}/policy`;
    const tried = await by.post(path, path, {
      policy: JSON.stringify({ ...manual, prerequisites: { require_consent_signed: false } }),
      policy_version: '1',
      do: 'try',
    });
    expect(tried.text).to.include('1 of 1 would move.').and.to.include('WAITS-');
    const { page } = await openConsole(browser, path, { javascript: false, language: 'de', as: email });
    expect(await textOf(page, 'main'))
      .to.include('Regeln als JSON')
      .and.to.include('eine bestätigte Eignung');
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.trial')).to.include('0 von 1 würden sich verschieben.');
    // Two tabs: the second one has seen a version that is no longer in force.
    const first = { policy: JSON.stringify(manual), policy_version: '1', do: 'save' };
    expect((await by.post(path, path, first)).status).to.equal(303);
    const second = await by.post(path, path, { ...first, policy: JSON.stringify({ ...manual, sources: [] }) });
    expect(second.status).to.equal(409);
    expect(second.text).to.include('Somebody else has changed this').and.to.include('&quot;sources&quot;:[]');
    const { body } = await stage.admin.get(`/api/studies/${study.id}/config/enrollment-policy/versions`);
    expect(body.total).to.equal(2);
    // Of a name that stands twice one would be lost, and a long number would be rounded.
    for (const [typed, said] of [
      ['{"sources": [], "sources": [{"type": "manual_entry"}]}', 'The field is there twice.'],
      ['{"permissions": {"timeout_hours": 12345678901234567890}}', 'more than 15 digits'],
    ]) {
      const refused = await by.post(path, path, { policy: typed!, policy_version: '2', do: 'save' });
      expect(refused.status).to.equal(422);
      expect(refused.text).to.include(said);
    }
  });

  it('adds, changes and deletes a visit window, and says before what would move', async () => {
    const study = await stage.study(manual, { days: [0] });
    const person = await study.person();
    await person.set(DAY);
    const { email } = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const { page } = await openConsole(browser, `/console/studies/${study.id}`, { as: email });
    await submit(page, `a[href$="/windows/new"]`);
    await fill(page, { code: 'M1', name: SCRIPT, target_day: 'soon' });
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.error')).to.match(/integer|number/);
    await fill(page, { target_day: '30' });
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.notice')).to.include('1 of 1 would get another schedule.');
    expect(await axe(page)).to.deep.equal([]);
    expect((await stage.admin.get(`/api/schedules/windows?study_id=${study.id}`)).body.total).to.equal(1);
    await submit(page, 'button[value=save]');
    const done = () =>
      page.waitForFunction(
        `/The change is carried out|This change is done/.test(document.querySelector('main').innerText)`,
        { polling: 250, timeout: 60_000 },
      );
    await done();
    const window = async () =>
      (await stage.admin.get(`/api/schedules/windows?study_id=${study.id}`)).body.items.find(
        ({ code }) => code === 'M1',
      );
    expect(await window()).to.include({ name: SCRIPT, target_day: 30, window_after: 7 });
    await until(async () => (await person.standing()).length === 2, { what: 'the new visit' });
    await page.goto(`${browser.base}/console/studies/${study.id}`);
    expect(await page.$('main img')).to.equal(null);
    await submit(page, `a[href$="/windows/${(await window())!.id}"]`);
    await fill(page, { target_day: '60', name: 'Month 2' });
    await submit(page, 'button[value=save]');
    await done();
    expect(await window()).to.include({ target_day: 60, name: 'Month 2' });
    await page.goto(`${browser.base}/console/studies/${study.id}/windows/${(await window())!.id}`);
    await submit(page, 'a[href$="/delete"]');
    expect(await textOf(page, '.notice')).to.include('1 of 1 would get another schedule.');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'button.danger');
    await done();
    expect(await window()).to.equal(undefined);
  });

  it('changes settings, and refuses what was overtaken with what was typed', async () => {
    const study = await newStudy(stage.admin, { study_name: SCRIPT, description: SCRIPT });
    const { email } = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const { page } = await openConsole(browser, `/console/studies/${study.id}/settings`, { as: email });
    await fill(page, { timezone: 'Nowhere/Nothing' });
    await submit(page, 'button.primary');
    expect(await page.$('[name=timezone][aria-invalid]')).not.to.equal(null);
    await fill(page, { timezone: 'Europe/Berlin', description: 'Of memory' });
    await submit(page, 'button.primary');
    expect(await textOf(page, 'main'))
      .to.include('It is saved.')
      .and.to.include('Of memory')
      .and.to.include(SCRIPT);
    expect(await page.$('main img')).to.equal(null);
    const by = await visitorOf(email);
    const path = `/console/studies/${study.id}/settings`;
    const { text } = await by.get(path);
    const form = {
      _token: tokenIn(text),
      version: hiddenIn(text, 'version'),
      study_name: 'Mine',
      description: '',
      status: 'paused',
      start_date: '',
      end_date: '',
      timezone: 'UTC',
      consent_mode: 'econsent',
    };
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { study_name: 'Theirs' });
    const stale = await by.send('POST', path, form);
    expect(stale.status).to.equal(409);
    expect(stale.text).to.include('Somebody else has changed this').and.to.include('value="Mine"');
    const again = await by.send('POST', path, { ...form, version: hiddenIn(stale.text, 'version') });
    expect(again.status).to.equal(303);
    expect(await stage.admin.expect(200, 'GET', `/api/studies/${study.id}`)).to.include({
      study_name: 'Mine',
      status: 'paused',
      description: null,
    });
  });

  it('saves a design as a template, once under a name', async () => {
    const study = await stage.study(manual, { days: [0, 7] });
    const { email } = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const by = await visitorOf(email);
    const path = `/console/studies/${study.id}/template`;
    const id = unique('template');
    const saved = await by.post(path, path, { template_id: id, name: 'Ours' });
    expect(saved.headers.get('location')).to.equal(`/console/studies/${study.id}?said=template`);
    expect((await by.post(path, path, { template_id: id, name: 'Ours' })).text).to.include(
      'Another template has this id.',
    );
    const preview = await by.get(`/console/studies/new/${id}`);
    expect(preview.text).to.include('2 visit windows');
  });

  it('shows each role what is theirs', async () => {
    const study = await stage.study(manual, { days: [0] });
    const coordinator = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
    const by = await visitorOf(coordinator.email);
    const path = `/console/studies/${study.id}`;
    const { text } = await by.get(path);
    expect(text).to.include('Visits are counted from').and.not.to.include(coordinator.email.replace('@', '&#64;'));
    for (const hidden of [
      'Change the policy',
      'Add a visit window',
      'Change the settings',
      'Members',
      'Save as a template',
    ])
      expect(text).not.to.include(hidden);
    const token = tokenIn(text);
    for (const at of ['policy', 'settings', 'windows/new', 'template']) {
      expect((await by.get(`${path}/${at}`)).status, at).to.equal(403);
      expect((await by.send('POST', `${path}/${at}`, { _token: token })).status, at).to.equal(403);
    }
    expect((await by.get('/console/studies/new')).status).to.equal(403);
    const other = await stage.study(manual);
    expect((await by.get(`/console/studies/${other.id}`)).status).to.equal(404);
    const admin = await Visitor.of(stage.run.api, stage.run.admin_email, stage.run.admin_password ?? '');
    const seen = await admin.get(path);
    expect(seen.text).to.include('Members').and.to.include('A coordinator').and.to.include(coordinator.email);
    // A window of another study is none of this one.
    const windows = await stage.admin.get(`/api/schedules/windows?study_id=${other.id}`);
    expect((await admin.get(`${path}/windows/${windows.body.items[0]!.id}`)).status).to.equal(404);
  });
});
