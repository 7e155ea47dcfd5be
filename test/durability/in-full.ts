import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { selectFiles } from '../../scripts/test/files.js';
import { root } from '../support/environment.js';
import { IN_FULL } from '../support/in-full.js';

/** The tests that have a long form, as paths of the checkout. */
export const testsWithLongForm = (): string[] =>
  selectFiles(root, []).filter((file) => readFileSync(join(root, file), 'utf8').includes(`/in-full.js'`));

/** Runs them in it, side by side as `npm test` does. Answers whether they passed. */
export async function runInFull(): Promise<boolean> {
  const child = spawn(process.execPath, [join(root, 'scripts', 'test.mjs'), ...testsWithLongForm()], {
    cwd: root,
    env: { ...process.env, [IN_FULL]: '1' },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
