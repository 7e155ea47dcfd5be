import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';

const COPIED = [
  '.githooks',
  '.editorconfig',
  '.prettierrc.json',
  '.prettierignore',
  'eslint.config.mjs',
  'package.json',
  'tsconfig.json',
  'scripts/check-staged.mjs',
  'scripts/hooks.mjs',
];
const GOOD = `export const answer = (question: string): string => question.trim();\n`;
const UNFORMATTED = `export const answer = (question: string): string => { return question.trim() }\n`;
const FAULTY = `export const answer = (question: any): string => String(question);\n`;

describe('the pre-commit hook', function () {
  let folder: string;
  /** Anyone who commits here: nobody's settings, and none of a git that runs the tests. */
  const env = (more: Record<string, string> = {}): NodeJS.ProcessEnv => {
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_') && name !== 'CI');
    return {
      ...Object.fromEntries(own),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'A Developer',
      GIT_AUTHOR_EMAIL: 'developer@example.org',
      GIT_COMMITTER_NAME: 'A Developer',
      GIT_COMMITTER_EMAIL: 'developer@example.org',
      ...more,
    };
  };
  const run = (command: string, args: string[], more?: Record<string, string>) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, env: env(more), encoding: 'utf8' });
    return { status, output: stdout + stderr };
  };
  const git = (...args: string[]) => run('git', args);
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  const commits = () => Number(git('rev-list', '--all', '--count').output);

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'research-assessment-hook-'));
    for (const path of COPIED) cpSync(join(root, path), join(folder, path), { recursive: true });
    mkdirSync(join(folder, 'api'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    expect(git('init', '--quiet').status).to.equal(0);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is turned on by "npm run hooks", and not in CI', () => {
    const inCi = run(process.execPath, ['scripts/hooks.mjs'], { CI: 'true' });
    expect(inCi.status, inCi.output).to.equal(1);
    expect(git('config', '--get', 'core.hooksPath').output).to.equal('');
    const { status, output } = run(process.execPath, ['scripts/hooks.mjs']);
    expect(status, output).to.equal(0);
    expect(git('config', '--get', 'core.hooksPath').output.trim()).to.equal('.githooks');
  });

  it('refuses a staged file that is not formatted, and says how to fix it', () => {
    write('api/answer.ts', UNFORMATTED);
    git('add', 'api/answer.ts');
    const { status, output } = git('commit', '-m', 'An answer');
    expect(status, output).to.equal(1);
    expect(output).to.contain('Not formatted:\n  api/answer.ts');
    expect(output).to.contain('Run "npx prettier --write api/answer.ts"');
    expect(commits()).to.equal(0);
  });

  it('refuses a staged file that breaks a rule of ESLint', () => {
    write('api/answer.ts', FAULTY);
    git('add', 'api/answer.ts');
    const { status, output } = git('commit', '-m', 'An answer');
    expect(status, output).to.equal(1);
    expect(output).to.contain('@typescript-eslint/no-explicit-any');
    expect(commits()).to.equal(0);
  });

  it('takes a staged file that is well formatted', () => {
    write('api/answer.ts', GOOD);
    git('add', 'api/answer.ts');
    const { status, output } = git('commit', '-m', 'An answer');
    expect(status, output).to.equal(0);
    expect(commits()).to.equal(1);
  });

  it('judges what is staged, not what lies in the folder', () => {
    write('api/other.ts', UNFORMATTED);
    git('add', 'api/other.ts');
    write('api/other.ts', GOOD);
    expect(git('commit', '-m', 'Another answer').status, 'staged unformatted').to.equal(1);
    git('add', 'api/other.ts');
    write('api/other.ts', UNFORMATTED);
    write('api/not-staged.ts', FAULTY);
    const { status, output } = git('commit', '-m', 'Another answer');
    expect(status, output).to.equal(0);
    expect(commits()).to.equal(2);
  });
});
