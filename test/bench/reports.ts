import { isDeepStrictEqual } from 'node:util';
import type { Figure } from './figure.js';
import { median } from './figure.js';
import type { Measured } from './load.js';
import { compared, inPairs } from './pairs.js';
import { reportSql } from './report-sql.js';
import type { ReportName } from './report-sql.js';
import { reportedStudy } from './report-study.js';
import type { Stage } from './stage.js';

const PARTICIPANTS = 10_000,
  WINDOWS = 20,
  SESSIONS_OF_A_HUNDRED = 20,
  MOST = 1.5,
  ROUNDS = 5;
const PER_ROUND = 3,
  LEAST_MS = 500;

/** What is asked: about the study, or about one who has visits and sessions in it. */
interface Asked {
  study: string;
  participant: string;
}

const pathOf = ({ study, participant }: Asked, name: ReportName): string =>
  name === 'totals'
    ? `/api/reports/summary?study_id=${study}`
    : name === 'participant'
      ? `/api/reports/participants/${participant}`
      : `/api/reports/studies/${study}/${name}`;
const aboutWhom = ({ study, participant }: Asked, name: ReportName): string =>
  name === 'participant' ? participant : study;

/**
 * REPORTS: every JSON report over 10,000 participants and 200,000 visits, each asked for after a change of the study,
 * so that nothing is answered from what was computed before; compared with one plain statement that answers the same.
 */
export async function reportFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const study = await reportedStudy(stage, PARTICIPANTS, WINDOWS, SESSIONS_OF_A_HUNDRED);
  const {
    rows: [busiest],
  } = await stage.sql.query<{ participant_id: string }>(
    'select participant_id from assessment_sessions where study_id = $1 group by 1 order by count(*) desc, 1 limit 1',
    [study],
  );
  const asked = { study, participant: busiest!.participant_id };
  const figures: Figure[] = [];
  for (const name of Object.keys(reportSql) as ReportName[]) {
    await assertSame(stage, asked, name);
    const pairs = await inPairs(
      Math.min(rounds, ROUNDS),
      () =>
        times(
          async () => {
            await changed(stage, study);
          },
          async () => {
            await answerOf(stage, asked, name);
          },
        ),
      () =>
        times(
          async () => undefined,
          async () => {
            await stage.sql.query(reportSql[name], [aboutWhom(asked, name)]);
          },
        ),
    );
    figures.push({
      name: `REPORTS_${name.toUpperCase()}`,
      what: `the report ${name} over ${PARTICIPANTS.toLocaleString('en')} participants and ${(PARTICIPANTS * WINDOWS).toLocaleString('en')} visits, computed again, against one plain statement`,
      ...compared(pairs, (m) => m.p50),
      goal: { is: '<=', value: MOST },
      unit: 'ms',
    });
  }
  return figures;
}

/** The middle of so many repetitions at least, and of more of what is over sooner; `before` is outside the clock. */
async function times(before: () => Promise<void>, work: () => Promise<void>): Promise<Measured> {
  const took: number[] = [];
  for (let i = 0, measured = 0; i < PER_ROUND || measured < LEAST_MS; i += 1, measured += took.at(-1)!) {
    await before();
    const began = performance.now();
    await work();
    took.push(performance.now() - began);
  }
  const p50 = median(took);
  return { count: took.length, perSecond: 1000 / p50, p50, p99: Math.max(...took) };
}

let changes = 0;
const changed = (stage: Stage, study: string) =>
  stage.call('PATCH', `/api/studies/${study}`, { description: `change ${(changes += 1)}` });

async function answerOf(stage: Stage, asked: Asked, name: ReportName): Promise<Record<string, unknown>> {
  const {
    generated_at: _at,
    filters: _filters,
    ...answer
  } = await stage.call<Record<string, unknown>>('GET', pathOf(asked, name));
  return answer;
}

/** Both sides must say the same, or the comparison says nothing. */
async function assertSame(stage: Stage, asked: Asked, name: ReportName): Promise<void> {
  const ours = await answerOf(stage, asked, name);
  const theirs = (await stage.sql.query<{ answer: Record<string, unknown> }>(reportSql[name], [aboutWhom(asked, name)]))
    .rows[0]!.answer;
  if (!isDeepStrictEqual(rounded(name === 'visits' ? reduced(ours, theirs) : ours), rounded(theirs))) {
    throw new Error(
      `the plain statement does not answer what the report ${name} says:\n${JSON.stringify(ours).slice(0, 800)}\n${JSON.stringify(theirs).slice(0, 800)}`,
    );
  }
}

/** A mean depends in its last digits on the order in which it was summed; an instant may be written in two ways. */
const rounded = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer, (_key, value: unknown) =>
      typeof value === 'number'
        ? Number(value.toPrecision(10))
        : typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:/.test(value)
          ? new Date(value).toISOString()
          : value,
    ),
  );

/** Of a page of visits what the plain statement names. */
const reduced = (ours: Record<string, unknown>, theirs: Record<string, unknown>) => {
  const [first] = theirs.items as object[];
  return {
    ...ours,
    items: (ours.items as Record<string, unknown>[]).map((item) =>
      Object.fromEntries(Object.keys(first!).map((key) => [key, item[key]])),
    ),
  };
};
