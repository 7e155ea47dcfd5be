import { availableParallelism } from 'node:os';
import type { Browser, Page, Protocol } from 'puppeteer-core';
import type { Logger } from 'pino';
import { problem } from '../../http/errors.js';
import { findChromium } from './chromium.js';
import { pagesOfAnchors } from './destinations.js';
import { lowerSessionPriority, lowerTreePriority } from './priority.js';
import { fontFile } from '../document/fonts.js';

export type PageSize = 'letter' | 'a4';

/** One on a small machine: a page occupies one processor, and another stays free for other requests. */
const CONCURRENCY = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));
const MAX_WAITING = 40;
/** A browser's memory grows; after this many documents it is replaced. */
const DOCUMENTS_PER_BROWSER = 200;
const IDLE_MS = 300_000;
const TIMEOUT_MS = 60_000;
const HOST = 'http://report.invalid';

/**
 * Prints pages as PDF: one browser for the process, started for the first page; one page at a time for every two
 * processors, others queue. The page only has access to its fonts, and runs no scripts.
 */
export class Printer {
  private browser: Promise<Browser> | undefined;
  private printed = 0;
  private running = 0;
  private closed = false;
  private idle: NodeJS.Timeout | undefined;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: { path: string | undefined; cacheDir: string; log: Logger }) {}

  /**
   * @param make builds the page, when its turn has come
   * @throws 503 when no browser is available, or too many wait already
   */
  async print(make: () => Promise<string>, size: PageSize): Promise<Buffer> {
    await this.turn();
    try {
      const html = await make();
      // A browser that crashed during the page is replaced once; a second failure has another reason.
      return await this.attempt(html, size).catch((fault: unknown) => {
        if (this.closed || !isGone(fault)) throw fault;
        this.options.log.warn({ err: fault }, 'the browser was lost: starting another');
        return this.attempt(html, size);
      });
    } catch (fault) {
      if (isGone(fault) || isTimeout(fault))
        throw problem('BROWSER_UNAVAILABLE', { cause: fault, headers: { 'Retry-After': '5' } });
      throw fault;
    } finally {
      this.next();
    }
  }

  /** Ends the browser and removes its files. */
  async close(): Promise<void> {
    this.closed = true;
    for (const go of this.waiting.splice(0)) go();
    await this.end();
  }

  private async attempt(html: string, size: PageSize): Promise<Buffer> {
    const browser = await this.opened();
    const page = await browser.newPage();
    try {
      return await printed(page, html, size, () => this.lowered(browser));
    } finally {
      // A page of a crashed browser can't and need not be closed.
      if (browser.connected)
        await page
          .close()
          .catch((fault: unknown) => this.options.log.warn({ err: fault }, 'a printed page was not closed'));
    }
  }

  private async turn(): Promise<void> {
    clearTimeout(this.idle);
    if (this.running >= CONCURRENCY) {
      if (this.waiting.length >= MAX_WAITING)
        throw problem('BROWSER_UNAVAILABLE', {
          detail: 'Too many documents wait to be printed.',
          headers: { 'Retry-After': '10' },
        });
      await new Promise<void>((go) => {
        this.waiting.push(go);
      });
    } else {
      this.running += 1;
    }
    if (this.closed) {
      this.next();
      throw problem('UNAVAILABLE');
    }
  }

  private next(): void {
    const go = this.waiting.shift();
    if (go) {
      go();
      return;
    }
    this.running -= 1;
    if (this.running > 0) return;
    const forget = () => {
      this.end().catch((fault: unknown) => this.options.log.warn({ err: fault }, 'the browser was not closed'));
    };
    if (this.printed >= DOCUMENTS_PER_BROWSER) forget();
    else this.idle = setTimeout(forget, IDLE_MS).unref();
  }

  private async end(): Promise<void> {
    clearTimeout(this.idle);
    const ending = this.browser;
    this.browser = undefined;
    this.printed = 0;
    // A browser that never started needs no closing.
    const browser = await ending?.catch(() => undefined);
    await browser?.close();
  }

  private opened(): Promise<Browser> {
    this.printed += 1;
    return (this.browser ??= this.launch().catch((fault: unknown) => {
      this.browser = undefined;
      throw problem('BROWSER_UNAVAILABLE', {
        detail: 'No browser could be started to print with.',
        cause: fault,
        headers: { 'Retry-After': '30' },
      });
    }));
  }

  /**
   * Lowers the priority of printing below that of answering: for the browser and its processes for a page. If the
   * system does not allow it, printing continues nevertheless.
   */
  private async lowered(browser: Browser): Promise<void> {
    const pid = browser.process()?.pid;
    if (pid === undefined) return;
    for (const given of await Promise.allSettled([lowerSessionPriority(pid), lowerTreePriority(pid)]))
      if (given.status === 'rejected')
        this.options.log.debug({ err: given.reason as unknown }, 'the browser keeps its priority');
  }

  private async launch(): Promise<Browser> {
    const { path, cacheDir, log } = this.options;
    const found = await findChromium(path, cacheDir).catch((fault: unknown) => {
      log.error({ err: fault }, 'no browser');
      throw fault;
    });
    const { launch } = await import('puppeteer-core');
    const browser = await launch({
      executablePath: found.path,
      headless: 'shell',
      timeout: TIMEOUT_MS,
      protocolTimeout: TIMEOUT_MS,
      // Over a pipe: the browser ends with this process, also when it is killed.
      pipe: true,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      env: { ...inherited(), ...found.env },
      args: [
        ...found.args,
        '--disable-dev-shm-usage',
        '--disable-gpu',
        '--no-first-run',
        '--disable-extensions',
        '--disable-background-networking',
        // A spare process for the next page, always kept ready.
        '--disable-features=SpareRendererForSitePerProcess',
        '--font-render-hinting=none',
      ],
    });
    browser.once('disconnected', () => {
      this.browser = undefined;
    });
    return browser;
  }
}

/** The environment variables that a browser needs: no secrets of the service. */
const inherited = (): Record<string, string> =>
  Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ'].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  );

const isGone = (fault: unknown): boolean =>
  (fault instanceof Error &&
    /TargetCloseError|ConnectionClosedError|ProtocolError/.test(`${fault.name} ${fault.constructor.name}`)) ||
  (fault instanceof Error && /(Target|Session|Connection) closed|detached|disconnected/i.test(fault.message));
const isTimeout = (fault: unknown): boolean => fault instanceof Error && fault.name === 'TimeoutError';

/** @param loaded called when the page and the processes that lay it out exist */
async function printed(page: Page, html: string, size: PageSize, loaded: () => Promise<void>): Promise<Buffer> {
  page.setDefaultTimeout(TIMEOUT_MS);
  await new Promise((there, failed) => {
    serveDocument(page, html, failed)
      .then(() => page.goto(`${HOST}/`, { waitUntil: 'load', timeout: TIMEOUT_MS }))
      .then(there, failed);
  });
  await loaded();
  // Tagged for screen readers, with the headings as bookmarks.
  const print = async () =>
    Buffer.from(
      await page.pdf({
        format: size,
        preferCSSPageSize: true,
        printBackground: true,
        tagged: true,
        outline: true,
        timeout: TIMEOUT_MS,
      }),
    );
  const first = await print();
  // Page numbers are only known after printing; the browser has no other way to report them.
  const pages = pagesOfAnchors(first);
  const listed = await page.$$eval(
    'nav a[href^="#"]',
    (links, known) =>
      links.filter((link) => {
        const number = known[link.getAttribute('href')!.slice(1)];
        if (number !== undefined) link.lastElementChild!.textContent = String(number);
        return number !== undefined;
      }).length,
    Object.fromEntries(pages),
  );
  return listed === 0 ? first : print();
}

const POLICY = `default-src 'none'; style-src 'unsafe-inline'; font-src 'self'; img-src data:`;

/**
 * Serves the page and its fonts, and nothing else. It uses the browser's own protocol: the library's interception
 * encodes a page as base64, which blocks other requests for 20 ms.
 */
async function serveDocument(page: Page, html: string, failed: (fault: unknown) => void): Promise<void> {
  const session = await page.createCDPSession();
  const body = Buffer.from(html).toString('base64');
  const answer = async ({ requestId, request }: Protocol.Fetch.RequestPausedEvent): Promise<void> => {
    const url = new URL(request.url);
    const font = url.origin === HOST ? await fontFile(url.pathname) : undefined;
    if (font)
      return session.send('Fetch.fulfillRequest', {
        requestId,
        responseCode: 200,
        responseHeaders: [{ name: 'Content-Type', value: 'font/woff2' }],
        body: font.toString('base64'),
      });
    if (url.href !== `${HOST}/`)
      return session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
    const headers = [
      { name: 'Content-Type', value: 'text/html; charset=utf-8' },
      { name: 'Content-Security-Policy', value: POLICY },
    ];
    return session.send('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders: headers, body });
  };
  session.on('Fetch.requestPaused', (paused) => {
    answer(paused).catch(failed);
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
}
