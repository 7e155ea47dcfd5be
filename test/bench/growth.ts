import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { svgOf } from '../../api/reports/document/picture.js';
import { root } from '../support/environment.js';
import { median } from './figure.js';
import type { Figure } from './figure.js';
import { reportedStudy } from './report-study.js';
import type { Stage } from './stage.js';

/** Participants; each has as many visits as there are windows, of every fate. */
const SIZES = [1_000, 10_000, 100_000] as const;
const WINDOWS = 20,
  SESSION_SHARE = 10;
/** What concerns one participant may take so many times as long in the largest study as in the smallest. */
const MOST_GROWTH = 1.1;
/** The first is not counted. */
const TIMES = { small: 41, large: 4 };

interface Work {
  name: string;
  what: string;
  /** What is to be expected: at most as many times more as there is data, or none more at all. */ grows:
    'with the data' | 'not at all';
  times: number;
  run: (stage: Stage, study: Study, i: number) => Promise<unknown>;
}
interface Study {
  id: string;
  people: string[];
}

const WORKS: Work[] = [
  {
    name: 'PAGE',
    what: 'a page of 50 participants, and how many there are',
    grows: 'with the data',
    times: TIMES.small,
    run: (stage, { id }) => stage.call('GET', `/api/studies/${id}/participants?limit=50`),
  },
  {
    name: 'SCHEDULE',
    what: 'a participant’s schedule',
    grows: 'not at all',
    times: TIMES.small,
    run: (stage, { id, people }, i) => stage.call('GET', `/api/studies/${id}/participants/${people[i]!}/schedule`),
  },
  {
    name: 'ENROLL',
    what: 'a participant enrolled',
    grows: 'not at all',
    times: TIMES.small,
    run: (stage, { id }) => stage.call('POST', `/api/studies/${id}/participants`, { participant_code: randomUUID() }),
  },
  {
    name: 'OVERRIDE',
    what: 'an anchor overridden, its schedule planned again',
    grows: 'not at all',
    times: TIMES.small,
    run: (stage, { id, people }, i) =>
      stage.call('POST', `/api/studies/${id}/participants/${people[i]!}/anchor-date/override`, {
        new_enrollment_date: '2024-04-02',
        reason: 'the form was misread',
        regenerate_schedule: true,
      }),
  },
  {
    name: 'SUMMARY',
    what: 'the summary report, computed again',
    grows: 'with the data',
    times: TIMES.large,
    run: async (stage, { id }) => {
      // Somebody more is enrolled: what was kept does not hold any more.
      await stage.call('POST', `/api/studies/${id}/participants`, { participant_code: randomUUID() });
      return timed(() => stage.call('GET', `/api/reports/studies/${id}/summary`));
    },
  },
  {
    name: 'EXPORT',
    what: 'all visits as CSV',
    grows: 'with the data',
    times: TIMES.large,
    run: (stage, { id }) => drained(stage, '/api/exports/csv', { study_id: id, dataset: 'visits' }),
  },
];

/**
 * How long the same things take with 1×, 10× and 100× the data, one at a time and the sizes in turn, on an idle service:
 * each a line in a plot of logarithms, where what does not depend on the data lies flat.
 * @returns a figure each, the largest compared with the smallest; with `write` the plot is drawn into docs
 */
export async function growthFigures(stage: Stage, write: boolean): Promise<Figure[]> {
  const studies: Study[] = [];
  for (const size of SIZES) studies.push(await filled(stage, size));
  const took = new Map<string, number[]>();
  for (const work of WORKS) {
    await stage.quiet();
    const times = await usual(stage, studies, work);
    took.set(work.name, times);
    process.stderr.write(`${work.what}: ${times.map((ms, i) => `${ms.toFixed(1)} ms with ${SIZES[i]!}`).join(', ')}\n`);
  }
  if (write) writeFileSync(join(root, 'docs', 'growth.svg'), `${drawn(took)}\n`);
  return WORKS.map(({ name, what, grows }) => {
    const times = took.get(name)!;
    return {
      name: `GROWTH_${name}`,
      what: `${what}: 100,000 participants and 2,000,000 visits against 1,000 and 20,000 (grows ${grows})`,
      ratio: times.at(-1)! / times[0]!,
      ours: times.at(-1)!,
      baseline: times[0]!,
      unit: 'ms',
      ...(grows === 'not at all' ? { goal: { is: '<=' as const, value: MOST_GROWTH } } : {}),
    };
  });
}

async function filled(stage: Stage, size: number): Promise<Study> {
  const id = await reportedStudy(stage, size, WINDOWS, SESSION_SHARE);
  const { rows } = await stage.sql.query<{ id: string }>(
    `select id from participants where study_id = $1 and status = 'enrolled' order by participant_code limit $2`,
    [id, TIMES.small],
  );
  return { id, people: rows.map((row) => row.id) };
}

/** The sizes take turns, so that a machine that becomes slower meanwhile is not taken for growth. */
async function usual(stage: Stage, studies: readonly Study[], { times, run }: Work): Promise<number[]> {
  const took: number[][] = studies.map(() => []);
  for (let i = 0; i < times; i += 1)
    for (const [at, study] of studies.entries()) {
      const own = await timed(() => run(stage, study, i));
      // Some measure a part of what they do.
      took[at]!.push(
        typeof own.answer === 'object' && own.answer !== null && 'ms' in own.answer ? Number(own.answer.ms) : own.ms,
      );
    }
  return took.map((ms) => median(ms.slice(1)));
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; answer: T }> {
  const began = performance.now();
  const answer = await work();
  return { ms: performance.now() - began, answer };
}

async function drained(stage: Stage, path: string, body: object): Promise<void> {
  const response = await fetch(`${stage.service.run.api}${path}`, {
    method: 'POST',
    headers: stage.headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
  let size = 0;
  for await (const piece of response.body!) size += (piece as Uint8Array).length;
  if (size === 0) throw new Error(`${path} answered nothing`);
}

function drawn(took: ReadonlyMap<string, readonly number[]>): string {
  return svgOf({
    title: 'How long the same things take as a study grows',
    width: 760,
    height: 460,
    description: WORKS.map(
      ({ name, what }) =>
        `${what}: ${took
          .get(name)!
          .map((ms, i) => `${ms.toFixed(0)} ms with ${SIZES[i]!} participants`)
          .join(', ')}`,
    ).join('; '),
    option: {
      legend: { top: 0 },
      grid: { left: 72, right: 32, top: 72, bottom: 56 },
      xAxis: {
        type: 'log',
        name: 'participants, with twenty visits each',
        nameLocation: 'middle',
        nameGap: 32,
        min: SIZES[0],
        max: SIZES.at(-1),
      },
      yAxis: { type: 'log', name: 'milliseconds' },
      series: WORKS.map(({ name, what }) => ({
        type: 'line',
        name: what,
        symbolSize: 7,
        data: took.get(name)!.map((ms, i) => [SIZES[i]!, Number(ms.toFixed(2))]),
      })),
    },
  });
}
