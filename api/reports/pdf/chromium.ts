import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, constants, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { h } from 'preact';
import { renderPart } from '../../../activities/html/render.js';

/** A browser that can be started: its program and environment. */
export interface Chromium {
  path: string;
  env: Record<string, string>;
  args: string[];
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'];
const PACKAGE = '@sparticuz/chromium';
const VERSION = '147.0.0';
const run = promisify(execFile);

/**
 * Finds the browser for printing: CHROMIUM_PATH, else one on the PATH, else the one inside an npm package.
 * @param cacheDir where the package's program is unpacked, once for all processes
 * @throws Error in one sentence when none exists
 */
export async function findChromium(configured: string | undefined, cacheDir: string): Promise<Chromium> {
  // Root can't use the sandbox's user namespace. Only our own page is printed, without scripts.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  if (configured !== undefined) {
    if (!(await runs(configured))) throw new Error(`CHROMIUM_PATH ${configured} is no program that can be run.`);
    return { path: configured, env: {}, args };
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    for (const name of NAMES) if (await runs(join(folder, name))) return { path: join(folder, name), env: {}, args };
  }
  return packagedChromium(cacheDir);
}

/** The browser inside the npm package: without a screen, quick to start and light. */
export async function packagedChromium(cacheDir: string): Promise<Chromium> {
  const folder = await unpacked(cacheDir);
  return {
    path: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
    args: ['--no-sandbox', '--no-zygote', '--headless=shell'],
  };
}

const runs = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/**
 * The folder with the package's browser and its libraries. The package itself unpacks into the system's shared
 * temporary folder, under a name that anyone may have taken: instead a separate process (since it changes its
 * environment) unpacks into a folder of our own, which is renamed atomically when it is complete.
 */
async function unpacked(cacheDir: string): Promise<string> {
  const parent = await mkdir(cacheDir, { recursive: true })
    .then(() => access(cacheDir, constants.W_OK))
    .then(
      () => cacheDir,
      () => undefined,
    );
  const folder = join(parent ?? (await mkdtemp(join(tmpdir(), 'chromium-'))), `chromium-${VERSION}`);
  if (existsSync(join(folder, 'chromium'))) return folder;
  const work = `${folder}.${process.pid}`;
  await mkdir(work, { recursive: true, mode: 0o755 });
  try {
    // VERCEL must be set before the import: only then the package adds its libraries.
    const program = `const { default: chromium } = await import('${PACKAGE}'); await chromium.executablePath();`;
    await run(process.execPath, ['--input-type=module', '-e', program], {
      cwd: dirname(fileURLToPath(import.meta.url)),
      env: { ...process.env, NODE_OPTIONS: '', TMPDIR: work, VERCEL: '1' },
      timeout: 120_000,
    });
    await writeFile(join(work, 'fonts', 'fonts.conf'), fontsOf(folder));
    await rename(work, folder).catch((fault: NodeJS.ErrnoException) => {
      // Another process was first.
      if (!existsSync(join(folder, 'chromium'))) throw fault;
    });
  } catch (fault) {
    throw new Error(
      `There is no browser to print with: set CHROMIUM_PATH, or install ${PACKAGE} ` +
        `(${(fault as Error).message.split('\n')[0]}).`,
      { cause: fault },
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

/**
 * The package's browser looks for its fonts in folders of another system; a browser without any fonts prints no text,
 * not even in a page's own fonts.
 */
const fontsOf = (folder: string): string => {
  const places = [h('dir', null, join(folder, 'fonts')), h('cachedir', null, join(folder, 'fonts-cache'))];
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
${renderPart(h('fontconfig', null, ...places))}
`;
};
