import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import type { Browser } from 'puppeteer-core';
import { findChromium, packagedChromium } from '../../api/reports/pdf/chromium.js';

/** What a page of a test needs nothing of, and what costs processor time at each start or each page. */
const WITHOUT = [
  '--disable-gpu',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-dev-shm-usage',
  '--no-first-run',
  // Pages of one browser context share a process.
  '--renderer-process-limit=1',
  // A spare process for the next page, always kept ready.
  '--disable-features=SpareRendererForSitePerProcess',
];

/**
 * A browser has the time that is, as a visitor's own device: with a moved clock its processes never rest, which makes a
 * file last ten minutes.
 */
const OWN_CLOCK = { LD_PRELOAD: undefined, FAKETIME: undefined };

/**
 * A browser to look at pages: CHROMIUM_PATH, else the one of the npm package, whatever else is installed. A
 * distribution's takes up to ten times its processor time. `close` it when the file's tests are over.
 */
export async function launchBrowser(): Promise<Browser> {
  const { CHROMIUM_PATH } = process.env;
  const cache = join(process.cwd(), '.cache');
  const found = await (CHROMIUM_PATH === undefined ? packagedChromium(cache) : findChromium(CHROMIUM_PATH, cache));
  return puppeteer.launch({
    executablePath: found.path,
    args: [...found.args, ...WITHOUT],
    env: { ...process.env, ...found.env, ...OWN_CLOCK },
    headless: true,
    // The browser ends with this process, also when that is killed.
    pipe: true,
  });
}
