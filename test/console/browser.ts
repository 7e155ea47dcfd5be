import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, CDPSession, Page, Viewport } from 'puppeteer-core';
import { launchBrowser } from '../support/browser.js';
import { goodPassword } from '../support/http.js';
import { inFull } from '../support/in-full.js';
import { service } from '../support/service.js';
import { Visitor } from './stage.js';

/** The source of axe-core, which looks at a page inside of the browser. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1280, height: 900 };
/** What the rules of axe are compared with: WCAG 2.2, levels A and AA, and good practice. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The rules that look at colours: the themes differ in nothing else (test/lint/themes.test.ts). */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** Twice what is usual: how fast a page is, a benchmark says. */
const PATIENCE_MS = 60_000;

export interface OpenOptions {
  /** Default: a page as wide as a desk’s. */
  viewport?: { width: number; height: number };
  theme?: 'light' | 'dark';
  javascript?: boolean;
  language?: string;
  /** The email of somebody who is logged in there: the login’s own page is not drawn. */
  as?: string;
  /** Theirs, where it is not the usual one. */
  password?: string;
  /** Another service than the shared one. */
  base?: string;
}

/** A browser for the tests of one file; `close` it when they are over. */
export class ConsoleBrowser {
  private constructor(
    private readonly browser: Browser,
    readonly base: string,
  ) {}

  static async start(base?: string): Promise<ConsoleBrowser> {
    return new ConsoleBrowser(await launchBrowser(), base ?? (await service()).api);
  }

  close(): Promise<void> {
    return this.browser.close();
  }

  /** A page of a browser of its own: no cookies but its own. Faults of its scripts and of the policy fail the test. */
  async page({ viewport = DESKTOP, theme = 'light', javascript = true, language = 'en' }: OpenOptions = {}) {
    const page = await (await this.browser.createBrowserContext()).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.setViewport(viewport);
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
    await page.setJavaScriptEnabled(javascript);
    await page.setExtraHTTPHeaders({ 'Accept-Language': language });
    return page;
  }
}

/**
 * Opens a path of the console, without a login unless it is told whose.
 * @returns the page, and what went wrong in it: outside addresses, faults of scripts and of the content policy
 */
export async function openConsole(
  browser: ConsoleBrowser,
  path: string,
  options: OpenOptions = {},
): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.page(options);
  const faults: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(browser.base) && !request.url().startsWith('data:'))
      faults.push(`asked ${request.url()}`);
  });
  page.on('pageerror', (fault) => faults.push(String(fault)));
  page.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text());
  });
  if (options.as !== undefined) await carryLogin(page, browser.base, options.as, options.password);
  await page.goto(`${browser.base}${path}`);
  return { page, faults };
}

/** Gives a page the cookies of a login, with the attributes that the console gives them. */
async function carryLogin(page: Page, base: string, email: string, password?: string): Promise<void> {
  const { cookies } = await Visitor.of(base, email, password);
  const shared = { domain: new URL(base).hostname, path: '/console', httpOnly: true, sameSite: 'Lax' as const };
  const all = [...cookies].map(([name, value]) => ({ name, value, ...shared }));
  await page.browserContext().setCookie(...all);
}

/** Fills in the login that the page shows, and waits for where it leads. */
export async function signIn(page: Page, email: string, password = goodPassword): Promise<void> {
  await fill(page, { email, password });
  await submit(page, 'button.primary');
}

/** Fields that take a whole text at once. */
const TEXT =
  'textarea, input:not([type]), ' +
  ['text', 'email', 'password', 'search', 'url', 'tel', 'number'].map((type) => `input[type=${type}]`).join(', ');

/**
 * Fills in fields, by their names; what was there goes. A text comes at once, as from a keyboard that knows words: the
 * browser draws the page again after each key.
 */
export async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) {
    const selector = `[name="${name}"]`;
    await page.click(selector, { count: 3 });
    await page.keyboard.press('Backspace');
    const takesText = await page.$eval(
      selector,
      (field, text) => (field as unknown as { matches: (selector: string) => boolean }).matches(text),
      TEXT,
    );
    if (takesText) await page.keyboard.sendCharacter(value);
    else await page.type(selector, value);
  }
}

/**
 * Sets a field's value without typing: a long text, or a date, whatever order of its parts the browser's language has.
 */
export const setValue = (page: Page, selector: string, value: string): Promise<void> =>
  page.$eval(
    selector,
    (field, text) => {
      (field as unknown as { value: string }).value = text;
    },
    value,
  );

/** What a field holds. */
export const valueOf = (page: Page, selector: string): Promise<string> =>
  page.$eval(selector, (field) => (field as unknown as { value: string }).value);

/** Presses a button and waits for the page that answers. */
export async function submit(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

/** What a reader sees of a part of the page. */
export const textOf = (page: Page, selector = 'body'): Promise<string> =>
  page.$eval(selector, (element) => (element as unknown as { innerText: string }).innerText);

type Look = readonly [viewport: typeof DESKTOP, theme: 'light' | 'dark', rules: readonly string[]];
/** Every rule wide and on a phone, and those about colours in both themes. In an order that changes one thing at a time. */
const ALL_LOOKS: readonly Look[] = [
  [DESKTOP, 'light', RULES],
  [DESKTOP, 'dark', COLOR_RULES],
  [PHONE, 'dark', COLOR_RULES],
  [PHONE, 'light', RULES],
];
/** Each width and each theme once: at one page so, at the next the other way. */
const LOOKS_IN_TURN: readonly (readonly Look[])[] = [
  [
    [DESKTOP, 'light', RULES],
    [PHONE, 'dark', RULES],
  ],
  [
    [DESKTOP, 'dark', RULES],
    [PHONE, 'light', RULES],
  ],
];
let turn = 0;

/**
 * What axe finds at a page, a line each; none: it is well. Every rule wide and on a phone, and those about colours in
 * both themes; which theme is looked at how wide changes from page to page, but in the long form.
 */
export async function axe(page: Page): Promise<string[]> {
  const before = page.viewport();
  const found: string[] = [];
  // The protocol’s own evaluation passes the page’s policy, which lets no script in but its files.
  const session = await page.createCDPSession();
  for (const [viewport, theme, rules] of inFull ? ALL_LOOKS : LOOKS_IN_TURN[turn++ % LOOKS_IN_TURN.length]!) {
    await look(page, viewport, theme);
    const where = `${theme}, ${viewport.width} px`;
    found.push(...(await violations(session, rules, viewport === DESKTOP)).map((one) => `${where}: ${one}`));
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth'));
    if (wide > viewport.width) found.push(`${where}: the page is ${wide} px wide`);
  }
  await session.detach();
  await look(page, before, 'light');
  return found;
}

/** Changes width and theme at once: the page is drawn again once. */
async function look(page: Page, viewport: Viewport | null, theme: 'light' | 'dark'): Promise<void> {
  const now = page.viewport();
  const asItIs = !viewport || (now?.width === viewport.width && now.height === viewport.height);
  await Promise.all([
    page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]),
    asItIs ? undefined : page.setViewport(viewport),
  ]);
}

/**
 * @param rules names of rules, or of groups of them
 * @param preload whether axe asks for the page's style sheets again: the one rule that reads them knows no width
 */
async function violations(session: CDPSession, rules: readonly string[], preload: boolean): Promise<string[]> {
  const run = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  // It stays with the page, whatever its width and theme.
  if (!(await run(`'axe' in window`))) await run(`${AXE};undefined`);
  const options = { runOnly: rules, resultTypes: ['violations'], selectors: false, preload };
  const found = await run(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => id + ' (' + help + '): ' + html.slice(0, 200))))`,
  );
  return found as string[];
}
