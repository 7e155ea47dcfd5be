import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import type { Browser } from 'puppeteer-core';
import { findChromium } from '../../api/reports/pdf/chromium.js';

/** What a page of a test needs nothing of, and what costs processor time at each start or each page. */
const WITHOUT = [
  '--disable-gpu',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-dev-shm-usage',
  '--no-first-run',
  // A spare process for the next page, always kept ready.
  '--disable-features=SpareRendererForSitePerProcess',
];

/** The browser that the service prints with, to look at pages; `close` it when the file's tests are over. */
export async function launchBrowser(): Promise<Browser> {
  const found = await findChromium(process.env.CHROMIUM_PATH, join(process.cwd(), '.cache'));
  return puppeteer.launch({
    executablePath: found.path,
    args: [...found.args, ...WITHOUT],
    env: { ...process.env, ...found.env },
    headless: true,
  });
}
