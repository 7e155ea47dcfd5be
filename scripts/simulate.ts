/**
 * Simulates a study from a policy file, without a server:
 * `npm run simulate -- policy.json [--participants 1000 --months 24 --seed 1 --start 2026-01-01 --out folder]`.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isDate } from '../workflows/domain/util/dates.js';
import { plotNames, plotSvg } from '../api/simulation/plots.js';
import type { SimulationResult } from '../workflows/domain/simulation/result.js';
import { simulateAtOnce } from '../workflows/domain/simulation/run.js';
import { usableFolder } from './runtime/data-dir.js';
import { asProgram } from './runtime/program.js';
import { readStudyFile } from './simulate/study-file.js';

const usage =
  'Usage: npm run simulate -- policy.json [--participants 1000] [--months 24] [--seed 1] [--start YYYY-MM-DD] ' +
  '[--out folder]';
/** The default start: in a leap year, so that its day is included. */
const FIRST_DAY = '2028-01-01';

await asProgram(main, usage);

function main(): void {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { participants: text, months: text, seed: text, start: text, out: text },
  });
  const [path] = positionals;
  if (path === undefined || positionals.length > 1) throw new Error(usage);
  const { inputs, start_date, notes } = readStudyFile(resolve(path));
  const start = values.start ?? start_date ?? FIRST_DAY;
  if (!isDate(start)) throw new Error(`--start must be a date, YYYY-MM-DD, not ${start}.`);
  const order = {
    participants: whole('participants', values.participants, 1000, 1, 100_000),
    months: whole('months', values.months, 24, 1, 120),
    seed: whole('seed', values.seed, 1, 0, Number.MAX_SAFE_INTEGER),
    start_date: start,
  };
  // Before a calculation that may take long.
  const folder = values.out === undefined ? undefined : resolve(values.out);
  if (folder !== undefined) usableFolder('--out', folder, 0o777);
  const began = performance.now();
  const result = simulateAtOnce({ ...inputs, ...order });
  const seconds = (performance.now() - began) / 1000;
  const json = JSON.stringify(result);
  for (const note of notes) console.log(note);
  console.log(
    `${order.participants} participants × ${order.months} months from ${start} in ${seconds.toFixed(1)} s ` +
      `(seed ${order.seed}, ${result.simulation.scheduling_mode} scheduling)`,
  );
  for (const [what, value] of summary(result)) console.log(`  ${what.padEnd(38)}${value}`);
  console.log(`  ${'SHA-256 of the result'.padEnd(38)}${createHash('sha256').update(json).digest('hex')}`);
  if (folder === undefined) {
    console.log('Name a folder with --out for the whole result as JSON and its plots.');
    return;
  }
  writeFileSync(join(folder, 'simulation.json'), `${json}\n`);
  for (const name of plotNames) writeFileSync(join(folder, `${name}.svg`), plotSvg(name, result));
  console.log(`simulation.json and ${plotNames.length} plots are in ${folder}.`);
}

function summary({
  totals,
  adherence,
  missed_windows,
  reanchorings,
  clashes,
  anchors,
}: SimulationResult): [string, string | number][] {
  const { participants: p, visits: v } = totals;
  const percent = (share: number | null) => (share === null ? 'none due' : `${(share * 100).toFixed(1)} %`);
  return [
    ['dates final / provisional / unset', `${p.finalized} / ${p.provisional} / ${p.unset}`],
    ['withdrawn', p.withdrawn],
    ['visits generated, of these replaced', `${v.generated}, ${v.superseded}`],
    ['adherence (inside the window)', percent(adherence.rate)],
    [
      'missed windows (late, never)',
      `${missed_windows.total} (${missed_windows.done_late}, ${missed_windows.never_done})`,
    ],
    ['frozen by withdrawal, still to come', `${v.frozen_by_withdrawal}, ${v.pending_at_end}`],
    [
      'overrides granted, denied, refused',
      `${reanchorings.granted}, ${reanchorings.denied + reanchorings.expired}, ${reanchorings.refused}`,
    ],
    ['targets on weekends, on holidays', `${clashes.targets_on_weekend}, ${clashes.targets_on_holiday}`],
    ['targets moved to a working day', clashes.shifted_to_working_day],
    [
      'days from arrival to a final date',
      anchors.days_from_arrival_to_final
        ? `median ${anchors.days_from_arrival_to_final.median}, at most ${anchors.days_from_arrival_to_final.max}`
        : 'none',
    ],
  ];
}

function whole(name: string, given: string | undefined, byDefault: number, least: number, most: number): number {
  const value = given === undefined ? byDefault : Number(given);
  if (!Number.isInteger(value) || value < least || value > most)
    throw new Error(`--${name} must be a whole number from ${least} to ${most}, not ${given}.`);
  return value;
}
