import { expect } from 'chai';
import { newParticipant, newStudy, user } from '../support/http.js';
import { Stage } from '../anchor/stage.js';
import { ConsoleBrowser, axe, fill, openConsole, submit, textOf } from './browser.js';
import { Visitor } from './stage.js';

describe('the console’s page of reports', function () {
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

  const reported = async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    for (const day of ['2024-03-10', '2024-04-10', '2024-04-11']) await (await study.person()).set(day);
    const reader = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    return { study, reader };
  };

  it('shows plots and tables of the PDF, and narrows them', async () => {
    const { study, reader } = await reported();
    const { page, faults } = await openConsole(browser, '/console/reports', { as: reader.email });
    // Of one study alone there is nothing to choose.
    expect(new URL(page.url()).pathname).to.equal(`/console/reports/${study.id}`);
    const said = await textOf(page, 'main');
    for (const part of ['Enrollment', 'Completion by window', '2024-04', 'Definitions']) expect(said).to.include(part);
    expect(await axe(page)).to.deep.equal([]);
    for (const src of await page.$$eval('.plot img', (all) =>
      all.map((one) => (one as unknown as { src: string }).src),
    )) {
      const drawn = await page.evaluate(
        `fetch(${JSON.stringify(src)}).then(async (a) => [a.status, (await a.text()).slice(0, 4)])`,
      );
      expect(drawn, src).to.deep.equal([200, '<svg']);
    }
    await page.$eval('[name=from]', (field) => ((field as unknown as { value: string }).value = '2024-04-01'));
    await page.$eval('[name=to]', (field) => ((field as unknown as { value: string }).value = '2024-04-10'));
    await submit(page, '.filter button.primary');
    expect(await textOf(page, '#section-1 table'))
      .to.include('2024-04')
      .and.not.to.include('2024-03');
    expect(faults).to.deep.equal([]);
  });

  it('shows 100 % for all and 0 % for none, and for no other share', async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const windows = [];
    for (const [code, done] of [
      ['ALL-BUT-ONE', 2499],
      ['ONE', 1],
      ['ALL', 2500],
      ['NONE', 0],
    ] as const)
      windows.push({ ...(await study.window(windows.length, { code })), code, done });
    const { id } = await study.person();
    for (const { id: window, done } of windows)
      await stage.sql(
        `insert into scheduled_visits (visit_key, study_id, participant_id, visit_window_id, name, target_date, window_open, window_close, status, completed_at)
         select gen_random_uuid(), ?, ?, ?, 'A visit', '2024-03-10', '2024-03-09', '2024-03-11', case when n <= ? then 'completed' else 'missed' end,
           case when n <= ? then '2024-03-10 12:00+00'::timestamptz end from generate_series(1, 2500) n`,
        [study.id, id, window, done, done],
      );
    const reader = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const visitor = await Visitor.of(stage.run.api, reader.email);
    const { text } = await visitor.get(`/console/reports/${study.id}`);
    const rates = windows.map(({ code }) => new RegExp(`>${code}<.*?([\\d.]+%)`, 's').exec(text)?.[1]);
    expect(rates).to.deep.equal(['99.9%', '0.1%', '100%', '0%']);
    expect(text, 'what the dates of a filter mean').to.include('the start of sessions (UTC)');
  });

  it('draws plots in the page’s theme, chosen or the browser’s', async () => {
    const { study, reader } = await reported();
    const path = `/console/reports/${study.id}`;
    const { page, faults } = await openConsole(browser, path, { theme: 'dark', as: reader.email });
    /** The colour in the corner of the first plot, and the page's behind it. */
    const colors = async (): Promise<unknown> => {
      await page.waitForFunction(`document.querySelector('.plot img').complete`, { polling: 250, timeout: 60_000 });
      return page.evaluate(`(async () => {
        const plot = document.querySelector('.plot img');
        await plot.decode();
        const canvas = document.createElement('canvas');
        const context = canvas.getContext('2d');
        context.drawImage(plot, 0, 0);
        return [context.getImageData(2, 2, 1, 1).data.slice(0, 3).join(', '), getComputedStyle(plot.closest('.plot')).backgroundColor];
      })()`);
    };
    const [dark, light] = [
      ['26, 32, 40', 'rgb(26, 32, 40)'],
      ['255, 255, 255', 'rgb(255, 255, 255)'],
    ];
    expect(await colors()).to.deep.equal(dark);
    await page.setCookie({ name: 'console_theme', value: 'light', url: browser.base, path: '/console' });
    await page.reload();
    expect(await colors()).to.deep.equal(light);
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    await page.setCookie({ name: 'console_theme', value: 'dark', url: browser.base, path: '/console' });
    await page.reload();
    expect(await colors()).to.deep.equal(dark);
    expect(faults).to.deep.equal([]);
    // A file of its own follows the screen; one that is asked for has the theme that is asked for.
    const plot = `/api/reports/studies/${study.id}/plots/enrollment.svg`;
    expect((await reader.get(plot)).text).to.include('prefers-color-scheme: dark');
    expect((await reader.get(`${plot}?theme=light`)).text).not.to.include('<style');
  });

  it('refuses days in the wrong order in words, and is out of reach for who is not of the study', async () => {
    const { study, reader } = await reported();
    const visitor = await Visitor.of(stage.run.api, reader.email);
    const path = `/console/reports/${study.id}`;
    const wrong = await visitor.get(`${path}?from=2024-05-01&to=2024-04-01&site_code=&arm=`);
    expect(wrong.status).to.equal(400);
    expect(wrong.text).to.include('The first day lies after the last.');
    expect(wrong.text, 'what was asked, and the way back').to.include('2024-05-01').and.to.include(`href="${path}"`);
    const stranger = await user(stage.admin, 'researcher', { study_ids: [(await newStudy(stage.admin)).id] });
    const other = await Visitor.of(stage.run.api, stranger.email);
    for (const at of [path, `${path}/plots/enrollment.svg`]) expect((await other.get(at)).status, at).to.equal(404);
  });

  it('escapes what a site or window is called, and says what there is not', async () => {
    const study = await newStudy(stage.admin, { study_name: '<script>alert(1)</script>' });
    await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: 'A<b>',
      name: 'A site',
      timezone: 'Europe/Berlin',
    });
    await newParticipant(stage.admin, study.id);
    const { email } = await user(stage.admin, 'investigator', { study_ids: [study.id] });
    const { page, faults } = await openConsole(browser, `/console/reports/${study.id}`, { language: 'de', as: email });
    expect(await textOf(page, 'main'))
      .to.include('<script>alert(1)</script>')
      .and.to.include('Noch nichts.');
    await fill(page, { arm: 'none' });
    await submit(page, '.filter button.primary');
    expect(await axe(page)).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
  });
});
