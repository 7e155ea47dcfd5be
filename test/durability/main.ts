/**
 * `npm run test:durability [-- --participants N --seed N | --seeds A..B]`: whole lives of participants while processes
 * are killed, frozen and cut off from each other; then everything that was acknowledged must be there, once.
 * `-- --temporal postgres`: on the Temporal server of production, with a PostgreSQL of its own, which dies as well.
 * `-- --kills N`: acknowledged facts, each read back after API or PostgreSQL were killed.
 * `-- --upgrade-from REVISION`: the programs of an earlier release are brought up to this one under traffic.
 * `-- --in-full`: the tests of `npm test` that have a long form, in it.
 */
import { parseArgs } from 'node:util';
import { cleanUp } from '../support/service.js';
import { countsOf } from './ledger.js';
import { BRISK, STEADY } from './faults.js';
import { runInFull } from './in-full.js';
import { killRun } from './kills.js';
import { chaosRun } from './run.js';
import { upgradeRun } from './upgrade-run.js';

const { values } = parseArgs({
  options: {
    participants: { type: 'string', default: '1000' },
    clients: { type: 'string', default: '16' },
    apis: { type: 'string', default: '2' },
    workers: { type: 'string', default: '2' },
    seed: { type: 'string' },
    seeds: { type: 'string' },
    kills: { type: 'string' },
    'upgrade-from': { type: 'string' },
    pace: { type: 'string', default: 'steady' },
    temporal: { type: 'string', default: 'embedded' },
    quiet: { type: 'boolean', default: false },
    'in-full': { type: 'boolean', default: false },
  },
});
const print = (line: string) => process.stdout.write(`${line}\n`);
const say = values.quiet ? () => undefined : print;
const [first, last] = (values.seeds ?? '').split('..').map(Number);
const seeds =
  values.seeds === undefined
    ? [Number(values.seed ?? Date.now() % 1_000_000)]
    : Array.from({ length: last! - first! + 1 }, (_, i) => first! + i);
if (seeds.length === 0 || seeds.some((seed) => !Number.isInteger(seed)))
  throw new Error('--seed is a whole number, --seeds two of them: 1..10');

process.once('SIGINT', () => {
  void cleanUp().then(() => process.exit(130));
});
process.once('SIGTERM', () => {
  void cleanUp().then(() => process.exit(143));
});
if (values['in-full']) process.exit((await runInFull()) ? 0 : 1);
let failed = 0;
try {
  const from = values['upgrade-from'];
  if (from !== undefined) {
    const { applied, requests, resent, faults } = await upgradeRun({ from, say });
    print(
      `upgrade from ${from}: ${faults.length === 0 ? 'seen by nobody' : `${faults.length} faults`}; ` +
        `${applied.length} migrations, ${requests} requests, ${resent} sent again`,
    );
    for (const fault of faults.slice(0, 50)) print(`  ${fault}`);
    failed += faults.length > 0 ? 1 : 0;
  } else
    for (const seed of seeds) {
      if (values.kills !== undefined) {
        const { kills, faults } = await killRun({ seed, kills: Number(values.kills), say });
        print(
          `seed ${seed}: ${kills.api} kills of the API, ${kills.postgres} of PostgreSQL: ` +
            `${faults.length === 0 ? 'nothing lost' : `${faults.length} faults`}`,
        );
        for (const fault of faults) print(`  ${fault}`);
        failed += faults.length > 0 ? 1 : 0;
        continue;
      }
      const report = await chaosRun({
        seed,
        participants: Number(values.participants),
        clients: Number(values.clients),
        apis: Number(values.apis),
        workers: Number(values.workers),
        pace: values.pace === 'brisk' ? BRISK : STEADY,
        temporal: values.temporal === 'postgres' ? 'postgres' : 'embedded',
        say,
      });
      const { requests, seconds, faults } = report;
      print(
        `seed ${seed}: ${faults.length === 0 ? 'passed' : `${faults.length} faults`}; acknowledged ` +
          `${countsOf(report.ledger)}; ${requests.requests} requests, ${requests.unanswered} unanswered, ` +
          `${requests.unavailable} times 503; traffic ${seconds.traffic.toFixed(0)} s, then ` +
          `${seconds.converging.toFixed(0)} s`,
      );
      print(
        `  ${Object.entries(report.inflicted)
          .map(([what, n]) => `${what} ${n}`)
          .sort()
          .join(', ')}`,
      );
      for (const fault of faults.slice(0, 50)) print(`  ${fault}`);
      failed += faults.length > 0 ? 1 : 0;
    }
} finally {
  await cleanUp();
}
process.exit(failed > 0 ? 1 : 0);
