import { expect } from 'chai';
import { newParticipant, newStudy, user } from '../support/http.js';
import { until } from '../support/until.js';
import { Stage } from '../anchor/stage.js';
import { ConsoleBrowser, axe, fill, openConsole, submit, textOf } from './browser.js';
import { Visitor } from './stage.js';

describe('the console’s pages of the audit log', function () {
  this.timeout(120_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  let email: string;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
    ({ email } = await user(stage.admin, 'admin'));
  });
  after(async () => {
    await browser?.close();
    await stage.close();
  });

  it('show records by study, person, record, action and time, and what is in them as text', async () => {
    const study = await newStudy(stage.admin);
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { study_name: 'A <b>study</b>' });
    const { page, faults } = await openConsole(browser, `/console/audit?study_id=${study.id}`, { as: email });
    expect(await textOf(page, 'main'))
      .to.include('Study changed')
      .and.to.include('Study created')
      .and.not.to.include('study_created');
    expect(await page.$$eval('#actions option', (options) => options.length)).to.be.greaterThan(100);
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { action: 'study_created' });
    await submit(page, '.filter button.primary');
    const narrowed = await textOf(page, 'main');
    expect(narrowed).to.include('1 record').and.not.to.include('Study changed');
    await page.click('td details summary');
    await submit(page, '.small-facts a');
    expect(page.url()).to.include(`resource_id=${study.id}`);
    // A reason is what somebody typed: it is shown as text.
    const person = await newParticipant(stage.admin, study.id);
    const of = `/api/participants/${person.id}`;
    await stage.admin.expect(200, 'POST', `${of}/withdraw`, { reason: 'moved away' });
    await stage.admin.expect(200, 'POST', `${of}/reinstate`, { reason: '<script>x()</script>' });
    await page.goto(`${browser.base}/console/audit?resource_id=${person.id}&action=participant_reinstated`);
    await page.click('td details summary');
    expect(await textOf(page, 'main')).to.include('<script>x()</script>');
    // What a person typed into a filter that fits nothing.
    await page.goto(`${browser.base}/console/audit?study_id=${study.id}&action=none&from=&to=`);
    expect(await textOf(page, 'main')).to.include('No record fits');
    await page.goto(`${browser.base}/console/audit?study_id=${study.id}&to=2001-01-01`);
    expect(await textOf(page, 'main')).to.include('No record fits');
    expect(faults).to.deep.equal([]);
    // A range that ends before it begins is a mistake: that nothing was recorded would be no answer to it.
    for (const [query, status] of [
      ['from=2026-03-02&to=2026-03-01', 400],
      ['from=2026-03-02&to=2026-03-02', 200],
      ['from=&to=2026-03-02', 200],
      ['from=2026-03-02&to=', 200],
    ] as const) {
      expect((await page.goto(`${browser.base}/console/audit?${query}`))?.status(), query).to.equal(status);
      if (status === 400) expect(await textOf(page, 'main')).to.include('The first day lies after the last.');
    }
  });

  it('verify the chain, with progress that is found again after the page was left', async () => {
    const study = await newStudy(stage.admin);
    const { page, faults } = await openConsole(browser, '/console/audit/verifications', { as: email });
    await page.select('[name=study_id]', study.id);
    await submit(page, 'main button.primary');
    const at = new URL(page.url()).pathname;
    expect(at).to.match(/\/console\/audit\/verifications\/[0-9a-f-]{36}$/);
    await page.goto(`${browser.base}/console/inbox`);
    await page.goto(`${browser.base}${at}`);
    await page.waitForFunction(`document.querySelector('#verification')?.textContent.includes('Every record holds')`, {
      polling: 250,
      timeout: 60_000,
    });
    expect(await axe(page)).to.deep.equal([]);
    const { body } = await stage.admin.get(`/api/audit-verifications/${at.split('/').at(-1)}`);
    expect(body.status).to.equal('completed');
    await page.goto(`${browser.base}/console/audit/verifications`);
    expect(await textOf(page, 'main'))
      .to.include(study.study_code as string)
      .and.to.include('Every record holds');
    expect(faults).to.deep.equal([]);
  });

  it('verify and sign without JavaScript, in German', async () => {
    const study = await newStudy(stage.admin);
    const { page } = await openConsole(browser, '/console/audit/verifications', {
      javascript: false,
      language: 'de',
      as: email,
    });
    await page.select('[name=study_id]', study.id);
    await submit(page, 'main button.primary');
    await until(
      async () => {
        await page.reload();
        return (await textOf(page, '#verification')).includes('Jeder Eintrag stimmt');
      },
      { what: 'the result of the verification' },
    );
    await page.goto(`${browser.base}/console/audit/checkpoints`);
    await submit(page, 'form.alone button');
    expect(await textOf(page, '.notice')).to.match(/signiert|gewachsen/);
    expect(await textOf(page, 'main')).to.include('Umfasst Einträge');
    await page.setJavaScriptEnabled(true);
    await page.reload();
    expect(await axe(page)).to.deep.equal([]);
  });

  it('are for admins alone', async () => {
    const other = await user(stage.admin, 'data_manager');
    const visitor = await Visitor.of(stage.run.api, other.email);
    expect((await visitor.get('/console/inbox')).text).not.to.include('href="/console/audit"');
    for (const path of ['/console/audit', '/console/audit/verifications', '/console/audit/checkpoints'])
      expect((await visitor.get(path)).status, path).to.equal(403);
  });
});
