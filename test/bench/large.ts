import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { median, ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import { reportSql } from './report-sql.js';
import { reportedStudy } from './report-study.js';
import type { Stage } from './stage.js';

const SIZES = { small: 1_000, large: 100_000 } as const;
const WINDOWS = 20,
  SESSIONS_OF_A_HUNDRED = 10;
const LIMIT_MS = 1_000,
  TIMES = 5;
/** Of what concerns one participant; the first are not counted: each connection plans its statements then. */
const ONE_TIMES = 40,
  ONE_WARM_UP = 20,
  MOST_GROWTH = 1.1;
const OVER = `${SIZES.large.toLocaleString('en')} participants and ${(SIZES.large * WINDOWS).toLocaleString('en')} visits, while others write`;

/** Lists, each a page of fifty with how many there are. */
const lists = (study: string): string[] => [
  `/api/studies/${study}/participants?limit=50`,
  `/api/schedules/visits?study_id=${study}&limit=50`,
  `/api/schedules/visits?study_id=${study}&limit=50&status=missed`,
  `/api/schedules/visits?study_id=${study}&limit=50&status=open`,
  `/api/reports/studies/${study}/visits?limit=50`,
  `/api/sessions?study_id=${study}&limit=50`,
  `/api/reports/summary?study_id=${study}`,
];

interface Study {
  id: string;
  people: string[];
}
type One = [name: string, what: string, run: (stage: Stage, study: Study, i: number) => Promise<unknown>];
const ONE: One[] = [
  ['READ', 'a participant read', (stage, { people }, i) => stage.call('GET', `/api/participants/${people[i]!}`)],
  [
    'SCHEDULE',
    'a participant’s schedule read',
    (stage, { id, people }, i) => stage.call('GET', `/api/studies/${id}/participants/${people[i]!}/schedule`),
  ],
  [
    'TIMELINE',
    'a participant’s timeline read',
    (stage, { id, people }, i) => stage.call('GET', `/api/studies/${id}/participants/${people[i]!}/timeline`),
  ],
  [
    'ENROLL',
    'a participant enrolled',
    (stage, { id }) => stage.call('POST', `/api/studies/${id}/participants`, { participant_code: randomUUID() }),
  ],
  [
    'OVERRIDE',
    'an anchor overridden, its schedule planned again',
    (stage, { id, people }, i) =>
      stage.call('POST', `/api/studies/${id}/participants/${people[i]!}/anchor-date/override`, {
        new_enrollment_date: '2024-04-02',
        reason: 'the form was misread',
        regenerate_schedule: true,
      }),
  ],
];

/**
 * LARGE: counts over a study of two million visits while its participants change, each against a second; and what
 * concerns one participant there, against the same in a study of a hundredth, one after the other.
 */
export async function largeFigures(stage: Stage): Promise<Figure[]> {
  const small = await filled(stage, SIZES.small),
    large = await filled(stage, SIZES.large);
  const figures = await counted(stage, large.id);
  for (const [name, what, run] of ONE) {
    await stage.quiet();
    const took: Record<'small' | 'large', number[]> = { small: [], large: [] };
    for (let i = 0; i < ONE_WARM_UP + ONE_TIMES; i += 1) {
      const sides = [['small', small] as const, ['large', large] as const];
      for (const [side, study] of i % 2 === 0 ? sides : sides.reverse())
        took[side].push(await ms(() => run(stage, study, i)));
    }
    const [ours, baseline] = [median(took.large.slice(ONE_WARM_UP)), median(took.small.slice(ONE_WARM_UP))];
    figures.push({
      name: `LARGE_ONE_${name}`,
      what: `${what}, in a study of ${SIZES.large.toLocaleString('en')} participants against one of ${SIZES.small.toLocaleString('en')}`,
      ratio: ours / baseline,
      goal: { is: '<=', value: MOST_GROWTH },
      ours,
      baseline,
      unit: 'ms',
    });
  }
  return figures;
}

async function counted(stage: Stage, study: string): Promise<Figure[]> {
  const report = (name: string) => `/api/reports/studies/${study}/${name}`;
  let measuring = true;
  // Each enrollment is a change of the study: nothing is answered from what was computed before.
  const writing = (async () => {
    let written = 0;
    for (; measuring; written += 1)
      await stage.call('POST', `/api/studies/${study}/participants`, { participant_code: randomUUID() });
    return written;
  })();
  const usual = async (path: string): Promise<number> => {
    const took: number[] = [];
    for (let i = 0; i <= TIMES; i += 1) took.push(await ms(() => stage.call('GET', path)));
    process.stderr.write(`${path.replaceAll(study, '…')}: ${median(took.slice(1)).toFixed(0)} ms\n`);
    return median(took.slice(1));
  };
  let summary: number, completion: number;
  const totals: number[] = [];
  try {
    summary = await usual(report('summary'));
    completion = await usual(report('completion'));
    for (const path of lists(study)) totals.push(await usual(path));
  } finally {
    measuring = false;
  }
  if ((await writing) === 0) throw new Error('nothing was written meanwhile');
  await assertExact(stage, study, report('summary'));
  return [
    ofLimit('LARGE_SUMMARY', summary, LIMIT_MS, 'ms', `the summary of ${OVER}`),
    ofLimit('LARGE_COMPLETION', completion, LIMIT_MS, 'ms', `completion by window of ${OVER}`),
    ofLimit('LARGE_TOTALS', Math.max(...totals), LIMIT_MS, 'ms', `the slowest of ${totals.length} lists of ${OVER}`),
  ];
}

/** Nobody writes any more: what is counted must be what the rows say. */
async function assertExact(stage: Stage, study: string, path: string): Promise<void> {
  const { visits, participants, anchors } = await stage.call<Record<string, unknown>>('GET', path);
  const { answer } = (await stage.sql.query<{ answer: Record<string, unknown> }>(reportSql.summary, [study])).rows[0]!;
  const rows = { visits: answer.visits, participants: answer.participants, anchors: answer.anchors };
  if (!isDeepStrictEqual({ visits, participants, anchors }, rows))
    throw new Error(
      `the summary says ${JSON.stringify({ visits, participants, anchors })}, its rows ${JSON.stringify(rows)}`,
    );
}

async function filled(stage: Stage, participants: number): Promise<Study> {
  const id = await reportedStudy(stage, participants, WINDOWS, SESSIONS_OF_A_HUNDRED);
  const { rows } = await stage.sql.query<{ id: string }>(
    `select id from participants where study_id = $1 and status = 'enrolled' order by participant_code limit $2`,
    [id, ONE_WARM_UP + ONE_TIMES],
  );
  return { id, people: rows.map((row) => row.id) };
}

async function ms(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
