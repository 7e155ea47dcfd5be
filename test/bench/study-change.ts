import { setTimeout as sleep } from 'node:timers/promises';
import { ofLimit, percentile } from './figure.js';
import type { Figure } from './figure.js';
import type { Paced } from './load.js';
import { enrollScheduled, OTHER_DATE, plannedStudy, policyThatPrefers } from './scheduled.js';
import type { Stage } from './stage.js';

const SMALL = 1_000,
  LARGE = 10_000,
  VISITS = 20;
const LIMIT_SECONDS = 60,
  MOST_GROWTH = 1.25,
  MOST_SLOWER = 3;
const READS_EVERY_MS = 20,
  IDLE_READS_SECONDS = 20,
  LOOK_MS = 500,
  PATIENCE_MS = 300_000;

interface Progress {
  status: string;
  seen: number;
  total: number;
  moved: number;
  schedules: number;
}
interface Ran {
  seconds: number;
  looks: number[];
  reads: number[];
  last: Progress;
}
type Setting = Awaited<ReturnType<typeof plannedStudy>>;

/**
 * P6: a change of a study is worked through its participants, each of whom gets the next schedule version of 20
 * visits: from the call that makes the change until its workflow has ended. Meanwhile somebody reads an anchor every
 * 20 ms, and somebody asks twice a second how far the change is. The idle service is read in the same way, in askings
 * of a second each.
 */
export async function studyChangeFigures(stage: Stage): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, status, what, change } of [
    { name: 'P6_WINDOW', status: 'finalized', what: 'a moved visit window', change: moveWindow },
    { name: 'P6_POLICY', status: 'provisional', what: 'a policy that moves every date', change: preferOtherSource },
  ] as const) {
    const ran: { count: number; of: Ran }[] = [];
    let idle: number[] = [];
    for (const count of [SMALL, LARGE]) {
      const study = await plannedStudy(stage, VISITS, status);
      const participants = await enrollScheduled(stage, study, count, status);
      await stage.quiet();
      const read = (seconds: number): Paced => ({
        kind: 'paced',
        url: stage.service.run.api,
        everyMs: READS_EVERY_MS,
        seconds,
        requests: participants.slice(0, 100).map((id) => ({
          method: 'GET',
          path: `/api/studies/${study.id}/participants/${id}/anchor-date`,
          headers: stage.headers,
        })),
      });
      await stage.load.ask(read(1));
      idle = [];
      for (let second = 0; second < IDLE_READS_SECONDS; second += 1)
        idle.push(...(await stage.load.ask(read(1))).took!);
      const one = await followed(stage, study, read, change);
      await assertRegenerated(stage, study, count, status);
      if (one.last.schedules !== count) throw new Error(`${one.last.schedules} of ${count} schedules were made`);
      ran.push({ count, of: one });
      await stage.quiet();
    }
    const [small, large] = ran as [{ count: number; of: Ran }, { count: number; of: Ran }];
    const each = ({ count, of }: { count: number; of: Ran }) => (of.seconds * 1000) / count;
    const steps = new Set(large.of.looks).size;
    if (steps < 5) throw new Error(`the progress of ${what} was seen at ${steps} places only`);
    const p99 = { idle: percentile(idle, 0.99), busy: percentile(large.of.reads, 0.99) };
    figures.push(
      ofLimit(
        name,
        large.of.seconds,
        LIMIT_SECONDS,
        's',
        `${what}: ${LARGE.toLocaleString('en')} schedules of ${VISITS} visits planned again`,
      ),
      {
        name: `${name}_EACH`,
        what: `the same, time for each of ${LARGE.toLocaleString('en')} against each of ${SMALL.toLocaleString('en')}`,
        ratio: each(large) / each(small),
        goal: { is: '<=', value: MOST_GROWTH },
        ours: each(large),
        baseline: each(small),
        unit: 'ms',
      },
      {
        name: `${name}_READ`,
        what: `an anchor read meanwhile, slowest of a hundred, against an idle service (progress seen at ${steps} places)`,
        ratio: p99.busy / p99.idle,
        goal: { is: '<=', value: MOST_SLOWER },
        ours: p99.busy,
        baseline: p99.idle,
        unit: 'ms',
      },
    );
  }
  return figures;
}

/** Makes the change and follows it to its end; reads go on until then. */
async function followed(
  stage: Stage,
  study: Setting,
  read: (seconds: number) => Paced,
  change: (stage: Stage, study: Setting) => Promise<string>,
): Promise<Ran> {
  const began = performance.now();
  const changeId = await change(stage, study);
  const looks: number[] = [];
  const reads: number[] = [];
  let done = false;
  const reading = (async () => {
    while (!done) reads.push(...(await stage.load.ask(read(1))).took!);
  })();
  try {
    while (performance.now() - began < PATIENCE_MS) {
      const last = await stage.call<Progress>('GET', `/api/studies/${study.id}/reanchorings/${changeId}`);
      looks.push(last.seen);
      if (last.status === 'completed') return { seconds: (performance.now() - began) / 1000, looks, reads, last };
      if (last.status === 'failed') throw new Error('the change failed');
      await sleep(LOOK_MS);
    }
    throw new Error(`the change was not through after ${PATIENCE_MS / 1000} s`);
  } finally {
    done = true;
    await reading;
  }
}

async function moveWindow(stage: Stage, study: Setting): Promise<string> {
  await stage.call('PATCH', `/api/schedules/windows/${study.windows[7]!}`, { target_day: 215 });
  // A window's change has the number of its message; nobody else writes messages here.
  const { rows } = await stage.sql.query<{ id: number }>('select last_value::integer as id from outbox_id_seq');
  return String(rows[0]!.id);
}

async function preferOtherSource(stage: Stage, study: Setting): Promise<string> {
  await stage.call(
    'POST',
    `/api/studies/${study.id}/config/enrollment-policy`,
    policyThatPrefers('manual_entry', 'provisional'),
  );
  return 'policy-2';
}

/**
 * Every participant has a second version with all visits, current, of the date that is right; the first is superseded.
 */
async function assertRegenerated(
  stage: Stage,
  study: Setting,
  count: number,
  status: 'finalized' | 'provisional',
): Promise<void> {
  const { rows } = await stage.sql.query<{ done: number }>(
    `select count(*)::integer as done from anchor_dates a join schedule_versions v on v.id = a.current_schedule_version_id and v.is_current and v.version_number = 2
     where a.study_id = $1 and (select count(*) from scheduled_visits x where x.schedule_version_id = v.id and x.status = 'scheduled') = $2
       and (select count(*) from scheduled_visits x where x.participant_id = a.participant_id and x.status = 'superseded') = $2
       and ($3::date is null or a.enrollment_date_value = $3::date)`,
    [study.id, VISITS, status === 'provisional' ? OTHER_DATE : null],
  );
  if (rows[0]!.done !== count) throw new Error(`${rows[0]!.done} of ${count} participants have their next schedule`);
}
