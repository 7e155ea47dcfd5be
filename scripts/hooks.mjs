/**
 * `npm run hooks`: enables the hooks of .githooks in this clone. They are never enabled automatically, least of all in
 * CI.
 */
import { spawnSync } from 'node:child_process';

const FOLDER = '.githooks';

function git(...args) {
  const { status, stdout, stderr, error } = spawnSync('git', args, { encoding: 'utf8' });
  if (error) throw new Error(`git could not be started: ${error.message}`);
  return { status, text: stdout.trim(), fault: stderr.trim() };
}

function turnOn() {
  if (process.argv.length > 2) throw new Error(`Unknown argument ${process.argv[2]}. Usage: npm run hooks`);
  if (process.env.CI) throw new Error('Hooks are for people who commit: with CI set they are not turned on.');
  const present = git('config', '--get', 'core.hooksPath').text;
  if (present === FOLDER) return `The hooks of ${FOLDER} are on already.`;
  if (present !== '')
    throw new Error(
      `core.hooksPath is set to ${present}: call "node scripts/check-staged.mjs" from your own pre-commit hook there.`,
    );
  const { status, fault } = git('config', 'core.hooksPath', FOLDER);
  if (status !== 0) throw new Error(`git config failed: ${fault}`);
  return `The hooks of ${FOLDER} are on. "git config --unset core.hooksPath" turns them off.`;
}

try {
  console.log(turnOn());
} catch (fault) {
  console.error(fault.message);
  process.exitCode = 1;
}
