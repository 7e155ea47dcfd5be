import { expect } from 'chai';
import { Stage } from '../capture/support.js';
import { admin, user } from '../support/http.js';
import { ConsoleBrowser, axe, fill, openConsole, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn } from './stage.js';

const SCRIPT = '<img src=x onerror=alert(1)>';

describe('the console’s pages of a capture connection and its mapping', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.set();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await stage?.clear();
  });

  const someone = async (role: 'researcher' | 'data_manager' | 'coordinator', studyId: string) =>
    (await user(await admin(), role, { study_ids: [studyId] })).email;
  const visitorOf = async (email: string) => {
    return Visitor.of(stage.run.api, email);
  };
  const config = async (studyId: string) =>
    (await stage.call<Record<string, unknown>>('GET', `/api/datacapture/config/${studyId}`)).body;

  it('tests a connection before it is saved, keeps the token without showing it, saves, and switches off', async () => {
    const study = await stage.study({ connect: false });
    const { page, faults } = await openConsole(browser, `/console/capture/${study.id}`, {
      as: await someone('researcher', study.id),
    });
    await submit(page, `.empty a[href$="/connection"]`);
    expect(await textOf(page, 'main')).to.include('The study is not connected yet.');
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { api_url: stage.simulator.apiUrl, api_token: '0'.repeat(32) });
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.notice.alert')).to.include('The connection does not work');
    expect(await textOf(page, 'main')).to.include('What you typed is kept for this page.');
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { api_token: study.token });
    await submit(page, 'button[value=try]');
    expect(await textOf(page, '.notice'))
      .to.include('The connection works. It is not saved yet.')
      .and.to.include(study.projectId);
    expect((await config(study.id)).code).to.equal('CONFIG_NOT_FOUND');
    expect(await page.content()).not.to.include(study.token);
    await fill(page, { poll_interval_minutes: 'often' });
    await submit(page, 'button[value=save]');
    expect(await page.$('[name=poll_interval_minutes][aria-invalid]')).not.to.equal(null);
    await fill(page, { poll_interval_minutes: '60' });
    // The token is not typed again: it was kept.
    await submit(page, 'button[value=save]');
    expect(await textOf(page, '.notice')).to.include('It is saved, and the connection works.');
    expect(await page.content()).not.to.include(study.token);
    expect(await config(study.id)).to.include({
      api_url: stage.simulator.apiUrl,
      project_id: study.projectId,
      sync_status: 'active',
    });
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'button[name=on]');
    expect(await textOf(page, '.notice')).to.include('The exchange is off.');
    const studyNow = async () => (await stage.call('GET', `/api/studies/${study.id}`)).body;
    expect(await studyNow()).to.include({ datacapture_enabled: false });
    await submit(page, 'button[name=on]');
    expect(await studyNow()).to.include({ datacapture_enabled: true });
    expect(faults).to.deep.equal([]);
    const tried = await stage.sql<{ audit_metadata: object; user_id: string | null }>(
      `select user_id, audit_metadata from audit_log where study_id = ? and action = 'datacapture_connection_tried'`,
      [study.id],
    );
    expect(tried.length).to.equal(2);
    expect(tried[0]!.user_id).not.to.equal(null);
  });

  it('asks for another token where another server is named, and refuses what was overtaken', async () => {
    const study = await stage.study();
    const visitor = await visitorOf(await someone('data_manager', study.id));
    const path = `/console/capture/${study.id}/connection`;
    const { text } = await visitor.get(path);
    expect(text).not.to.include('Switch the exchange off').and.not.to.include(study.token);
    const form = {
      _token: tokenIn(text),
      version: hiddenIn(text, 'version'),
      seen: hiddenIn(text, 'seen'),
      api_url: 'http://127.0.0.1:9/api/',
      project_id: study.projectId,
      poll_interval_minutes: '60',
      webhook_enabled: '1',
      webhook_auth: 'header',
    };
    for (const act of ['try', 'save']) {
      const refused = await visitor.send('POST', path, { ...form, do: act });
      expect(refused.status, act).to.equal(422);
      expect(refused.text, act)
        .to.include('Another server needs a token of its own.')
        .and.to.include('http://127.0.0.1:9/api/');
    }
    const own = { ...form, api_url: stage.simulator.apiUrl };
    const works = await visitor.send('POST', path, { ...own, do: 'try' });
    expect(works.text).to.include('The connection works.');
    await study.configure({ poll_interval_minutes: 30 });
    const stale = await visitor.send('POST', path, { ...own, webhook_auth: 'url', do: 'save' });
    expect(stale.status).to.equal(409);
    expect(stale.text)
      .to.include('Somebody else has changed this')
      .and.to.match(/<del[^>]*>60<\/del> <ins[^>]*>30<\/ins>/)
      .and.to.match(/name="poll_interval_minutes"[^>]*value="30"|value="30"[^>]*name="poll_interval_minutes"/);
    const saved = await visitor.send('POST', path, {
      ...own,
      version: hiddenIn(stale.text, 'version'),
      seen: hiddenIn(stale.text, 'seen'),
      poll_interval_minutes: '30',
      webhook_auth: 'url',
      do: 'save',
    });
    expect(saved.headers.get('location')).to.equal(`${path}?said=saved`);
    const [row] = await stage.sql<{ poll: number; webhook_auth: string }>(
      'select poll_interval_minutes::float as poll, webhook_auth from datacapture_configs where study_id = ?',
      [study.id],
    );
    expect(row).to.deep.equal({ poll: 30, webhook_auth: 'url' });
    // Nobody else can use what was kept for one person: it is sealed for that one.
    const tried = await visitor.send('POST', path, { ...form, api_token: 'secret', do: 'try' });
    const kept = /name="kept_api_token" value="([^"]+)"/.exec(tried.text)![1]!;
    const other = await visitorOf(await someone('researcher', study.id));
    const shown = await other.get(path);
    const stolen = await other.send('POST', path, {
      ...form,
      _token: tokenIn(shown.text),
      kept_api_token: kept,
      do: 'try',
    });
    expect(stolen.status).to.equal(422);
    expect(stolen.text).not.to.include('kept_api_token');
  });

  it('maps fields, events and results by rows, names what the capture system does not know, and saves', async () => {
    const study = await stage.study();
    const { page, faults } = await openConsole(browser, `/console/capture/${study.id}/mapping`, {
      as: await someone('data_manager', study.id),
    });
    await submit(page, 'a[href$="/mapping/edit"]');
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { 'participant.participant_code': SCRIPT, 'event.2': 'baseline_arm_1', 'day.2': 'soon' });
    await submit(page, '.mapping-form button[value=check]');
    expect(await textOf(page, '.mapping-form')).to.include('This is named twice.');
    await fill(page, { 'event.2': 'month_9_arm_1' });
    await page.select('[name="battery.2"]', String(study.battery));
    await submit(page, '.mapping-form button[value=check]');
    expect(await textOf(page, '.notice.alert')).to.include('event_battery_mapping.month_9_arm_1.target_day');
    await fill(page, { 'day.2': '270' });
    await page.select('[name="task.0"]', 'stroop');
    await fill(page, { 'form.0': 'cognition', 'metric.0': 'mean_rt', 'field.0': 'rt_mean' });
    await submit(page, '.mapping-form button[value=check]');
    expect(await textOf(page, '.notice.alert')).to.include('2 things do not fit');
    expect(await textOf(page, '.mapping-form'))
      .to.include('The capture system has no such field.')
      .and.to.include('The capture system has no such event.');
    expect(await page.$('main img')).to.equal(null);
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, '.mapping-form button[value=save]');
    expect(await textOf(page, '.notice.alert')).to.include('2 things do not fit');
    const mapping = async () => config(study.id) as Promise<Record<string, Record<string, unknown>>>;
    expect(Object.keys((await mapping())['event_battery_mapping']!)).to.have.length(2);
    await fill(page, { 'participant.participant_code': 'code' });
    await page.click('.mapping-form [name=anyway]');
    await submit(page, '.mapping-form button[value=save]');
    expect(await textOf(page, 'main'))
      .to.include('The mapping is saved.')
      .and.to.include('month_9_arm_1');
    const saved = await mapping();
    expect(saved['participant_field_mapping']).to.include({ participant_code: 'code', enrollment_date: 'enrolled' });
    expect(saved['event_battery_mapping']!['month_9_arm_1']).to.deep.equal({
      battery_id: study.battery,
      target_day: 270,
      window_before: 0,
      window_after: 7,
    });
    // A row goes by emptying it.
    await page.goto(`${browser.base}/console/capture/${study.id}/mapping/edit`);
    await fill(page, { 'event.2': '', 'day.2': '' });
    await page.select('[name="battery.2"]', '');
    await submit(page, '.mapping-form button[value=save]');
    expect(Object.keys((await mapping())['event_battery_mapping']!)).to.have.members([
      'baseline_arm_1',
      'month_3_arm_1',
    ]);
    expect(faults).to.deep.equal([]);
  });

  it('takes the whole mapping as JSON without JavaScript, and shows what somebody else has changed', async () => {
    const study = await stage.study();
    const email = await someone('researcher', study.id);
    const path = `/console/capture/${study.id}/mapping/edit`;
    const { page } = await openConsole(browser, path, { javascript: false, language: 'de', as: email });
    await submit(page, '.mapping-form button[value=more]');
    expect((await page.$$('[name^="event."]')).length).to.equal(7);
    const visitor = await visitorOf(email);
    const { text } = await visitor.get(path);
    const form = {
      _token: tokenIn(text),
      version: hiddenIn(text, 'version'),
      seen: hiddenIn(text, 'seen'),
      do: 'save',
    };
    const broken = await visitor.send('POST', path, { ...form, json: '{ "enrollment_event": ' });
    expect(broken.status).to.equal(422);
    expect(broken.text).to.include('This is not JSON.').and.to.include('{ &quot;enrollment_event&quot;: ');
    const twice = await visitor.send('POST', path, {
      ...form,
      json: '{ "enrollment_event": "a", "enrollment_event": "b" }',
    });
    expect(twice.status).to.equal(422);
    expect(twice.text).to.include('The field is there twice.');
    const wanted = JSON.stringify({
      enrollment_instrument: 'enroll',
      enrollment_event: 'baseline_arm_1',
      participant_field_mapping: { enrollment_date: 'enrolled' },
    });
    await study.configure({ participant_field_mapping: { phone: 'code' } });
    const stale = await visitor.send('POST', path, { ...form, json: wanted });
    expect(stale.status).to.equal(409);
    expect(stale.text)
      .to.include('participant_field_mapping.phone')
      .and.to.include('&quot;participant_field_mapping&quot;:{&quot;enrollment_date&quot;:&quot;enrolled&quot;}');
    const again = {
      ...form,
      version: hiddenIn(stale.text, 'version'),
      seen: hiddenIn(stale.text, 'seen'),
      json: wanted,
    };
    expect((await visitor.send('POST', path, again)).status).to.equal(303);
    expect(await config(study.id)).to.deep.include({
      participant_field_mapping: { enrollment_date: 'enrolled' },
      event_battery_mapping: {},
    });
    const coordinator = await visitorOf(await someone('coordinator', study.id));
    const token = tokenIn((await coordinator.get('/console/inbox')).text);
    for (const at of ['connection', 'mapping/edit']) {
      expect((await coordinator.get(`/console/capture/${study.id}/${at}`)).status, at).to.equal(403);
      expect((await coordinator.send('POST', `/console/capture/${study.id}/${at}`, { _token: token })).status).to.equal(
        403,
      );
    }
  });
});
