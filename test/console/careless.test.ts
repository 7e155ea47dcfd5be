import { expect } from 'chai';
import type { Page } from 'puppeteer-core';
import { Stage } from '../anchor/stage.js';
import { user } from '../support/http.js';
import { ConsoleBrowser, axe, fill, openConsole, signIn, submit, textOf, valueOf } from './browser.js';
import { waiting, withApprover } from './stage.js';
import type { Waiting } from './stage.js';

const REASON = 'checked against the source document, äöü <b>';

describe('people in a hurry', function () {
  this.timeout(120_000);
  let browser: ConsoleBrowser;
  let stage: Stage;
  let at: Awaited<ReturnType<typeof withApprover>>;
  before(async () => {
    [browser, stage] = await Promise.all([ConsoleBrowser.start(), Stage.open()]);
    at = await withApprover(stage);
  });
  after(async () => {
    await browser?.close();
    await stage?.close();
  });

  const opened = async (of: Waiting, javascript = true) => {
    const path = `/console/approvals/${of.request}`;
    const { page, faults } = await openConsole(browser, path, { javascript, as: of.approver.email });
    expect(new URL(page.url()).pathname).to.equal(path);
    return { page, faults, path };
  };
  /** The login of a page ends, and somebody logs in in another tab. */
  const otherLogin = async (page: Page, email: string) => {
    await page.browserContext().deleteMatchingCookies({ name: 'console_login', url: browser.base });
    const other = await page.browserContext().newPage();
    await other.goto(`${browser.base}/console/login`);
    await signIn(other, email);
    await page.bringToFront();
  };
  /** How often the request was decided. */
  const decisions = async ({ person }: Waiting) =>
    (await person.history()).filter(({ event_type }) => /^OVERRIDE_(GRANTED|DENIED)$/.test(event_type)).length;
  /** What a page gives back of what was typed. */
  const givenBack = (page: Page) =>
    page.$$eval('.typed textarea', (fields) => fields.map((field) => (field as unknown as { value: string }).value));

  for (const javascript of [true, false])
    it(`press a button twice, then go back: it is decided once${javascript ? '' : ', also without JavaScript'}`, async () => {
      const of = await waiting(stage, { at });
      const { page, faults, path } = await opened(of, javascript);
      await fill(page, { reason: REASON });
      await Promise.all([page.waitForNavigation(), page.click('button[value=approve]', { count: 2, delay: 10 })]);
      await page.waitForSelector('.tag.approved');
      expect(await decisions(of)).to.equal(1);
      await page.goBack();
      // The earlier page is requested again, and shows the present state.
      await page.goto(`${browser.base}${path}`);
      expect(await page.$('button[value=approve]'), 'nothing is left to decide').to.equal(null);
      expect(await textOf(page, 'main')).to.include('Approved');
      expect(faults).to.deep.equal([]);
    });

  it('lose the connection while they type: the page stays with what was typed, and is sent once they are back', async () => {
    const of = await waiting(stage, { at });
    const { page, path } = await opened(of);
    await fill(page, { reason: REASON });
    await page.setOfflineMode(true);
    await page.click('button[value=approve]');
    await page.waitForSelector('#away.shown[role=alert]');
    expect(await textOf(page, '#away')).to.include('The service is not reached. Nothing was sent');
    expect(await valueOf(page, '[name=reason]')).to.equal(REASON);
    expect(new URL(page.url()).pathname).to.equal(path);
    expect(await axe(page)).to.deep.equal([]);
    await page.setOfflineMode(false);
    await submit(page, 'button[value=approve]');
    await page.waitForSelector('.tag.approved');
    expect(await decisions(of)).to.equal(1);
  });

  it('log in again in another tab, as the page tells them: it can be sent as it is', async () => {
    const of = await waiting(stage, { at });
    const { page } = await opened(of);
    await fill(page, { reason: REASON });
    await otherLogin(page, of.approver.email);
    await submit(page, 'button[value=approve]');
    await page.waitForSelector('.tag.approved');
    expect(await decisions(of)).to.equal(1);
  });

  it('log in in another tab as somebody else: the page of the first one sends nothing', async () => {
    const of = await waiting(stage, { at });
    const { page } = await opened(of);
    await fill(page, { reason: REASON });
    // Who may decide it as well, and has not seen the page.
    await otherLogin(page, (await user(stage.admin, 'researcher', { study_ids: [of.study.id] })).email);
    await submit(page, 'button[value=approve]');
    expect(await valueOf(page, '[name=reason]')).to.equal(REASON);
    expect(await decisions(of)).to.equal(0);
  });

  it('use the keyboard: a menu that refreshes keeps the focus, and a refused form has it at the first wrong field', async () => {
    const { page, faults } = await openConsole(browser, `/console/studies/${at.study.id}/enroll`, {
      as: at.asker.email,
    });
    const focused = async () => String(await page.evaluate('document.activeElement.id || document.activeElement.href'));
    // Found and focused in one step: the menu also refreshes by itself when the page is there.
    await page.evaluate(`document.querySelector('#menu a[href="/console/studies"]').focus()`);
    const counts = '/console/counts?at=/console/participants';
    // Two refreshes at once: one may begin while the other has taken the link away.
    const refresh = `htmx.ajax('GET', '${counts}', { target: '#menu', swap: 'outerHTML' })`;
    await page.evaluate(`Promise.all([${refresh}, ${refresh}])`);
    await page.waitForFunction(`document.activeElement.href?.endsWith('/console/studies')`, { polling: 250 });
    await fill(page, { participant_code: 'P-1', timezone: 'Nowhere/At-all' });
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    expect(await focused()).to.equal('field-timezone');
    expect(faults).to.deep.equal([]);
  });

  it('decide in one tab, then in the other one, which was left open: the second is told, and keeps what was typed', async () => {
    const of = await waiting(stage, { at });
    const { page, path } = await opened(of);
    const second = await page.browserContext().newPage();
    await second.goto(`${browser.base}${path}`);
    await fill(second, { reason: 'typed in the second tab' });
    await page.bringToFront();
    await fill(page, { reason: REASON });
    await submit(page, 'button[value=approve]');
    await second.bringToFront();
    await submit(second, 'button[value=deny]');
    expect(await givenBack(second)).to.deep.equal(['typed in the second tab']);
    expect(await axe(second)).to.deep.equal([]);
    expect(await decisions(of)).to.equal(1);
  });

  it('type until their login has ended: they log in again, and have what they typed', async () => {
    const of = await waiting(stage, { at });
    const { page, path } = await opened(of);
    await fill(page, { reason: REASON });
    await page.browserContext().deleteMatchingCookies({ name: 'console_login', url: browser.base });
    await submit(page, 'button[value=approve]');
    expect(await textOf(page, 'main')).to.include('You get it back after the login');
    await signIn(page, of.approver.email);
    expect(await givenBack(page)).to.include(REASON);
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, `main a[href="${path}"]`);
    expect(await decisions(of), 'nothing was decided meanwhile').to.equal(0);
    await fill(page, { reason: REASON });
    await submit(page, 'button[value=approve]');
    await page.waitForSelector('.tag.approved');
    expect(await decisions(of)).to.equal(1);
  });
});
