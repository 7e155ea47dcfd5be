/**
 * The pre-commit hook: checks format (Prettier) and rules (ESLint) of the staged files in their staged state. A file
 * whose staged text equals the one on the disk is linted with the cache of `npm run lint`.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = process.cwd();
const LINTED = /\.(ts|mjs|cjs|js)$/;

try {
  process.exitCode = await check();
} catch (fault) {
  const missing = fault.code === 'ERR_MODULE_NOT_FOUND' ? ' Run "npm ci" first.' : '';
  console.error(`pre-commit: the staged files could not be checked: ${fault.message}${missing}`);
  process.exitCode = 1;
}

/** @returns {Promise<number>} the exit code */
async function check() {
  const staged = namesOf('diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z');
  if (staged.length === 0) return 0;
  const differs = new Set(namesOf('diff', '--name-only', '-z'));
  const textOf = (path) => git('show', `:${path}`);
  const [unformatted, faults] = await Promise.all([unformattedOf(staged, textOf), lint(staged, differs, textOf)]);
  if (faults) console.error(faults);
  if (unformatted.length > 0) console.error(`Not formatted:\n${unformatted.map((path) => `  ${path}`).join('\n')}\n`);
  if (!faults && unformatted.length === 0) return 0;
  const fix =
    unformatted.length > 0 ? `Run "npx prettier --write ${unformatted.join(' ')}"` : 'Fix what is named above';
  console.error(`pre-commit: the commit was refused. ${fix}, "git add" the files and commit again.`);
  return 1;
}

async function unformattedOf(staged, textOf) {
  const prettier = await import('prettier');
  const found = [];
  for (const path of staged) {
    const { ignored, inferredParser } = await prettier.getFileInfo(path, { ignorePath: '.prettierignore' });
    if (ignored || inferredParser === null) continue;
    const options = await prettier.resolveConfig(join(root, path), { editorconfig: true });
    // A text that can't be parsed counts as unformatted; ESLint reports the place.
    const formatted = await prettier.check(textOf(path), { ...options, filepath: path }).catch((fault) => {
      if (fault.name === 'SyntaxError') return false;
      throw fault;
    });
    if (!formatted) found.push(path);
  }
  return found;
}

/** @returns {Promise<string>} the output of ESLint; empty without faults */
async function lint(staged, differs, textOf) {
  const { ESLint } = await import('eslint');
  const eslint = new ESLint({ cwd: root, cache: true, cacheLocation: '.cache/eslint' });
  const paths = [];
  for (const path of staged.filter((one) => LINTED.test(one)))
    if (!(await eslint.isPathIgnored(path))) paths.push(path);
  const whole = paths.filter((path) => !differs.has(path));
  const results = whole.length > 0 ? await eslint.lintFiles(whole) : [];
  for (const path of paths.filter((one) => differs.has(one)))
    results.push(...(await eslint.lintText(textOf(path), { filePath: path })));
  const errors = ESLint.getErrorResults(results);
  return errors.length === 0 ? '' : (await eslint.loadFormatter('stylish')).format(errors);
}

function namesOf(...args) {
  return git(...args)
    .split('\0')
    .filter((name) => name !== '');
}

function git(...args) {
  const { status, stdout, stderr, error } = spawnSync('git', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (error) throw error;
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}
