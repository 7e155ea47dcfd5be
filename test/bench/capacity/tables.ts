import { between, machine } from '../document.js';
import type { Part, Spent } from '../processor.js';
import type { Simulated } from './queue.js';

export type KindName = 'anchor' | 'trigger' | 'submission' | 'page';
export interface Cost extends Spent {
  name: KindName;
}
interface Times {
  p50: number;
  p99: number;
}
export interface Run {
  perDay: number;
  /** Share of all cores, measured and simulated. */
  used: number;
  usedSimulated: number;
  databaseMsPerSecond: number;
  connections: number;
  answers: { name: KindName; measured: Times; simulated: Times }[];
}
export interface Capacity {
  costs: Cost[];
  runs: Run[];
  simulated: ({ perDay: number } & Simulated)[];
  /** PostgreSQL's milliseconds of processor time a second: what is always there, and what a participant a day adds. */
  databaseMs: { fixed: number; each: number };
}

/**
 * How often each is asked for in a participant's life: enrolled by a trigger, its date decided once, ten sessions of a
 * thousand trials, and thirty looks of staff.
 */
export const LIFE: Readonly<Record<KindName, number>> = { trigger: 1, anchor: 1, submission: 10, page: 30 };
/** Of a day's work, what comes in its busiest hour. */
export const PEAK_SHARE = 0.2;
/** Participants a day. */
export const SIZES = [10, 1_000, 100_000] as const;

/** Cores are bought so that in the busiest hour so much of their time is used. */
const USED_AT_MOST = 0.6;
const PARTS: readonly Part[] = ['api', 'worker', 'temporal', 'postgres'];
const NAMES: Record<KindName, string> = {
  trigger: 'trigger that enrolls',
  anchor: 'date decided',
  submission: 'submission of 1,000 trials',
  page: 'page of a list',
};
const PART_NAMES: Record<Part, string> = { api: 'API', worker: 'worker', temporal: 'Temporal', postgres: 'PostgreSQL' };

/** Puts the tables into docs/capacity.md. */
export function writeCapacity(capacity: Capacity): void {
  const table = (name: string, rows: string[]) =>
    between(
      'capacity.md',
      `<!-- ${name}: written by npm run bench -- CAPACITY --write -->`,
      `<!-- ${name}: end -->`,
      () => [`Measured on: ${machine()}.`, '', ...rows],
    );
  table('costs', costRows(capacity));
  table('sizes', sizeRows(capacity));
  table('runs', runRows(capacity));
  table('database', databaseRows(capacity));
}

function costRows({ costs }: Capacity): string[] {
  return [
    `| one of | in a life | ${PARTS.map((part) => `${PART_NAMES[part]}, ms`).join(' | ')} | WAL | disk |`,
    `|---|---|${PARTS.map(() => '---|').join('')}---|---|`,
    ...costs.map(
      ({ name, by, walBytes, diskBytes }) =>
        `| ${NAMES[name]} | ${LIFE[name]} | ${PARTS.map((part) => by[part].toFixed(1)).join(' | ')} | ${bytes(walBytes)} | ${bytes(diskBytes)} |`,
    ),
    `| **a life** | | ${PARTS.map((part) => lifeOf(costs, ({ by }) => by[part]).toFixed(0)).join(' | ')} | ${bytes(lifeOf(costs, ({ walBytes }) => walBytes))} | ${bytes(lifeOf(costs, ({ diskBytes }) => diskBytes))} |`,
  ];
}

const lifeOf = (costs: readonly Cost[], of: (cost: Cost) => number): number =>
  costs.reduce((sum, cost) => sum + of(cost) * LIFE[cost.name], 0);

function sizeRows({ costs, simulated }: Capacity): string[] {
  const cores = (perDay: number, part: Part) =>
    (perDay * PEAK_SHARE * lifeOf(costs, ({ by }) => by[part])) / 3_600_000 / USED_AT_MOST;
  return [
    `| participants a day | cores in the busiest hour: ${PARTS.map((part) => PART_NAMES[part]).join(', ')} | WAL a second, busiest hour | disk a year | usual and slow answers simulated on two cores |`,
    '|---|---|---|---|---|',
    ...simulated.map(({ perDay, answers, used, isFull }) => {
      const perSecond = (perDay * PEAK_SHARE) / 3_600;
      return `| ${perDay.toLocaleString('en')} | ${PARTS.map((part) => cores(perDay, part).toPrecision(2)).join(', ')} | ${bytes(perSecond * lifeOf(costs, ({ walBytes }) => walBytes))} | ${bytes(perDay * 365 * lifeOf(costs, ({ diskBytes }) => diskBytes))} | ${isFull ? `more comes than two cores work off (${percent(used)} used)` : `${answersOf(answers)} (${percent(used)} used)`} |`;
    }),
  ];
}

/** Where hardly anything comes, nobody waits for another. */
const answersOf = (answers: Simulated['answers']): string =>
  answers.every(({ p99 }) => Number.isFinite(p99))
    ? answers.map(({ name, p50, p99 }) => `${name} ${ms(p50)} and ${ms(p99)} ms`).join(', ')
    : 'each is alone: nobody waits';

function runRows({ runs }: Capacity): string[] {
  return [
    '| participants a day | what | measured: usual, slow (ms) | simulated: usual, slow (ms) | cores used: measured, simulated | connections |',
    '|---|---|---|---|---|---|',
    ...runs.flatMap(({ perDay, answers, used, usedSimulated, connections }) =>
      answers.map(
        ({ name, measured, simulated }, i) =>
          `| ${i === 0 ? perDay.toLocaleString('en') : ''} | ${NAMES[name]} | ${ms(measured.p50)}, ${ms(measured.p99)} | ${ms(simulated.p50)}, ${ms(simulated.p99)} | ${i === 0 ? `${percent(used)}, ${percent(usedSimulated)}` : ''} | ${i === 0 ? connections : ''} |`,
      ),
    ),
  ];
}

/** Cores that one server of PostgreSQL may have. */
const SERVER_CORES = [2, 8, 32, 64] as const;

function databaseRows({ databaseMs: { fixed, each } }: Capacity): string[] {
  return [
    `The line: ${(each * 1_000).toFixed(2)} ms of each second for each 1,000 participants a day, ${fixed < 0 ? 'less' : 'and'} ${Math.abs(fixed).toFixed(1)} ms.`,
    '',
    '| cores of PostgreSQL | participants a day with 60 % of them used |',
    '|---|---|',
    ...SERVER_CORES.map((cores) => {
      const perDay = (cores * 1_000 * USED_AT_MOST - fixed) / each;
      return `| ${cores} | ${Number(perDay.toPrecision(2)).toLocaleString('en')} |`;
    }),
  ];
}

const ms = (value: number): string => value.toFixed(value >= 10 ? 0 : 1);
const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${(value / 1_000 ** step).toPrecision(3)} ${units[step]!}`;
}
