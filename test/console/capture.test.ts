import { expect } from 'chai';
import { Stage, syncReport } from '../capture/support.js';
import type { CaptureStudy } from '../capture/support.js';
import { PushStage } from '../capture/push-stage.js';
import { admin, user } from '../support/http.js';
import { until } from '../support/until.js';
import { ConsoleBrowser, axe, openConsole, submit, textOf } from './browser.js';
import { Visitor, tokenIn } from './stage.js';

const SCRIPT = '<img src=x onerror=alert(1)>';

describe('the console’s page of a capture system', function () {
  this.timeout(240_000);
  let stage: Stage;
  let pushes: PushStage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.set();
    pushes = await PushStage.set();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await pushes?.clear();
    await stage?.clear();
  });

  const row = (record: string, values: Record<string, string> = {}) => ({
    subject_id: record,
    redcap_event_name: 'baseline_arm_1',
    enrolled: '2026-01-15',
    enroll_complete: '2',
    ...values,
  });
  const load = (study: CaptureStudy, rows: Record<string, string>[]) =>
    stage.simulator.control.load(Number(study.projectId), rows);
  const manager = async (studyId: string) => user(await admin(), 'data_manager', { study_ids: [studyId] });
  const visitor = async (email: string) => {
    return Visitor.of(stage.run.api, email);
  };

  it('starts a sync, shows how far it is, and says when it is done, also to who left the page', async () => {
    const study = await stage.study({ config: { participant_field_mapping: { participant_code: 'code' } } });
    load(study, [row(SCRIPT, { code: 'same' }), row('2', { code: 'same' }), row('3', { code: 'other' })]);
    const { email } = await manager(study.id);
    const { page, faults } = await openConsole(browser, `/console/capture/${study.id}`, { as: email });
    expect(await textOf(page, 'main'))
      .to.include('Works')
      .and.to.include('No sync was started yet.')
      .and.to.include('No push has failed.');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'form[action$="/sync"] button');
    await page.goto(`${browser.base}/console/inbox`);
    await page.goto(`${browser.base}/console/capture/${study.id}`);
    // The page is not opened again: the part asks for itself.
    await page.waitForFunction(`document.querySelector('#sync-progress')?.innerText.includes('The sync is done.')`, {
      polling: 250,
      timeout: 60_000,
    });
    expect(await textOf(page, '#sync-progress')).to.include('3 records: 2 enrolled, 1 failed');
    expect(await page.$('#sync-progress progress')).to.equal(null);
    await submit(page, '#sync-progress a');
    const said = await textOf(page, 'main');
    expect(said).to.include('Give the record another participant code');
    expect(await page.$('main img')).to.equal(null);
    expect(await axe(page)).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
    const { body } = await stage.call<{ total: number }>('GET', `/api/studies/${study.id}/participants`);
    expect(body.total).to.equal(2);
  });

  it('shows a running sync with its bar, and a second press starts no second one', async () => {
    const study = await stage.study();
    load(study, [row('1')]);
    stage.simulator.control.setFaults([{ project_id: Number(study.projectId), latency_ms: 3_000 }]);
    const by = await visitor((await manager(study.id)).email);
    const from = `/console/capture/${study.id}`;
    expect((await by.post(from, `${from}/sync`, {})).status).to.equal(303);
    expect((await by.post(from, `${from}/sync`, {})).status).to.equal(303);
    const page = await by.get(from);
    expect(page.text)
      .to.match(/<progress [^>]*aria-label="Sync"/)
      .and.to.include('every 1s');
    const part = await by.get(`${from}/progress`);
    expect(part.text)
      .to.match(/^<div id="sync-progress"/)
      .and.not.to.include('<html');
    stage.simulator.control.setFaults([]);
    const { body } = await stage.call<{ items: { id: string }[]; total: number }>(
      'GET',
      `/api/studies/${study.id}/datacapture/syncs`,
    );
    expect(body.total).to.equal(1);
    await until(async () => (await syncReport(study, body.items[0]!.id)).status === 'completed', {
      what: 'the end of the sync',
    });
    expect((await by.get(`${from}/progress`)).text)
      .to.include('The sync is done.')
      .and.not.to.include('every 1s');
  });

  it('tests the connection and compares the mapping, and says what is wrong in words', async () => {
    const study = await stage.study();
    const { email } = await manager(study.id);
    const plain = await openConsole(browser, `/console/capture/${study.id}`, { javascript: false, as: email });
    await submit(plain.page, 'form[action$="/test"] button');
    expect(await textOf(plain.page, 'main')).to.include('The connection works.');
    const { page } = await openConsole(browser, `/console/capture/${study.id}`, { as: email });
    await submit(page, 'a[href$="/mapping?check=1"]');
    expect(await axe(page)).to.deep.equal([]);
    await study.configure({ participant_field_mapping: { participant_code: 'no_such_field' } });
    await page.reload();
    expect(await textOf(page, '.notice')).to.include('no_such_field');
    expect(await axe(page)).to.deep.equal([]);
    await study.configure({ api_token: '0'.repeat(32) });
    await page.goto(`${browser.base}/console/capture/${study.id}`);
    expect(await textOf(page, 'main')).to.include('Not tested yet');
    await submit(page, 'form[action$="/test"] button');
    expect(await textOf(page, '.notice')).to.include('The connection does not work');
    expect(await textOf(page, '.facts')).to.include('Does not work');
    expect(await axe(page)).to.deep.equal([]);
  });

  it('lists failed pushes with the reason, and retries one or all of them', async () => {
    const study = await pushes.study();
    const bad = { stroop: { mean_rt: 400, total_trials: 40, accuracy: 0.9 } };
    study.redesign((dictionary) => dictionary.replace(/^trials,.*$/m, 'other,cognition,text,Other,,,,'));
    const failed = [await study.ended({ summaries: bad }), await study.ended({ summaries: bad })];
    for (const { session } of failed)
      await study.attempt(session, ({ status }) => status === 'failed', 'the push to fail');
    const { email } = await user(await admin(), 'coordinator', { study_ids: [study.id] });
    const { page } = await openConsole(browser, `/console/capture/${study.id}`, { as: email });
    const before = await textOf(page, 'main');
    expect(before).to.include('2 failed pushes').and.to.include('2 visits');
    expect(before).not.to.include('Start a sync').and.not.to.include('Test the connection');
    expect(await axe(page)).to.deep.equal([]);
    study.redesign((dictionary) => dictionary.replace(/^other,.*$/m, 'trials,cognition,text,Trials,,integer,1,5000'));
    await submit(page, 'td button');
    expect(await textOf(page, '.notice')).to.include('1 push is tried again now.');
    await until(async () => (await study.failures()).total === 1, { what: 'one of the pushes to arrive' });
    await page.goto(`${browser.base}/console/capture/${study.id}`);
    await submit(page, 'form[action$="/retry"] button.primary');
    for (const { session } of failed) await study.synced(session);
    await page.goto(`${browser.base}/console/capture/${study.id}`);
    expect(await textOf(page, 'main')).to.include('No push has failed.');
    // Pressed again: nothing is left to retry.
    const by = await visitor(email);
    const from = `/console/capture/${study.id}`;
    const token = tokenIn((await by.get('/console/inbox')).text);
    const again = await by.send('POST', `${from}/retry`, { _token: token });
    expect(again.headers.get('location')).to.equal(`${from}?retried=0`);
  });

  it('says what is missing, in German as well, and shows nothing of another study', async () => {
    const study = await stage.study({ connect: false });
    const { email } = await manager(study.id);
    const { page } = await openConsole(browser, `/console/capture/${study.id}`, { language: 'de', as: email });
    expect(await textOf(page, 'main')).to.include('mit keinem Datenerfassungssystem verbunden');
    expect(await axe(page)).to.deep.equal([]);
    const other = await stage.study({ connect: false });
    const by = await visitor(email);
    for (const path of ['', '/progress', '/mapping'])
      expect((await by.get(`/console/capture/${other.id}${path}`)).status).to.be.oneOf([404, 204]);
    const coordinator = await user(await admin(), 'coordinator', { study_ids: [study.id] });
    const refused = await visitor(coordinator.email);
    const token = tokenIn((await refused.get('/console/inbox')).text);
    for (const form of ['sync', 'test'])
      expect(
        (await refused.send('POST', `/console/capture/${study.id}/${form}`, { _token: token })).status,
        form,
      ).to.equal(403);
  });
});
