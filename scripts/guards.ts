/**
 * `npm run test:guards [-- words]`: takes out one guard after another (test/guards), each in a copy of the checkout,
 * and runs the test that shows it. A test that passes without its guard shows nothing: it is named, and the command
 * fails.
 *   words       only guards whose sentence, file or test contains one of them
 *   --lanes N   copies side by side
 *   --part 2/4  only the second quarter
 */
import { parseArgs } from 'node:util';
import { guards } from '../test/guards/guards.js';
import type { Guard } from '../test/guards/guard.js';
import { Copy } from './guards/copy.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { lanes: { type: 'string', default: '1' }, part: { type: 'string', default: '1/1' } },
});
const lanes = Number(values.lanes);
if (!Number.isInteger(lanes) || lanes < 1) throw new Error('--lanes takes a whole number from 1.');
const isMeant = ({ refuses, file, test }: Guard): boolean =>
  positionals.length === 0 || positionals.some((word) => `${refuses}\n${file}\n${test}`.includes(word));
const [part, parts] = values.part.split('/').map(Number) as [number, number];
const meant = guards.filter(isMeant);
const queue = meant.filter((_, index) => Math.floor((index * parts) / meant.length) === part - 1);
const total = queue.length;
if (total === 0) throw new Error('No guard is meant by that.');

const stopped = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopped.abort());
let done = 0;
const missed: Guard[] = [];

async function work(): Promise<void> {
  const copy = new Copy(stopped.signal);
  try {
    for (let guard = queue.shift(); guard !== undefined && !stopped.signal.aborted; guard = queue.shift()) {
      const began = performance.now();
      const { seen, output } = await copy.without(guard);
      if (stopped.signal.aborted) return;
      if (seen !== 'failed') missed.push(guard);
      done += 1;
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      const mark = seen === 'failed' ? '✔' : '✘';
      process.stdout.write(`[${done}/${total}] ${mark} ${guard.refuses}: its test ${seen} without it (${seconds} s)\n`);
      if (seen !== 'failed') process.stdout.write(`    ${guard.test} › ${guard.title}\n${output}\n`);
    }
  } finally {
    copy.remove();
  }
}

await Promise.all(Array.from({ length: Math.min(lanes, total) }, work));
process.stdout.write(`\n${done - missed.length} guards are shown by a test, ${missed.length} are not\n`);
process.exit(missed.length > 0 || stopped.signal.aborted ? 1 : 0);
