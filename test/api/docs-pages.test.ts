import { expect } from 'chai';
import type { Browser, Page } from 'puppeteer-core';
import { launchBrowser } from '../support/browser.js';
import { service } from '../support/service.js';
import type { RunJson } from '../support/service.js';

describe('The pages of the documentation, in a browser', function suite() {
  this.timeout(120_000);
  let run: RunJson;
  let browser: Browser;
  before(async () => {
    run = await service();
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  const open = async (path: string): Promise<{ page: Page; outside: string[] }> => {
    const page = await (await browser.createBrowserContext()).newPage();
    page.setDefaultTimeout(60_000);
    const outside: string[] = [];
    page.on('request', (asked) => {
      if (!asked.url().startsWith(run.api) && !asked.url().startsWith('data:') && !asked.url().startsWith('blob:'))
        outside.push(asked.url());
    });
    await page.goto(`${run.api}${path}`);
    return { page, outside };
  };
  // As text: what runs in the page knows other names than the test.
  const shows = (page: Page, text: string): Promise<unknown> =>
    // What is seen of a long page is worked out only once it has the words.
    page.waitForFunction(
      `['textContent', 'innerText'].every((part) => document.body[part].includes(${JSON.stringify(text)}))`,
      { polling: 250, timeout: 60_000 },
    );
  const press = async (page: Page, selector: string): Promise<void> => {
    const element = await page.waitForSelector(selector, { timeout: 60_000 });
    await element!.click();
  };

  it('/docs says why a login is refused, logs in, and calls operations with that login', async () => {
    const { page, outside } = await open('/docs');
    await shows(page, 'Participants');
    await page.type('[name=email]', run.admin_email);
    await page.type('[name=password]', 'not the password');
    await page.click('#login button');
    await shows(page, 'Email or password is wrong.');
    await page.$eval('[name=password]', (input) => {
      (input as unknown as { value: string }).value = '';
    });
    await page.type('[name=password]', run.admin_password ?? '');
    await page.click('#login button');
    await shows(page, `Logged in as ${run.admin_email}`);
    await press(page, '#operations-tag-Authentication');
    await press(page, '#operations-Authentication-getCurrentUser .opblock-summary-control');
    await press(page, '#operations-Authentication-getCurrentUser .try-out__btn');
    await press(page, '#operations-Authentication-getCurrentUser .execute');
    await shows(page, `"email": "${run.admin_email}"`);
    expect(outside).to.deep.equal([]);
    await page.close();
  });

  it('/redoc asks nothing from outside', async () => {
    const { page, outside } = await open('/redoc');
    await shows(page, 'Research Assessment Platform');
    await shows(page, 'Participants');
    expect(outside).to.deep.equal([]);
    await page.close();
  });
});
