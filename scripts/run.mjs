/** `node scripts/run.mjs <program> [arguments]`: prepares the checkout, then runs dist/<program>.js in this process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { answerHelp, endWithNpm, keepCompiledCode, loadEnvFile, prepare, requireNode, root, run } from './prepare.mjs';

requireNode();
endWithNpm();
await run(async () => {
  const [program, ...args] = process.argv.slice(2);
  if (!program) throw new Error('Usage: node scripts/run.mjs <program without extension> [arguments]');
  process.chdir(root);
  if (args.includes('--help')) answerWhatItIs(program);
  loadEnvFile();
  await prepare();
  const file = join(root, 'dist', `${program}.js`);
  process.setSourceMapsEnabled(true);
  keepCompiledCode();
  // The program sees itself as the called one.
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
});

/**
 * Answers `--help` for a program that has no usage line of its own: with its first comment, which says what it does and
 * how it is called. Such a program would run, or end with a fault of its options.
 * @param {string} program
 */
function answerWhatItIs(program) {
  const source = readFileSync(join(root, `${program}.ts`), 'utf8');
  if (/runtime\/program\.js'|--help/.test(source)) return;
  const [comment = ''] = /\/\*\*[^]*?\*\//.exec(source) ?? [];
  answerHelp(comment.replaceAll(/^\/\*\*\s*\*?\s*|\s*\*\/$/g, '').replaceAll(/^ \* ?/gm, ''));
}
