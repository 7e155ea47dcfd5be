import { dirname, join } from 'node:path';
import { existsSync, readFileSync } from 'node:fs';
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

/** Refuses a version of Node that is not supported, before anything is used that it may not have. */
export function requireNode() {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const refusal = nodeRefusal(process.versions.node, engines.node);
  if (refusal === undefined) return;
  process.stderr.write(`${refusal} (${process.execPath}).\n`);
  process.exit(1);
}

/**
 * @param {string} version of Node
 * @param {string} engines what package.json names, as "^20.19.0 || ^24.0.0"
 * @returns {string | undefined} why this version is refused, without a full stop
 */
export function nodeRefusal(version, engines) {
  const supported = engines.split('||').map((range) => range.trim().slice(1).split('.').map(Number));
  const [major, minor] = version.split('.').map(Number);
  if (supported.some(([line, least]) => major === line && minor >= least)) return undefined;
  const names = supported.map(([line, least]) => (least > 0 ? `${line} (${line}.${least} or newer)` : String(line)));
  return `Node.js ${names.slice(0, -1).join(', ')} or ${names.at(-1)} is needed; this is ${version}`;
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
