import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { unique } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { until } from '../support/until.js';
import { ConsoleBrowser, axe, fill, openConsole, setValue, signIn, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, sendImport } from './stage.js';

/** Rows of a long file: more than are written at once. */
const LONG = asMuchAs(3_000, 12_000);

describe('the first minutes with an empty installation', function () {
  this.timeout(180_000);
  let service: Service;
  let browser: ConsoleBrowser;
  before(async () => {
    service = await startService();
    browser = await ConsoleBrowser.start(service.run.api);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('lead from the login to the first schedule, each page by a link of the one before', async () => {
    const { run } = service;
    const { page, faults } = await openConsole(browser, new URL(run.console!).pathname);
    await signIn(page, run.admin_email, run.admin_password ?? '');
    expect(new URL(page.url()).pathname).to.equal('/console/inbox');
    expect(await textOf(page, 'main')).to.include('There is no study yet');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, 'main a.primary');
    await submit(page, 'a[href="/console/studies/new/longitudinal-cognition"]');
    await fill(page, { study_code: unique('MEM') });
    await submit(page, 'button.primary');
    const study = await textOf(page, 'main');
    for (const part of ['The study is created.', 'First steps', 'Visits are counted from'])
      expect(study).to.include(part);
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, '.first-steps a[href$="/enroll"]');
    await fill(page, { participant_code: unique('P') });
    await submit(page, 'main button.primary');
    expect(await textOf(page, 'main'))
      .to.include('The participant is enrolled')
      .and.to.include('Waits for an enrollment date and a signed consent');
    await setValue(page, '[name=date]', DAY);
    await submit(page, '.job[open] button.primary');
    await submit(page, '.notice a[href$="tab=facts"]');
    await setValue(page, '[name=signed_on]', DAY);
    await submit(page, '.job[open] button.primary');
    const person = new URL(page.url()).pathname;
    const visits = await until(
      async () => {
        await page.goto(`${browser.base}${person}?tab=schedule`);
        const said = await textOf(page, 'main');
        return said.includes('Year 3') ? said : undefined;
      },
      { what: 'the schedule' },
    );
    expect(visits).to.include('Baseline').and.to.include('10 Mar 2024').and.to.include('Month 6');
    expect(await axe(page)).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
  });

  it('do not let the last admin lock himself out', async () => {
    const { run } = service;
    const visitor = await Visitor.of(run.api, run.admin_email, run.admin_password ?? '');
    const id = /\/console\/users\/([0-9a-f-]{36})/.exec((await visitor.get('/console/users')).text)![1]!;
    const path = `/console/users/${id}`;
    const { text } = await visitor.get(path);
    const version = { shown_version: hiddenIn(text, 'shown_version') };
    for (const [at, fields] of [
      [`${path}/status`, { status: 'inactive' }],
      [path, { role: 'researcher' }],
    ] as const) {
      const refused = await visitor.post(path, at, { ...version, ...fields });
      expect(refused.status, at).to.equal(409);
      expect(refused.text, at).to.include('This is the last active admin');
    }
    expect((await visitor.get('/console/users')).status).to.equal(200);
  });

  it('go on with a long list of participants: it is imported beside the page, which may be left and found again', async () => {
    // The workflows of so many start for minutes afterwards: here nobody else's wait for them.
    const at = await Stage.open(service.run);
    try {
      const study = await at.study();
      const emailOf = async (of: AnchorStudy, role: 'coordinator' | 'researcher') =>
        ((await of.as(role)) as unknown as { email: string }).email;
      const visitor = await Visitor.of(at.run.api, await emailOf(study, 'researcher'));
      const rows = Array.from({ length: LONG }, (_, i) => `L${i},,,en,`).join('\n');
      const content = `participant_code,external_id,site_code,preferred_language,email\n${rows}\n`;
      const { text } = await sendImport(visitor, study.id, content, { step: 'preview' });
      // However fast the machine is, it is not done when the page comes: it waits to record what it has written.
      const holder = await at.database.transaction();
      let page: string;
      try {
        await holder.raw('select 1 from audit_chains where study_id = ? for update', [study.id]);
        const order = { step: 'import', sha256: hiddenIn(text, 'sha256') };
        const sent = await sendImport(visitor, study.id, content, order);
        expect(sent.status).to.equal(303);
        page = sent.headers.get('location')!;
        const { text: now } = await visitor.get(`${page}/progress`);
        expect(now, 'it asks for itself again').to.include('hx-get').and.not.include('Done');
      } finally {
        await holder.rollback();
      }
      const whole = await until(
        async () => {
          const { text: now } = await visitor.get(`${page}/progress`);
          return now.includes(String(LONG)) && now.includes('Done') ? now : undefined;
        },
        { timeout: 120_000, what: 'the import to be over' },
      );
      expect(whole).not.to.include('hx-get').and.not.to.include('<html');
      const stranger = await Visitor.of(at.run.api, await emailOf(await at.study(), 'coordinator'));
      expect((await stranger.get(page)).status).to.equal(404);
      const { headers } = await visitor.get(`/console/studies/${study.id}/import-template?format=csv`);
      expect(headers.get('content-type')).to.include('text/csv');
    } finally {
      await at.close();
    }
  });
});
