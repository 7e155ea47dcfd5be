import { expect } from 'chai';
import { newParticipant, newStudy, unique, user } from '../support/http.js';
import { Stage } from '../anchor/stage.js';
import { ConsoleBrowser, DESKTOP, openConsole, signIn, textOf } from './browser.js';
import { waiting } from './stage.js';

/** A4 with the browser's margins of one centimetre, in CSS pixels. */
const SHEET = { width: 718, height: 1000 };

describe('a printed page of the console', function () {
  this.timeout(120_000);
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

  it('says what it is narrowed to: a part of a study does not look like the whole', async () => {
    const study = await newStudy(stage.admin, { study_code: unique('PAPER') });
    const sites = [];
    for (const name of ['Berlin', 'Boston']) {
      const fields = { site_code: unique('SITE'), name };
      const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, fields);
      const person = await newParticipant(stage.admin, study.id, { site_id: site.id });
      const today = new Date().toISOString().slice(0, 10);
      await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: person.id,
        name: 'Visit 1',
        target_date: today,
        window_open: '2024-01-01',
        window_close: '2099-12-31',
      });
      sites.push({ id: site.id, code: fields.site_code });
    }
    const [here] = sites as [{ id: string; code: string }];
    const { email, userId } = await user(stage.admin, 'admin', { name: 'Ada Reader' });
    const { page, faults } = await openConsole(browser, '/console/inbox', { as: email });
    for (const [path, said] of [
      [
        `/console/reports/${study.id}?site_code=${here.code}&from=2024-02-01`,
        ['From: 1 Feb 2024', `Site: ${here.code}`],
      ],
      [
        `/console/today?study=${study.id}&site=${here.id}`,
        [`Study: ${study.study_code as string}`, `Site: ${here.code}`],
      ],
      [
        `/console/audit?study_id=${study.id}&user_id=${userId!}&action=study_created&from=2024-02-01`,
        [`Study: ${study.study_code as string}`, 'Person: Ada Reader', 'Action: Study created', 'From: 1 Feb 2024'],
      ],
    ] as const) {
      await page.emulateMediaType('screen');
      await page.goto(`${browser.base}${path}`);
      const onScreen = await textOf(page, 'main');
      await page.emulateMediaType('print');
      const onPaper = await textOf(page, 'main');
      for (const one of said) {
        expect(onPaper, path).to.include(one);
        expect(onScreen, 'its form says so').not.to.include(one);
      }
      // Where all is shown there is nothing to say.
      await page.goto(`${browser.base}${path.split('?')[0]!}`);
      expect(await page.$('.on-paper')).to.equal(null);
    }
    expect(faults).to.deep.equal([]);
  });

  it('has the list of participants without its search, which says what it is narrowed to; the inbox without its buttons', async () => {
    const { study } = await waiting(stage);
    const { email } = await user(stage.admin, 'admin');
    const { page } = await openConsole(browser, '/console/login');
    await signIn(page, email);
    await page.emulateMediaType('print');
    await page.goto(`${browser.base}/console/participants?study=${study.id}&status=enrolled`);
    const [code] = await stage.sql<{ study_code: string }>('select study_code from studies where id = ?', [study.id]);
    expect(await textOf(page, 'main'))
      .to.include(`Study: ${code!.study_code}`)
      .and.include('Status: Enrolled')
      .and.not.include('Part of it is enough');
    await page.goto(`${browser.base}/console/inbox?study=${study.id}`);
    const inbox = await textOf(page, 'main');
    expect(inbox).to.include('Enrollment date from').and.not.include('Review the request');
    await page.browserContext().close();
  });

  it('keeps lists within the width of a sheet: inbox, participants, reports, capture system', async () => {
    const { study, person } = await waiting(stage);
    await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, {
      external_id: unique('E').padEnd(40, '0'),
    });
    const { email } = await user(stage.admin, 'admin');
    for (const language of ['de', 'en']) {
      const { page } = await openConsole(browser, '/console/login', { language });
      await signIn(page, email);
      await page.emulateMediaType('print');
      const over: string[] = [];
      for (const path of [
        `/console/inbox?study=${study.id}`,
        `/console/participants?study=${study.id}`,
        `/console/reports/${study.id}`,
        `/console/capture/${study.id}`,
        `/console/studies/${study.id}`,
        `/console/participants/${person.id}?tab=schedule`,
      ]) {
        await page.setViewport(DESKTOP);
        expect((await page.goto(`${browser.base}${path}`))?.status(), path).to.equal(200);
        await page.setViewport(SHEET);
        const wide = Number(await page.evaluate('document.documentElement.scrollWidth'));
        if (wide > SHEET.width) over.push(`${path}: ${wide} px`);
      }
      expect(over, language).to.deep.equal([]);
      await page.browserContext().close();
    }
  });
});
