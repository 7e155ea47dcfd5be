import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import { newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { ConsoleBrowser, axe, fill, openConsole, setValue, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn } from './stage.js';

const SCRIPT = '<img src=x onerror=alert(1)>';
const manual = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };

describe('the console’s pages of events, batteries and messages', function () {
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

  const researcher = async (studyId: string) => (await user(stage.admin, 'researcher', { study_ids: [studyId] })).email;
  const visitorOf = (email: string) => Visitor.of(stage.run.api, email);

  it('add, change and delete an event definition, and say before what would move', async () => {
    const study = await stage.study(manual, { days: [0] });
    const person = await study.person();
    await person.set(DAY);
    const at = `/console/studies/${study.id}/events`;
    const { page, faults } = await openConsole(browser, at, { as: await researcher(study.id) });
    expect(await textOf(page, 'main')).to.include('plans its visits by visit windows');
    await submit(page, 'main a.button');
    await fill(page, { event_oid: 'SE_M1', name: SCRIPT, target_day: '30', repeat_count: '2' });
    await submit(page, 'button[value=try]');
    expect(await page.$('[name=repeat_days][aria-invalid]')).not.to.equal(null);
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { repeat_days: '7' });
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.notice')).to.include('event definitions do not count');
    await submit(page, 'button[value=save]');
    expect(await textOf(page, 'main'))
      .to.include('It is saved.')
      .and.to.include('2 times, every 7 days');
    expect(await page.$('main img')).to.equal(null);
    const events = async (): Promise<Loose[]> =>
      (await stage.admin.get(`/api/studies/${study.id}/event-definitions`)).body.items;
    expect((await events())[0]).to.deep.include({ event_oid: 'SE_M1', repeating: { count: 2, every_days: 7 } });
    await page.click('main details summary');
    await submit(page, 'button[name=mode]');
    expect(await textOf(page, 'main')).to.include('plans its visits by event definitions');
    await until(async () => (await person.standing()).length === 2, { what: 'the visits of the event' });
    const [event] = await events();
    await submit(page, `a[href$="/events/${event!.id}"]`);
    await fill(page, { target_day: '60' });
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.notice')).to.include('1 of 1 would get another schedule.');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'button[value=save]');
    expect(page.url()).to.include('/changes/');
    expect((await events())[0]).to.include({ target_day: 60 });
    await page.goto(`${browser.base}${at}/new`);
    await fill(page, { event_oid: 'SE_M1', name: 'Again', target_day: '1' });
    await submit(page, 'button[value=save]');
    expect(await textOf(page, '.error')).to.include('Another event of the study has this code.');
    await page.goto(`${browser.base}${at}/${event!.id}/delete`);
    expect(await textOf(page, '.notice')).to.include('1 of 1 would get another schedule.');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'button.danger');
    expect(await events()).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
  });

  it('create a battery, add and change tasks, show what a publication changes, publish', async () => {
    const study = await newStudy(stage.admin);
    const list = `/console/studies/${study.id}/batteries`;
    const { page, faults } = await openConsole(browser, list, { javascript: false, as: await researcher(study.id) });
    expect(await textOf(page, 'main')).to.include('The study has no battery yet');
    await fill(page, { code: 'B1', name: SCRIPT });
    await submit(page, 'main button.primary');
    const id = new URL(page.url()).pathname.split('/').at(-1)!;
    const battery = () => stage.admin.expect<Loose & { modules: Loose[] }>(200, 'GET', `/api/batteries/${id}`);
    for (const task of ['stroop', 'n_back']) {
      await page.select('[name=task]', task);
      await submit(page, 'form[action$="/modules"] button');
    }
    expect(await textOf(page, '#publication'))
      .to.include('Added:')
      .and.to.include('Stroop');
    await submit(page, 'button[value=published]');
    expect(await textOf(page, 'main')).to.include('It is published.');
    expect(await battery()).to.include({ status: 'published', published_version: 1 });
    expect(await page.$('main img')).to.equal(null);
    await submit(page, 'button[value=down]');
    const first = (await battery()).modules[0]!;
    expect(first.task).to.equal('n_back');
    await submit(page, `a[href$="/modules/${first.id}"]`);
    await fill(page, { 'settings.n': '99', name: 'Two back' });
    await submit(page, 'section.card button.primary');
    expect(await page.$('[name="settings.n"][aria-invalid]')).not.to.equal(null);
    await fill(page, { 'settings.n': '3', 'settings.trials': '', settings: '{ "colour": ' });
    await submit(page, 'section.card button.primary');
    expect(await page.$('[name="settings"][aria-invalid]')).not.to.equal(null);
    const twice = '{ "colour": "red", "title": { "de": "Zwei", "de": "Two" } }';
    await setValue(page, '[name="settings"]', twice);
    await submit(page, 'section.card button.primary');
    expect(await textOf(page, 'main')).to.include('The field is there twice.');
    await setValue(page, '[name="settings"]', '{ "colour": "red", "title": { "de": "Zwei", "en": "Two" } }');
    await submit(page, 'section.card button.primary');
    const changed = (await battery()).modules[0]!;
    expect(changed).to.deep.include({ name: 'Two back' });
    expect(changed['settings']).to.deep.include({ n: 3, trials: 60, colour: 'red' });
    expect(await textOf(page, '#publication'))
      .to.include('in another order')
      .and.to.include('Two back')
      .and.to.include('n: 2 3');
    expect((await battery()).version).to.equal(2);
    const scripted = await openConsole(browser, `${list}/${id}`, { as: await researcher(study.id) });
    await scripted.page.select('#language', 'de');
    await submit(scripted.page, '#preview button');
    await scripted.page.click('#preview summary');
    expect(await textOf(scripted.page, '#preview')).to.include('"title": "Zwei"');
    await submit(scripted.page, `a[href$="/modules/${first.id}"]`);
    await submit(scripted.page, 'button.danger');
    expect((await battery()).modules).to.have.length(1);
    expect(await textOf(scripted.page, '#publication')).to.include('Removed:');
    await submit(scripted.page, 'button[value=published]');
    await submit(scripted.page, 'button[value=retired]');
    expect(await battery()).to.include({ status: 'retired', published_version: 2 });
    expect(await axe(scripted.page)).to.deep.equal([]);
    await scripted.page.goto(`${browser.base}${list}`);
    await fill(scripted.page, { code: 'B1', name: 'Another' });
    await submit(scripted.page, 'main button.primary');
    expect(await textOf(scripted.page, '.error')).to.include('Another battery of the study has this code.');
    expect([...faults, ...scripted.faults]).to.deep.equal([]);
  });

  it('refuse a battery’s form that is sent twice or was overtaken, and say what is different', async () => {
    const study = await newStudy(stage.admin);
    const made = await stage.admin.expect(201, 'POST', '/api/batteries', {
      study_id: study.id,
      code: 'B',
      name: 'Ours',
      modules: [{ task: 'stroop' }],
    });
    const visitor = await visitorOf(await researcher(study.id));
    const path = `/console/studies/${study.id}/batteries/${made.id}`;
    const { text } = await visitor.get(path);
    const form = { _token: tokenIn(text), version: hiddenIn(text, 'version') };
    expect((await visitor.send('POST', `${path}/modules`, { ...form, task: 'n_back' })).status).to.equal(303);
    expect((await visitor.send('POST', `${path}/modules`, { ...form, task: 'n_back' })).status).to.equal(409);
    const read = () => stage.admin.expect<Loose & { modules: Loose[] }>(200, 'GET', `/api/batteries/${made.id}`);
    expect((await read()).modules).to.have.length(2);
    const shown = await visitor.get(path);
    await stage.admin.expect(200, 'PATCH', `/api/batteries/${made.id}`, { name: 'Theirs', description: 'Theirs' });
    const stale = await visitor.send('POST', path, {
      _token: tokenIn(shown.text),
      version: hiddenIn(shown.text, 'version'),
      seen: hiddenIn(shown.text, 'seen'),
      code: 'B',
      name: 'Mine',
      description: '',
    });
    expect(stale.status).to.equal(409);
    expect(stale.text)
      .to.match(/<del[^>]*>Ours<\/del> <ins[^>]*>Theirs<\/ins>/)
      .and.to.include('value="Mine"')
      .and.to.match(/<textarea[^>]*name="description"[^>]*>\s*Theirs/);
    const other = await newStudy(stage.admin);
    const admin = await Visitor.of(stage.run.api, stage.run.admin_email, stage.run.admin_password ?? '');
    expect((await admin.get(`/console/studies/${other.id}/batteries/${made.id}`)).status).to.equal(404);
    const coordinator = await visitorOf((await user(stage.admin, 'coordinator', { study_ids: [study.id] })).email);
    const seen = await coordinator.get(path);
    expect(seen.text).to.include('Theirs').and.not.to.include('Publish version').and.not.to.include('Add a task');
    const token = tokenIn(seen.text);
    for (const at of ['', '/status', '/modules', '/delete', '/duplicate'])
      expect((await coordinator.send('POST', `${path}${at}`, { _token: token })).status, at).to.equal(403);
  });

  it('change reminders, contact and words of messages, in German and on a phone', async () => {
    const study = await newStudy(stage.admin);
    const path = `/console/studies/${study.id}/messages`;
    const { page, faults } = await openConsole(browser, path, { language: 'de', as: await researcher(study.id) });
    expect(await axe(page)).to.deep.equal([]);
    await page.setViewport({ width: 320, height: 640 });
    expect(Number(await page.evaluate('document.documentElement.scrollWidth'))).to.be.at.most(320);
    await page.click('[name=channels][value=sms]');
    await fill(page, {
      days_before: '7, bald',
      send_at: '25:00',
      contact_name: SCRIPT,
      contact_email: 'team@example.org',
    });
    await submit(page, 'section.card button.primary');
    expect(await page.$('[name=days_before][aria-invalid]')).not.to.equal(null);
    expect(await page.$('[name=send_at][aria-invalid]')).not.to.equal(null);
    await fill(page, { days_before: '7, 1', send_at: '10:30', new_language: 'de', new_subject: 'Bald' });
    await setValue(page, '[name=new_body]', 'Am {no_such_variable}');
    await submit(page, 'section.card button.primary');
    expect(await page.$('[name=new_body][aria-invalid]')).not.to.equal(null);
    await setValue(page, '[name=new_body]', 'Ihre Visite kommt.');
    await submit(page, 'section.card button.primary');
    expect(await textOf(page, 'main')).to.include('Es ist gespeichert.');
    const config = async () =>
      (await stage.admin.expect(200, 'GET', `/api/studies/${study.id}`))['config'] as Record<string, unknown>;
    expect((await config())['notifications']).to.deep.equal({
      channels: ['email', 'sms'],
      fallback: [],
      days_before: [7, 1],
      send_at: '10:30',
      languages: { de: { visit_reminder: { subject: 'Bald', body: 'Ihre Visite kommt.' } } },
    });
    expect((await config())['contact']).to.deep.equal({ name: SCRIPT, email: 'team@example.org' });
    expect(await page.$('main img')).to.equal(null);
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { 'template.de.visit_reminder.subject': '', 'template.de.visit_reminder.body': '' });
    await submit(page, 'section.card button.primary');
    expect(((await config())['notifications'] as { languages: object }).languages).to.deep.equal({ de: {} });
    expect(faults).to.deep.equal([]);
  });

  it('name the study for participants, for all languages or for each', async () => {
    const study = await newStudy(stage.admin);
    const path = `/console/studies/${study.id}/messages`;
    const visitor = await visitorOf(await researcher(study.id));
    const stored = async () =>
      ((await stage.admin.expect(200, 'GET', `/api/studies/${study.id}`))['config'] as Record<string, unknown>)[
        'public_name'
      ];
    const save = async (fields: Record<string, string>) => {
      const { text } = await visitor.get(path);
      const kept = ['version', 'seen'].map((name) => [name, hiddenIn(text, name)]);
      const typed = { channels: 'email', days_before: '1', portal_results: 'none', ...fields };
      return visitor.post(path, path, { ...Object.fromEntries(kept), ...typed });
    };
    expect((await save({ public_name: 'The memory study' })).status).to.equal(303);
    expect(await stored()).to.equal('The memory study');
    const refused = await save({ public_name: 'The memory study', name_language: '!', name_text: 'Studie' });
    expect(refused.status).to.equal(422);
    expect(refused.text).to.match(/name="name_language"[^>]*aria-invalid/);
    expect((await save({ name_language: 'de', name_text: 'Die Gedächtnisstudie' })).status).to.equal(303);
    expect(await stored()).to.deep.equal({ de: 'Die Gedächtnisstudie' });
    await save({ 'public_name.de': 'Die Gedächtnisstudie', name_language: 'en', name_text: 'The memory study' });
    expect(await stored()).to.deep.equal({ de: 'Die Gedächtnisstudie', en: 'The memory study' });
    const both = (await visitor.get(path)).text;
    expect(both).to.include('What participants call the study (de)');
    await save({ 'public_name.de': '', 'public_name.en': 'The memory study' });
    expect(await stored()).to.deep.equal({ en: 'The memory study' });
    expect((await save({ 'public_name.en': '' })).status).to.equal(303);
    expect(await stored()).to.equal(undefined);
  });
});
