/**
 * `npm run console:screenshots`: starts a service with a study in progress, logs in and writes a screenshot of every
 * console page to docs/console/. `-- --all` adds both themes, three widths and both languages; `--out FOLDER` writes
 * elsewhere; `--look dark-de-360` one look; `-- inbox users` selects pages.
 */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'puppeteer-core';
import { pagesToShow } from '../test/console/pages.js';
import type { ShownPage } from '../test/console/pages.js';
import { ConsoleBrowser, openConsole, signIn } from '../test/console/browser.js';
import { cleanUp, startService } from '../test/support/service.js';
import { busyStudy } from './console/busy-study.js';
import { actsOn } from './console/acts.js';
import type { Act } from './console/acts.js';

const WIDTHS = [360, 768, 1280];
const HEIGHT = 900;
/** Other work of the machine must not end the run. */
const NAVIGATION_MS = 180_000;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    look: { type: 'string', multiple: true, default: [] },
    out: { type: 'string', default: join('docs', 'console') },
  },
});

/** An image in the repository shows the beginning of a long page, and is small. */
const isAll = values.all || values.look.length > 0;
const MAX_PX = isAll ? 2_400 : HEIGHT;

interface Look {
  theme: 'light' | 'dark';
  language: 'en' | 'de';
  width: number;
}
const usual: Look = { theme: 'light', language: 'en', width: 1024 };
const nameOfLook = ({ theme, language, width }: Look): string => `${theme}-${language}-${width}`;
const looks: Look[] = isAll
  ? (['light', 'dark'] as const)
      .flatMap((theme) =>
        (['en', 'de'] as const).flatMap((language) => WIDTHS.map((width) => ({ theme, language, width }))),
      )
      .filter((look) => values.look.length === 0 || values.look.includes(nameOfLook(look)))
  : [usual];
/** The default look has the page's name only. */
const fileOf = (name: string, look: Look): string => (isAll ? `${name}-${nameOfLook(look)}.png` : `${name}.png`);
const PUBLIC = ['login', 'forgot', 'reset', 'accept'].map((name) => ({ name, path: `/console/${name}` }));
/** What these show while there is no study. */
const AT_FIRST = ['inbox', 'today', 'participants', 'studies', 'reports'].map((name) => ({
  name: `${name}-at-first`,
  path: `/console/${name}`,
}));

process.once('SIGINT', () => {
  void cleanUp().then(() => process.exit(130));
});
const service = await startService({ RATE_LIMIT_PER_MINUTE: '100000', AUTH_RATE_LIMIT_PER_MINUTE: '100000' });
const browser = await ConsoleBrowser.start(service.run.api);
let sum = 0;

const isChosen = ({ name }: { name: string }): boolean => positionals.length === 0 || positionals.includes(name);

/** Writes a picture of what a page shows. */
async function shoot(page: Page, name: string, look: Look): Promise<void> {
  const long = Number(await page.evaluate('document.documentElement.scrollHeight'));
  const file = join(values.out, fileOf(name, look));
  const height = Math.max(HEIGHT, Math.min(long, MAX_PX));
  rmSync(file, { force: true });
  writeFileSync(
    file,
    await page.screenshot({ clip: { x: 0, y: 0, width: look.width, height }, captureBeyondViewport: true }),
  );
  const { size } = statSync(file);
  sum += size;
  process.stdout.write(`${file} ${Math.round(size / 1024)} KB\n`);
}

/** Goes through pages and writes a picture of each, in every look. */
async function shootAll(pages: readonly ShownPage[], acts: readonly Act[] = []): Promise<void> {
  const { admin_email, admin_password } = service.run;
  for (const look of looks) {
    const viewport = { width: look.width, height: HEIGHT };
    const { page } = await openConsole(browser, '/console/login', { ...look, viewport });
    page.setDefaultTimeout(NAVIGATION_MS);
    let isIn = false;
    for (const { name, path, act } of [...pages.map((one) => ({ ...one, act: undefined })), ...acts].filter(isChosen)) {
      if (!PUBLIC.some((one) => one.path === path) && !isIn) {
        await page.goto(`${browser.base}/console/login`);
        await signIn(page, admin_email, admin_password ?? '');
        isIn = true;
      }
      const answer = await page.goto(`${browser.base}${path}`, { waitUntil: 'networkidle0' });
      if (answer?.status() !== 200) throw new Error(`${path} answered ${answer?.status()}`);
      // It redirects to another page, which has its own image.
      if (`${new URL(page.url()).pathname}${new URL(page.url()).search}` !== path) continue;
      if (act) await act(page);
      await shoot(page, name, look);
    }
    await page.browserContext().close();
  }
}

try {
  mkdirSync(values.out, { recursive: true });
  if (isAll) await shootAll(AT_FIRST);
  const { empty, ...busy } = await busyStudy(service.run);
  // The repository has the pages with something in them.
  const subjects = { ...busy, ...(isAll && { empty }) };
  await shootAll([...PUBLIC, ...pagesToShow(subjects)], isAll ? actsOn(subjects) : []);
  process.stdout.write(`${Math.round(sum / 1024)} KB in all.\n`);
} finally {
  await browser.close();
  await service.stop();
  await cleanUp();
}
process.exit(0);
