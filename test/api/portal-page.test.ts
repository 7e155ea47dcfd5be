import { join } from 'node:path';
import { expect } from 'chai';
import puppeteer from 'puppeteer-core';
import type { Browser, Page } from 'puppeteer-core';
import { findChromium } from '../../api/pdf/chromium.js';
import { Http, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { sendLink } from '../support/portal.js';
import { service } from '../support/service.js';
import type { RunJson } from '../support/service.js';
import { Site } from '../assessment/stage.js';

/** A small phone. */
const PHONE = { width: 360, height: 640, isMobile: true, hasTouch: true };

describe('the participant’s page, in a browser', function () {
  this.timeout(180_000);
  let run: RunJson;
  let site: Site;
  let browser: Browser;
  before(async () => {
    run = await service();
    site = await Site.open();
    const found = await findChromium(process.env.CHROMIUM_PATH, join(process.cwd(), '.cache'));
    browser = await puppeteer.launch({ executablePath: found.path, args: found.args, env: { ...process.env, ...found.env }, headless: true });
  });
  after(() => browser?.close());

  const participant = (language: string): Promise<Loose> => site.newParticipant({ email: `${unique('p')}@example.org`, preferred_language: language });
  const open = async (path: string): Promise<{ page: Page; outside: string[]; faults: string[] }> => {
    const page = await (await browser.createBrowserContext()).newPage();
    const outside: string[] = [];
    const faults: string[] = [];
    page.on('request', (request) => { if (!request.url().startsWith(run.api)) outside.push(request.url()); });
    page.on('pageerror', (fault) => faults.push(String(fault)));
    await page.setViewport(PHONE);
    await page.goto(`${run.api}${path}`);
    return { page, outside, faults };
  };
  const words = (page: Page, selector = 'main') => page.$eval(selector, (element) => (element as unknown as { innerText: string }).innerText);
  const reads = (page: Page, text: string) => page.waitForFunction((wanted) => (globalThis as unknown as { document: { body: { innerText: string } } }).document.body.innerText.includes(wanted), { timeout: 60_000 }, text);

  it('opens by the button, shows the next visit, keeps a preference, and closes', async () => {
    const ida = await participant('de-AT');
    await site.visit({ participant_id: ida.id, name: 'Woche 4' });
    await site.visit({ participant_id: ida.id, name: 'Woche 8' }, [20, 24]);
    const { page, outside, faults } = await open(`/portal?token=${await sendLink(site.http, ida.id)}`);
    expect(page.url()).to.equal(`${run.api}/portal`);
    await page.click('#enter');
    await reads(page, 'Nächster Termin');
    expect(await words(page, '#next')).to.match(/^Woche 4\s+Jetzt möglich, bis /);
    expect(await words(page, '#visits')).to.include('Woche 8').and.to.include('geplant');
    expect(await words(page, '#data')).to.equal('Alles ist weitergegeben.');
    expect(await page.$eval('html', (html) => (html as unknown as { lang: string }).lang)).to.equal('de');
    // Nothing reaches over the edge of a phone.
    expect(await page.$eval('html', (html) => (html as unknown as { scrollWidth: number }).scrollWidth)).to.be.at.most(PHONE.width);
    await page.click('input[name=email]');
    await reads(page, 'Gespeichert.');
    await page.reload();
    await reads(page, 'Woche 4');
    expect(await page.$eval('input[name=email]', (box) => (box as unknown as { checked: boolean }).checked)).to.equal(false);
    await page.click('#leave');
    await reads(page, 'Sie sind abgemeldet.');
    await page.reload();
    await page.waitForFunction(() => (globalThis as unknown as { document: { getElementById: (id: string) => { textContent: string } } }).document.getElementById('said').textContent !== '');
    expect(await words(page)).not.to.include('Woche');
    expect([outside, faults]).to.deep.equal([[], []]);
  });

  it('a link that is only fetched still opens; opened once, it says so in words', async () => {
    const eva = await participant('en');
    const link = `/portal?token=${await sendLink(site.http, eva.id)}`;
    expect((await new Http(run.api).get(link)).status).to.equal(200);
    const first = await open(link);
    await first.page.click('#enter');
    await reads(first.page, 'No visit is planned at the moment.');
    const second = await open(link);
    await second.page.click('#enter');
    await reads(second.page, 'This link was used already');
  });

  it('tells every control’s name to who cannot see it', async () => {
    const { page } = await open(`/portal?token=${await sendLink(site.http, (await participant('en')).id)}`);
    await page.click('#enter');
    await reads(page, 'Log out');
    const tree = JSON.stringify(await page.accessibility.snapshot());
    for (const name of ['Next visit', 'All visits', 'Messages about visits', 'By e-mail', 'By text message', 'On my device', 'Log out']) expect(tree).to.include(`"name":"${name}"`);
  });
});
