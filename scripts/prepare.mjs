import { dirname, join } from 'node:path';
import { existsSync, readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from './compile.mjs';
import { ensureInstalled } from './ensure-install.mjs';
import { say } from './progress.mjs';
import { withSetupLock } from './setup-lock.mjs';

// A namespace import, since Node.js 20 lacks it.
const { enableCompileCache } = nodeModule;

/** The checkout. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Held during installing and building. */
export const setupLock = join(root, '.cache', 'setup.lock');

/** Loads .env; the real environment has priority, even with an empty value. */
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

/**
 * Caches compiled code for the next start, of this process and its children: a quarter less processor time until an API
 * is ready. Requires Node.js 22; older versions go without.
 */
export function keepCompiledCode() {
  const folder = (process.env.NODE_COMPILE_CACHE ??= join(root, '.cache', 'compiled'));
  enableCompileCache?.(folder);
}

/** If the work fails, ends the process with one message instead of a stack. */
export async function run(work) {
  try {
    await work();
  } catch (fault) {
    // Open connections and timers must not keep the process alive.
    process.stderr.write(`${process.env.DEBUG ? fault.stack : fault.message}\n`, () => process.exit(1));
  }
}

/** Prints how a command is called, and ends it, where `--help` asks for that. @param {string} usage */
export function answerHelp(usage) {
  if (!process.argv.slice(2).includes('--help')) return;
  console.log(usage);
  process.exit(0);
}

/**
 * @param {string} usage of a command that takes no arguments
 * @throws Error for an argument: it must not be passed over as if it counted
 */
export function refuseArguments(usage) {
  const [given] = process.argv.slice(2);
  answerHelp(`Usage: ${usage}`);
  if (given !== undefined) throw new Error(`Unknown argument ${JSON.stringify(given)}. Usage: ${usage}`);
}

/** Refuses an unsupported version of Node, before any newer feature is used. */
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
 * npm runs a script through a shell, and a SIGTERM to npm ends npm and that shell but never reaches us. When the parent
 * is gone, this process stops as well.
 */
export function endWithNpm() {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
  }, 250).unref();
}
