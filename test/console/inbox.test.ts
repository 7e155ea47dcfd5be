import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import { Site, HOUR, instant } from '../assessment/stage.js';
import { PushStage } from '../capture/push-stage.js';
import { Stage as CaptureStage } from '../capture/support.js';
import { admin, newStudy, unique, user } from '../support/http.js';
import type { Http, Role } from '../support/http.js';
import { until } from '../support/until.js';
import { ConsoleBrowser, axe, fill, openConsole, submit, textOf, valueOf } from './browser.js';
import { Visitor, tokenIn, waiting } from './stage.js';

type Named = Http & { email: string };

describe('the console’s inbox', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await stage.close();
  });

  const staffOf = async (study: string, role: Role = 'researcher'): Promise<Named> =>
    user(await admin(), role, { study_ids: [study] });
  const entered = async ({ email }: Named): Promise<Visitor> => {
    return Visitor.of(stage.run.api, email);
  };

  /** A completed visit that a re-anchoring flagged. */
  const flagged = async () => {
    const study = await stage.study(
      { re_anchoring: { completed_visit_handling: 'flag_for_review' } },
      { fields: { consent_mode: 'external' } },
    );
    const person = await study.person();
    await person.set(DAY);
    const [first] = await person.visits();
    await person.complete(first!.id);
    await person.override('2024-03-20');
    return { study, person, visit: first!.id };
  };
  /** A session that came again with another end. */
  const conflicting = async () => {
    const site = await Site.open();
    const item = site.item('again');
    await site.http.expect(200, 'POST', '/api/sync/sessions', item);
    await site.http.expect(200, 'POST', '/api/sync/sessions', { ...item, completedAt: instant(-HOUR) });
    const [conflict] = (await site.conflicts('?status=open')).items;
    return { site, conflict: conflict!.id };
  };

  it('says what to do first where nothing waits', async () => {
    const study = await newStudy(stage.admin);
    const { page, faults } = await openConsole(browser, '/console', { as: (await staffOf(study.id)).email });
    expect(await textOf(page, 'main'))
      .to.include('Nothing waits for you')
      .and.to.include('under Today');
    expect(await axe(page)).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
  });

  it('leads to the first study where there is none', async () => {
    const { page } = await openConsole(browser, '/console', { as: (await user(stage.admin, 'researcher')).email });
    expect(await textOf(page, 'main')).to.include('There is no study yet');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'main a.primary');
    expect(new URL(page.url()).pathname).to.equal('/console/studies/new');
  });

  it('has a refused push pushed again, and says what became of it', async () => {
    const pushes = await PushStage.set();
    try {
      const of = await pushes.study();
      const person = await of.person();
      pushes.simulator.control.lockRecord(of.projectId, person.record!);
      const { session } = await of.ended({ person });
      await of.attempt(session, ({ status }) => status === 'failed', 'the push to be refused');
      const { page } = await openConsole(browser, '/console/inbox?kind=push', {
        as: (await staffOf(of.id, 'coordinator')).email,
      });
      const said = await textOf(page, 'main');
      expect(said).to.include('Failed push').and.to.include('The capture system refused it: ');
      expect(said).to.include('Remove the cause, then push the results again.');
      expect(await axe(page)).to.deep.equal([]);
      pushes.simulator.control.lockRecord(of.projectId, person.record!, false);
      await submit(page, `form[action="/console/inbox/pushes/${session}"] button`);
      expect(new URL(page.url()).searchParams.get('kind')).to.equal('push');
      await page.waitForFunction(
        `document.getElementById('outcome').innerText.includes('The results are in the capture system.')`,
        { polling: 250, timeout: 60_000 },
      );
      await of.synced(session);
    } finally {
      await pushes.clear();
    }
  });

  it('has a failed trigger processed again without JavaScript, and is told of a date that differs until it is settled', async () => {
    const capture = await CaptureStage.set();
    try {
      const study = await capture.study();
      await study.trigger({ record: '<b>gone</b>' });
      expect((await study.settled(1))[0]).to.include({ status: 'failed' });
      const [failed] = await study.events();
      const manager = await staffOf(study.id, 'data_manager');
      const { page } = await openConsole(browser, '/console/inbox', {
        javascript: false,
        language: 'de',
        as: manager.email,
      });
      expect(await textOf(page, 'main'))
        .to.include('Trigger fehlgeschlagen')
        .and.to.include('<b>gone</b>');
      await submit(page, `form[action="/console/inbox/triggers/${failed!.id}"] button`);
      expect(await textOf(page, '#outcome')).to.match(/Der Trigger (wird verarbeitet|ist wieder fehlgeschlagen)/);
      await until(
        async () => (await study.events()).some(({ attempt, status }) => attempt === 1 && status === 'failed'),
        {
          what: 'the trigger to fail again',
        },
      );
      await page.reload();
      expect(await textOf(page, '#outcome')).to.include('wieder im Eingang');

      await study.enroll('o', { enrolled: '2026-01-15' });
      await study.settled(2);
      await study.enroll('o', { enrolled: '2026-02-20' });
      expect((await study.settled(3)).at(-1)).to.include({ outcome: 'override_required' });
      const coordinator = await staffOf(study.id, 'coordinator');
      const visitor = await entered(coordinator);
      const { text } = await visitor.get('/console/inbox?kind=override_required');
      const [person] = await study.participants();
      expect(text, 'both dates').to.include('15 Jan 2026').and.to.include('20 Feb 2026');
      expect(text).to.include(`href="/console/participants/${person!.id}"`).and.not.to.include('Process again');
      await study.enroll('o', { enrolled: '2026-01-15' });
      await study.settled(4);
      expect((await visitor.get('/console/inbox')).text).to.include('Nothing waits for you');
    } finally {
      await capture.clear();
    }
  });

  it('resolves a sync conflict after both sides were seen', async () => {
    const { site, conflict } = await conflicting();
    const { page } = await openConsole(browser, '/console/inbox', {
      as: (await staffOf(site.study.id, 'coordinator')).email,
    });
    await submit(page, `a[href="/console/inbox/conflicts/${conflict}"]`);
    expect(await textOf(page, 'main'))
      .to.include('Completed')
      .and.to.include('Differs')
      .and.not.to.match(/\d{4}-\d{2}-\d{2}T/);
    expect(await axe(page)).to.deep.equal([]);
    await page.click('input[name=keep][value=local]');
    await fill(page, { reason: 'the paper notes say so' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '#outcome')).to.include('The conflict is resolved.');
    const [settled] = (await site.conflicts()).items;
    expect(settled).to.include({ status: 'resolved', keep: 'local', reason: 'the paper notes say so' });
    await page.goto(`${browser.base}/console/inbox/conflicts/${conflict}`);
    expect(await textOf(page, 'main')).to.include('the paper notes say so');
  });

  it('keeps what was typed for a conflict that lacks a side or a reason, and says who was first', async () => {
    const { site, conflict } = await conflicting();
    const visitor = await entered(await staffOf(site.study.id));
    const path = `/console/inbox/conflicts/${conflict}`;
    const without = await visitor.post(path, path, { reason: 'my <words>' });
    expect(without.status).to.equal(400);
    expect(without.text).to.include('Choose a side.').and.to.include('my &lt;words');
    const blank = await visitor.post(path, path, { keep: 'server', reason: '  ' });
    expect(blank.text).to.include('Give a reason.');
    const fields = { keep: 'server', reason: 'first' };
    expect((await visitor.post(path, path, fields)).status).to.equal(303);
    const { text } = await visitor.get('/console/inbox');
    const second = await visitor.send('POST', path, { _token: tokenIn(text), keep: 'local', reason: 'second' });
    expect(second.status).to.equal(409);
    expect(second.text).to.include('Somebody has already dealt with it');
  });

  it('reviews a flagged visit, and refuses a page that is out of date', async () => {
    const { study, visit } = await flagged();
    const { page } = await openConsole(browser, '/console/inbox?kind=review', {
      as: (await staffOf(study.id, 'investigator')).email,
    });
    await submit(page, `a[href="/console/inbox/reviews/${visit}"]`);
    expect(await textOf(page, 'main')).to.include('20 Mar 2024');
    expect(await axe(page)).to.deep.equal([]);
    const before = await valueOf(page, '[name=version]');
    await page.click('input[name=keep][value=no]');
    await fill(page, { resolution: 'as the new plan says' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '#outcome')).to.include('The visit is reviewed.');
    expect(await stage.admin.expect(200, 'GET', `/api/visits/${visit}`)).to.include({
      needs_review: false,
      reporting_target_date: '2024-03-20',
      review_resolution: 'as the new plan says',
    });
    const visitor = await entered(await staffOf(study.id));
    const path = `/console/inbox/reviews/${visit}`;
    const late = await visitor.post('/console/inbox', path, { version: before, keep: 'yes', resolution: 'late' });
    expect(late.status).to.equal(409);
    expect(late.text).to.include('Somebody has already dealt with it');
  });

  it('is filtered by kind, study and site; its count is the menu’s', async () => {
    const { study } = await flagged();
    const { site, conflict } = await conflicting();
    const place = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: unique('SITE'),
      name: 'A site',
    });
    const both = await user(stage.admin, 'researcher', { study_ids: [study.id, site.study.id] });
    const visitor = await entered(both);
    const all = (await visitor.get('/console/inbox')).text;
    expect(all)
      .to.include('2 entries')
      .and.to.match(/class="count">2</);
    const one = (await visitor.get(`/console/inbox?study=${site.study.id}`)).text;
    expect(one)
      .to.include('1 entry')
      .and.to.include(conflict)
      .and.to.match(/class="count">2</);
    expect((await visitor.get('/console/inbox?kind=review')).text).to.include('1 entry');
    expect((await visitor.get(`/console/inbox?site=${place.id}`)).text).to.include('Nothing of this kind waits here');
    expect((await visitor.get(`/console/inbox?kind=none&study=x`)).text).to.include('2 entries');
    expect((await visitor.get('/console/counts')).text).to.match(/class="count">2</);
    const other = await entered(await staffOf(site.study.id));
    expect((await other.get('/console/inbox')).text).to.include('1 entry');
    const manager = await entered(await staffOf(site.study.id, 'data_manager'));
    expect((await manager.get('/console/inbox')).text).to.include('Nothing waits for you');
    expect((await manager.get(`/console/inbox/conflicts/${conflict}`)).status).to.equal(403);
    const stranger = await entered(await staffOf(study.id));
    expect((await stranger.get(`/console/inbox/conflicts/${conflict}`)).status).to.equal(404);
  });

  it('shows an admin, and nobody else, the workflows that fail', async () => {
    const study = await stage.study();
    const person = await study.person();
    const run = crypto.randomUUID();
    // The worker looks at the run now and then, finds it well, and takes the row away: it is put there again.
    const fail = () =>
      stage.sql(
        `insert into failing_workflows (run_id, workflow_id, workflow_type, problem) values (?, ?, 'participantAnchor', 'NonDeterministicError')
         on conflict do nothing`,
        [run, `participant-anchor/${person.id}`],
      );
    try {
      const visitor = await Visitor.of(stage.run.api, stage.run.admin_email, stage.run.admin_password ?? '');
      const text = await until(
        async () => {
          await fail();
          const shown = (await visitor.get('/console/inbox?kind=workflow')).text;
          return shown.includes('deploy the previous release') && shown;
        },
        { what: 'the failing workflow in the inbox' },
      );
      expect(text).to.include(
        `/namespaces/${stage.run.temporal_namespace}/workflows/participant-anchor%2F${person.id}/${run}`,
      );
      expect(text).to.include(`href="/console/participants/${person.id}"`);
      await fail();
      const { text: none } = await (await entered(await staffOf(study.id))).get('/console/inbox?kind=workflow');
      expect(none).not.to.include('participantAnchor');
    } finally {
      await stage.sql('delete from failing_workflows where run_id = ?', [run]);
    }
  });

  it('asks only those for a decision who may decide: others read who does', async () => {
    const { study, asker, approver, person } = await waiting(stage);
    const line = async (who: Named) => {
      const { text } = await (await entered(who)).get(`/console/inbox?study=${study.id}`);
      const row = text.split('<tr').find((one) => one.includes(`/console/participants/${person.id}`))!;
      return row.includes('then approve or deny') ? 'decides' : row.includes('Somebody else decides') ? 'reads' : row;
    };
    expect(await line(approver)).to.equal('decides');
    expect(await line(asker), 'who asked').to.equal('reads');
    expect(await line(await user(stage.admin, 'coordinator', { study_ids: [study.id] })), 'the role').to.equal('reads');
  });

  it('names the study and site that it is narrowed to when nothing of them is left, as the visits of a day do', async () => {
    const { id, study_code } = await newStudy(stage.admin, { study_code: unique('LEFT') });
    const site_code = unique('SITE');
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${id}/sites`, { site_code, name: 'Left' });
    const researcher = await entered(await staffOf(id));
    for (const page of ['inbox', 'today']) {
      const { text } = await researcher.get(`/console/${page}?study=${id}&site=${site.id}`);
      if (page === 'inbox' && !text.includes('<select')) continue;
      expect(text, page).to.include(`<option value="${id}" selected>${study_code as string}</option>`);
      expect(text, page).to.include(`<option value="${site.id}" selected>${site_code}</option>`);
    }
    // Of what they do not see they are told nothing.
    const other = await newStudy(stage.admin, { study_code: unique('HIDDEN') });
    const { text } = await researcher.get(`/console/today?study=${other.id}`);
    expect(text).to.include(`<option value="${other.id}" selected>–</option>`).and.not.to.include('HIDDEN');
  });
});
