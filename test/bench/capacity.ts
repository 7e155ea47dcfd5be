import { randomUUID } from 'node:crypto';
import { cpus } from 'node:os';
import { startSimulator } from '../capture-simulator/server.js';
import { Random } from '../support/random.js';
import { enrolled } from './anchor.js';
import { simulateQueue, startsByChance } from './capacity/queue.js';
import type { Kind, Machine, Step } from './capacity/queue.js';
import { LIFE, PEAK_SHARE, SIZES, writeCapacity } from './capacity/tables.js';
import type { Capacity, Cost, KindName, Run } from './capacity/tables.js';
import { connectedStudy, recordId, trigger } from './capture-study.js';
import { ofLimit, percentile } from './figure.js';
import type { Figure } from './figure.js';
import type { HttpRequest } from './load.js';
import { anchors, COUNTED, processorMs, settled, spent, submissions, triggers, WARM } from './processor.js';
import type { Part, Spent } from './processor.js';
import { coordinatorOf, enrollInBulk, studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';
import { openSessions, submission } from './submissions.js';

const SECONDS = 60;
/** Participants a day, of which the busiest hour is run here as well as simulated. */
const RUN_SIZES = [25_000, 50_000, 100_000];
const ALONE = 40;
/** So far may the simulated usual answer be from the measured one before the simulation says nothing. */
const MOST_APART = 2;

/**
 * CAPACITY: what participants cost in processor time, WAL and disk, and how busy the service is with so many of them a
 * day. The busiest hour of each size is simulated as a queue; where it fits here it is run as well.
 */
export async function capacityFigures(stage: Stage, write: boolean): Promise<Figure[]> {
  say('what one of each costs');
  const costs = await costsOf(stage);
  const simulator = await startSimulator({ port: 0, projects: [] });
  try {
    const site = await prepared(stage, simulator);
    say('one at a time');
    const idle = await idleTimes(stage, site, costs);
    const runs: Run[] = [];
    for (const perDay of RUN_SIZES) {
      say(`the busiest hour of ${perDay.toLocaleString('en')} participants a day`);
      runs.push(await busiestHour(stage, site, kindsOf(costs, idle, perDay), perDay));
    }
    const machine = machineOf(cpus().length);
    const capacity: Capacity = {
      costs,
      runs,
      simulated: SIZES.map((perDay) => ({
        perDay,
        ...simulateQueue(kindsOf(costs, idle, perDay), machine, SECONDS * 5),
      })),
      databaseMs: slope(runs.map(({ perDay, databaseMsPerSecond }) => [perDay, databaseMsPerSecond])),
    };
    if (write) writeCapacity(capacity);
    return runs.flatMap(({ perDay, answers }) =>
      answers.map(({ name, measured, simulated }) => ({
        ...ofLimit(
          `CAPACITY_${perDay / 1_000}K_${name.toUpperCase()}`,
          Math.max(measured.p50 / simulated.p50, simulated.p50 / measured.p50),
          MOST_APART,
          '',
          `${name}, ${perDay.toLocaleString('en')} participants a day: how far the simulated usual answer is from the measured one`,
        ),
      })),
    );
  } finally {
    await simulator.stop();
  }
}

/** It takes minutes. */
const say = (what: string): boolean => process.stdout.write(`measuring ${what} …\n`);

async function costsOf(stage: Stage): Promise<Cost[]> {
  const page = async (): Promise<Spent> => {
    const studyId = await studyWithWindows(stage, 0);
    await enrollInBulk(stage, studyId, 1_000);
    const headers = await coordinatorOf(stage, studyId);
    return spent(
      stage,
      'a page of 50 of 1,000 participants',
      Array.from({ length: WARM + COUNTED }, (_, i) => pageOf(studyId, i, headers)),
    );
  };
  return [
    { name: 'anchor', ...(await anchors(stage, 'runs')) },
    { name: 'trigger', ...(await triggers(stage)) },
    { name: 'submission', ...(await submissions(stage)) },
    { name: 'page', ...(await page()) },
  ];
}

const pageOf = (studyId: string, i: number, headers: Record<string, string>): HttpRequest => ({
  method: 'GET',
  path: `/api/studies/${studyId}/participants?skip=${(i % 20) * 50}&limit=50`,
  headers,
});

type Requests = Record<KindName, (count: number) => Promise<HttpRequest[]>>;

/** Studies in which the requests of each kind can be made, each good once. */
async function prepared(stage: Stage, simulator: Awaited<ReturnType<typeof startSimulator>>): Promise<Requests> {
  const decided = await studyWithWindows(stage, 10);
  const listed = await studyWithWindows(stage, 0);
  await enrollInBulk(stage, listed, 1_000);
  const headers = await coordinatorOf(stage, listed);
  const secret = `s-${randomUUID()}`;
  const records = 2 * SECONDS * Math.ceil(perSecondOf('trigger', RUN_SIZES.at(-1)!)) * RUN_SIZES.length;
  const { projectId } = await connectedStudy(stage, simulator, secret, records);
  let record = 0;
  return {
    anchor: async (count) =>
      (await enrolled(stage, decided, count)).map((id) => ({
        method: 'POST',
        path: `/api/studies/${decided}/participants/${id}/anchor-date`,
        headers: stage.headers,
        body: JSON.stringify({ enrollment_date: '2026-01-05' }),
      })),
    trigger: async (count) => Array.from({ length: count }, () => trigger(projectId, recordId(record++), secret)),
    submission: async (count) => (await openSessions(stage, listed, count)).map((id) => submission(id, 1_000)),
    page: async (count) => Array.from({ length: count }, (_, i) => pageOf(listed, i, headers)),
  };
}

/** Which parts are asked in turn. What stands after `null` follows when the caller has the answer. */
const WAYS: Record<KindName, readonly (Part | null)[]> = {
  anchor: ['api', 'temporal', 'worker', 'postgres', 'worker', 'temporal', 'api', null],
  trigger: ['api', null, 'temporal', 'worker', 'postgres', 'worker', 'temporal'],
  submission: ['api', 'postgres', 'api', null],
  page: ['api', 'postgres', 'api', null],
};

function stepsOf(cost: Cost): { steps: Step[]; answeredAfter: number } {
  const way = WAYS[cost.name];
  const parts = way.filter((part) => part !== null);
  const steps = parts.map((part) => ({ part, ms: cost.by[part] / parts.filter((one) => one === part).length }));
  return { steps, answeredAfter: way.indexOf(null) };
}

/** Per second in the busiest hour. */
const perSecondOf = (name: KindName, perDay: number): number => (perDay * LIFE[name] * PEAK_SHARE) / 3_600;

const kindsOf = (costs: readonly Cost[], idle: Record<KindName, number>, perDay: number): Kind[] =>
  costs.map((cost) => ({
    name: cost.name,
    ...stepsOf(cost),
    perSecond: perSecondOf(cost.name, perDay),
    idleMs: idle[cost.name],
  }));

/** The API and the worker run their work on one thread each. */
const machineOf = (cores: number): Machine => ({ cores, threads: { api: 1, worker: 1 } });

/** Of one request alone: how much of its time no processor is used for. */
async function idleTimes(stage: Stage, site: Requests, costs: readonly Cost[]): Promise<Record<KindName, number>> {
  const idle = {} as Record<KindName, number>;
  for (const cost of costs) {
    const requests = await site[cost.name](ALONE);
    await settled(stage);
    const { p50 } = await stage.load.ask({ kind: 'batch', url: stage.service.run.api, concurrency: 1, requests });
    const { steps, answeredAfter } = stepsOf(cost);
    const used = steps.slice(0, answeredAfter).reduce((sum, { ms }) => sum + ms, 0);
    idle[cost.name] = Math.max(0, p50 - used);
  }
  return idle;
}

/** A minute of the busiest hour, run here and simulated. */
async function busiestHour(stage: Stage, site: Requests, kinds: readonly Kind[], perDay: number): Promise<Run> {
  const random = new Random(perDay);
  const timed: (HttpRequest & { startMs: number; name: KindName })[] = [];
  for (const { name, perSecond } of kinds) {
    const starts = startsByChance(random, perSecond, SECONDS);
    const requests = await site[name as KindName](starts.length);
    timed.push(...requests.map((one, i) => ({ ...one, name: name as KindName, startMs: starts[i]! })));
  }
  await settled(stage);
  const before = processorMs(stage);
  const { took } = await stage.load.ask({
    kind: 'timed',
    url: stage.service.run.api,
    keepAlive: false,
    requests: timed.map(({ name: _name, ...one }) => one),
  });
  const after = processorMs(stage);
  const connections = await stage.sql.query<{ count: number }>(
    'select count(*)::integer as count from pg_stat_activity where datname = current_database()',
  );
  const simulated = simulateQueue(kinds, machineOf(cpus().length), SECONDS * 5);
  const used = (Object.keys(after) as Part[]).reduce((sum, part) => sum + after[part] - before[part], 0);
  return {
    perDay,
    used: used / (SECONDS * 1_000 * cpus().length),
    usedSimulated: simulated.used,
    databaseMsPerSecond: (after.postgres - before.postgres) / SECONDS,
    connections: connections.rows[0]!.count,
    answers: simulated.answers.map((answer) => {
      const times = took!.filter((_, i) => timed[i]!.name === answer.name);
      return {
        name: answer.name as KindName,
        measured: { p50: percentile(times, 0.5), p99: percentile(times, 0.99) },
        simulated: answer,
      };
    }),
  };
}

/** By least squares: y = `fixed` + `each` · x. */
function slope(points: readonly (readonly [x: number, y: number])[]): { fixed: number; each: number } {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(([one]) => one), mean(([, one]) => one)];
  const each = mean(([a, b]) => (a - x) * (b - y)) / mean(([a]) => (a - x) ** 2);
  return { each, fixed: y - each * x };
}
