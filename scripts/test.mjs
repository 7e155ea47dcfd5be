/**
 * `npm test [-- files or mocha options]`: one service on free ports and a throw-away folder, every test against it,
 * everything removed again. The last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endWithNpm, prepare, requireNode, root } from './prepare.mjs';
import { say, step } from './progress.mjs';

requireNode();
endWithNpm();
process.chdir(root);
/** After the last test, how long whatever a test has left open may hold the process. */
const OPEN_HANDLES_PATIENCE = 15_000;
/** Of each log of the shared service, shown with each test that fails. */
const LAST_LINES = 15;
const FOLDERS = 'research-assessment-';
const OWNER = 'owner.json';

let stopAsked;
const stopped = new Promise((resolve) => {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(name, () => {
      stopAsked ??= name;
      resolve(name);
    });
  }
});

let counts = { passes: 0, failures: 1, pending: 0 };
try {
  await prepare();
  counts = await runTests(process.argv.slice(2));
} catch (fault) {
  process.stderr.write(`${fault.message}\n`);
}
if (stopAsked) process.stderr.write(`stopped by ${stopAsked}\n`);
const { passes, failures, pending } = counts;
// The count of CI stands alone on its line.
process.stdout.write(`\n${pending > 0 ? `${pending} skipped\n` : ''}${passes} passed, ${failures} failed\n`);
process.exit(failures > 0 || stopAsked ? 1 : 0);

async function runTests(args) {
  const support = (file) => import(pathToFileURL(join(root, 'dist', 'test', 'support', file)).href);
  const { startService, cleanUp, removeDataRoot } = await support('service.js');
  const { testEnvironment } = await support('environment.js');
  const { identify, lives } = await import(
    pathToFileURL(join(root, 'dist', 'scripts', 'runtime', 'processes.js')).href
  );
  await removeAbandoned(lives, removeDataRoot);
  const folder = mkdtempSync(join(tmpdir(), FOLDERS));
  writeFileSync(join(folder, OWNER), JSON.stringify(identify(process.pid)));
  // As root, PostgreSQL runs as another user and must be able to pass through.
  chmodSync(folder, 0o711);
  process.env.TEST_DATA_ROOT = folder;
  try {
    const starting = step('starting the service for the tests', () => startService());
    const service = await Promise.race([starting, stopped.then(() => undefined)]);
    if (!service || stopAsked) {
      // It ends with cleanUp; that it then did not become ready is no news.
      starting.catch((fault) => say(`the service was stopped: ${fault.message.split('\n')[0]}`));
      return { passes: 0, failures: 0, pending: 0 };
    }
    const env = { ...testEnvironment(), TEST_DATA_ROOT: folder, TEST_RUN_JSON: join(service.dataDir, 'run.json') };
    return await mocha(args, env, () => lastWords(join(service.dataDir, 'logs')));
  } finally {
    await cleanUp();
    await removeDataRoot(folder);
  }
}

/** Folders of a run that was killed with SIGKILL, which nobody could have removed. */
async function removeAbandoned(lives, removeDataRoot) {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(FOLDERS))) {
    const owner = join(tmpdir(), name, OWNER);
    if (existsSync(owner) && !lives(JSON.parse(readFileSync(owner, 'utf8'))))
      await removeDataRoot(join(tmpdir(), name));
  }
}

/** The last warnings and faults in the service's own logs, which hold neither personal data nor secrets. */
function lastWords(folder) {
  return ['worker', 'api']
    .flatMap((part) => {
      const lines = readFileSync(join(folder, `${part}.log`), 'utf8')
        .trimEnd()
        .split('\n');
      return lines
        .filter((line) => /^{"level":[456]0\b/.test(line))
        .slice(-LAST_LINES)
        .map((line) => `${part}: ${line}`);
    })
    .join('\n');
}

async function mocha(args, env, said) {
  const files = args.some((arg) => /\.ts$/.test(arg)) ? [] : ['test/**/*.test.ts'];
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      join(root, 'node_modules', 'mocha', 'bin', '_mocha'),
      '--reporter',
      join(root, 'scripts', 'test-reporter.cjs'),
      ...(process.env.CI ? ['--forbid-only'] : []),
      ...args,
      ...files,
    ],
    { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] },
  );
  let told;
  let patience;
  child.on('message', (message) => {
    if (message.failed) {
      process.stderr.write(`--- the service, ${new Date().toISOString()} ---\n${said()}\n---\n`);
      return;
    }
    told = message;
    patience = setTimeout(() => {
      process.stderr.write(
        '\nThe tests are over, but something they opened keeps their process alive: a test does not close what it opens.\n',
      );
      told = { ...told, failures: told.failures + 1 };
      child.kill('SIGKILL');
    }, OPEN_HANDLES_PATIENCE);
  });
  void stopped.then(() => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), 3000).unref();
  });
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', resolve);
  });
  clearTimeout(patience);
  // A file that does not load ends mocha before there is anything to count.
  return told ?? { passes: 0, failures: code === 0 ? 0 : 1, pending: 0 };
}
