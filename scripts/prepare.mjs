import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './compile.mjs';
import { ensureInstalled } from './ensure-install.mjs';
import { say } from './progress.mjs';
import { withSetupLock } from './setup-lock.mjs';

/** The checkout. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Held by whoever installs packages or builds. */
export const setupLock = join(root, '.cache', 'setup.lock');

/** Settings in .env count where the real environment does not name them (an empty one does name it). */
export function loadEnvFile() {
  const file = join(root, '.env');
  if (existsSync(file)) process.loadEnvFile(file);
}

/**
 * Brings a fresh or changed checkout to where its programs run: packages installed, dist built.
 * @returns {Promise<boolean>} whether something had to be built
 */
export function prepare() {
  return withSetupLock(
    setupLock,
    async () => {
      await ensureInstalled(root);
      return build(root);
    },
    say,
  );
}

/** Ends the process with one message, not a stack, when the work fails. */
export async function run(work) {
  try {
    await work();
  } catch (fault) {
    process.stderr.write(`${process.env.DEBUG ? fault.stack : fault.message}\n`);
    process.exitCode = 1;
  }
}

/** Node's version is looked at before anything newer than that version is used. */
export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  process.stderr.write(`Node.js 20.19 or newer is needed; this is ${process.versions.node} (${process.execPath}).\n`);
  process.exit(1);
}

/**
 * npm runs a script through a shell, and a SIGTERM to npm ends npm and that shell but never reaches us. When the
 * parent is gone the signal was meant for us as well.
 */
export function endWithNpm() {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
  }, 250).unref();
}
