/**
 * `npm test [-- options] [files]`: prepares the checkout, then runs every test against its own real services
 * (scripts/test/main.ts). The last line is `N passed, N failed`.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { answerHelp, endWithNpm, keepCompiledCode, prepare, requireNode, root, run } from './prepare.mjs';

requireNode();
endWithNpm();
process.chdir(root);

// An answer to a question about the command is no test run.
if (process.argv.includes('--help'))
  await run(async () => {
    await prepare();
    answerHelp((await import(pathToFileURL(join(root, 'dist', 'scripts', 'test', 'options.js')).href)).USAGE);
  });

let stopAsked;
const stopped = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(name, () => {
    stopAsked ??= name;
    stopped.abort();
  });
}

let counts = { passed: 0, failed: 1, skipped: 0 };
try {
  await prepare();
  keepCompiledCode();
  const { runTests } = await import(pathToFileURL(join(root, 'dist', 'scripts', 'test', 'main.js')).href);
  counts = await runTests(process.argv.slice(2), stopped.signal);
} catch (fault) {
  process.stderr.write(`${process.env.DEBUG ? fault.stack : fault.message}\n`);
}
if (stopAsked) process.stderr.write(`stopped by ${stopAsked}\n`);
const { passed, failed, skipped } = counts;
// CI parses this line: nothing else may be on it.
process.stdout.write(`\n${skipped > 0 ? `${skipped} skipped\n` : ''}${passed} passed, ${failed} failed\n`);
process.exit(failed > 0 || stopAsked ? 1 : 0);
