/**
 * `npm run console:screenshots`: starts a service with a study in progress, logs in and writes a screenshot of every
 * console page to docs/console/. `-- --all` adds both themes, three widths and both languages; `--out FOLDER` writes
 * elsewhere; `-- inbox users` selects pages.
 */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pagesToShow } from '../test/console/pages.js';
import { ConsoleBrowser, openConsole, signIn } from '../test/console/browser.js';
import { cleanUp, startService } from '../test/support/service.js';
import { busyStudy } from './console/busy-study.js';

const WIDTHS = [360, 768, 1280];
const HEIGHT = 900;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, out: { type: 'string', default: join('docs', 'console') } },
});

/** An image in the repository shows the beginning of a long page, and is small. */
const MAX_PX = values.all ? 2_400 : HEIGHT;

interface Look {
  theme: 'light' | 'dark';
  language: 'en' | 'de';
  width: number;
}
const usual: Look = { theme: 'light', language: 'en', width: 1024 };
const looks: Look[] = values.all
  ? (['light', 'dark'] as const).flatMap((theme) =>
      (['en', 'de'] as const).flatMap((language) => WIDTHS.map((width) => ({ theme, language, width }))),
    )
  : [usual];
/** The default look has the page's name only. */
const fileOf = (name: string, look: Look): string =>
  values.all ? `${name}-${look.theme}-${look.language}-${look.width}.png` : `${name}.png`;

process.once('SIGINT', () => {
  void cleanUp().then(() => process.exit(130));
});
const service = await startService({ RATE_LIMIT_PER_MINUTE: '100000', AUTH_RATE_LIMIT_PER_MINUTE: '100000' });
const browser = await ConsoleBrowser.start(service.run.api);
let sum = 0;
try {
  const { admin_email, admin_password } = service.run;
  const subjects = await busyStudy(service.run);
  const pages = [{ name: 'login', path: '/console/login' }, ...pagesToShow(subjects)].filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  mkdirSync(values.out, { recursive: true });
  for (const look of looks) {
    const viewport = { width: look.width, height: HEIGHT };
    const { page } = await openConsole(browser, '/console/login', { ...look, viewport });
    let isIn = false;
    for (const { name, path } of pages) {
      if (path !== '/console/login' && !isIn) {
        await page.goto(`${browser.base}/console/login`);
        await signIn(page, admin_email, admin_password ?? '');
        isIn = true;
      }
      const answer = await page.goto(`${browser.base}${path}`, { waitUntil: 'networkidle0' });
      if (answer?.status() !== 200) throw new Error(`${path} answered ${answer?.status()}`);
      // It redirects to another page, which has its own image.
      if (new URL(page.url()).pathname !== path) continue;
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
    await page.browserContext().close();
  }
  process.stdout.write(`${Math.round(sum / 1024)} KB in all.\n`);
} finally {
  await browser.close();
  await service.stop();
  await cleanUp();
}
process.exit(0);
