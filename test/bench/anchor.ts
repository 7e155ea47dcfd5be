import { randomUUID } from 'node:crypto';
import { until } from '../support/until.js';
import { startChild } from './child.js';
import type { Figure } from './figure.js';
import type { Batch, HttpRequest, Measured, Updates } from './load.js';
import { compared, inPairs } from './pairs.js';
import type { Pair } from './pairs.js';
import { studyWithWindows, enrollInBulk } from './setting.js';
import type { Stage } from './stage.js';

const AT_ONCE = 32;
const TASK_QUEUE = 'bench-bare';
/** Participants of a round; one at a time, and 32 at a time. */
const SINGLE = 25,
  MANY = 160;
const GOAL = { throughput: 0.7, p99: 2, p50: 1.3 };
/** Against a bare workflow that runs as well: nobody pays for a start. */
const RUNNING_GOAL = { throughput: 0.6, p99: 2, p50: 1.6 };

export interface Bare {
  pid: number;
  update: (
    concurrency: number,
    workflows: number | readonly string[],
    startFirst: boolean,
    shown?: boolean,
  ) => Promise<Measured>;
  stop: () => Promise<void>;
}

/**
 * P1: an anchor set by REST, with its history, schedule version, ten visits, audit records and events in one
 * transaction, compared with a bare Temporal update-with-start whose one local activity does one INSERT.
 */
export async function anchorFigures(
  stage: Stage,
  rounds: number,
  wanted: (name: string) => boolean,
): Promise<Figure[]> {
  const bare = await bareUpdates(stage);
  const figures: Figure[] = [];
  try {
    const studyId = await studyWithWindows(stage, 10);
    /** Anchors of participants whose workflow runs, `atOnce` at a time, and as many updates of bare workflows. */
    const beside = async (atOnce: number, count: number, startFirst: boolean, shown = false) =>
      setAnchors(stage, studyId, rounds, atOnce, await enrolled(stage, studyId, (rounds + 1) * count), () =>
        bare.update(atOnce, count, startFirst, shown),
      );
    if (wanted('P1')) {
      const pairs = await beside(AT_ONCE, MANY, false);
      figures.push(
        throughput(
          'P1',
          pairs,
          'set an anchor by REST, 32 at a time; the participant’s workflow runs, the bare one is started by its update',
        ),
      );
      figures.push(slowest('P1_P99', pairs, 'the same, slowest of a hundred'));
      const single = await beside(1, SINGLE, false);
      figures.push(usual('P1_P50', single, 'the same, one at a time'));
    }
    if (wanted('P1_RUNNING')) {
      const pairs = await beside(AT_ONCE, MANY, true);
      figures.push(throughput('P1_RUNNING', pairs, 'as P1, the bare workflow runs already as well', RUNNING_GOAL));
      figures.push(slowest('P1_RUNNING_P99', pairs, 'the same, slowest of a hundred', RUNNING_GOAL));
      const single = await beside(1, SINGLE, true);
      figures.push(usual('P1_RUNNING_P50', single, 'the same, one at a time', RUNNING_GOAL));
      const shown = await beside(AT_ONCE, MANY, true, true);
      figures.push({
        name: 'P1_SHOWN',
        what: 'as P1_RUNNING, the bare workflow shows its state to operators (search attributes) as well',
        ...compared(shown, (m) => m.perSecond),
        unit: 'anchors/s',
      });
    }
    if (wanted('P1_FRESH')) {
      const pairs = await setAnchors(
        stage,
        studyId,
        rounds,
        AT_ONCE,
        await enrollInBulk(stage, studyId, (rounds + 1) * MANY),
        () => bare.update(AT_ONCE, MANY, false),
      );
      figures.push(throughput('P1_FRESH', pairs, 'as P1, both workflows are started by their update'));
      figures.push(slowest('P1_FRESH_P99', pairs, 'the same, slowest of a hundred'));
    }
    if (wanted('P10')) figures.push(...(await besideDbos(stage, studyId, rounds)));
  } finally {
    await bare.stop();
  }
  return figures;
}

const throughput = (name: string, pairs: Pair[], what: string, goal = GOAL): Figure => ({
  name,
  what,
  ...compared(pairs, (m) => m.perSecond),
  goal: { is: '>=', value: goal.throughput },
  unit: 'anchors/s',
});
const slowest = (name: string, pairs: Pair[], what: string, goal = GOAL): Figure => ({
  name,
  what,
  ...compared(pairs, (m) => m.p99),
  goal: { is: '<=', value: goal.p99 },
  unit: 'ms',
});
const usual = (name: string, pairs: Pair[], what: string, goal = GOAL): Figure => ({
  name,
  what,
  ...compared(pairs, (m) => m.p50),
  goal: { is: '<=', value: goal.p50 },
  unit: 'ms',
});

export async function bareUpdates({ service, load }: Stage): Promise<Bare> {
  const { temporal, temporal_namespace, database_url } = service.run;
  const worker = await startChild('bare/worker.js', {
    ...process.env,
    BARE_DATABASE_URL: database_url,
    BARE_TEMPORAL: temporal,
    BARE_NAMESPACE: temporal_namespace,
    BARE_TASK_QUEUE: TASK_QUEUE,
  });
  return {
    pid: worker.pid,
    update: (concurrency, workflows, startFirst, shown = false) =>
      load.ask({
        kind: 'updates',
        address: temporal,
        namespace: temporal_namespace,
        taskQueue: TASK_QUEUE,
        concurrency,
        startFirst,
        shown,
        workflowIds: typeof workflows === 'number' ? bareIds(workflows) : [...workflows],
        body: '2026-01-05',
      } satisfies Updates),
    stop: worker.stop,
  };
}

export const bareIds = (count: number): string[] => Array.from({ length: count }, () => `bench-bare/${randomUUID()}`);

/**
 * P10: as P1, compared with DBOS Transact that runs the same activity as a step of a workflow on the same PostgreSQL.
 * Both set a date of each participant once, and every one must have it afterwards.
 */
async function besideDbos(stage: Stage, studyId: string, rounds: number): Promise<Figure[]> {
  const url = new URL(stage.service.run.database_url);
  url.pathname = '/bench_dbos';
  const dbos = await startChild<object, object, { url: string }>('bare/dbos.js', {
    ...process.env,
    BARE_DATABASE_URL: stage.service.run.database_url,
    BARE_DBOS_URL: url.href,
    BARE_ADMIN: stage.adminId,
  });
  const beside = async (concurrency: number, count: number) => {
    const participants = await enrollInBulk(stage, studyId, (rounds + 1) * count);
    const pairs = await setAnchors(
      stage,
      studyId,
      rounds,
      concurrency,
      await enrolled(stage, studyId, (rounds + 1) * count),
      (round) =>
        stage.load.ask(
          datesOf(dbos.ready.url, stage, studyId, participants.slice(round * count, (round + 1) * count), concurrency),
        ),
    );
    await assertDone(stage, participants);
    return pairs;
  };
  try {
    const many = await beside(AT_ONCE, MANY),
      single = await beside(1, SINGLE);
    return [
      {
        name: 'P10',
        what: 'set an anchor by REST, 32 at a time, beside DBOS Transact with the same step behind bare Koa',
        ...compared(many, (m) => m.perSecond),
        unit: 'anchors/s',
      },
      { name: 'P10_P50', what: 'the same, one at a time', ...compared(single, (m) => m.p50), unit: 'ms' },
    ];
  } finally {
    await dbos.stop();
  }
}

const datesOf = (
  url: string,
  stage: Stage,
  studyId: string,
  participants: readonly string[],
  concurrency: number,
): Batch => ({
  kind: 'batch',
  url,
  concurrency,
  requests: participants.map((id): HttpRequest => ({
    method: 'POST',
    path: `/api/studies/${studyId}/participants/${id}/anchor-date`,
    headers: stage.headers,
    body: JSON.stringify({ enrollment_date: '2026-01-05' }),
  })),
});

/** Rounds over fresh participants; afterwards every one of them must have what was asked for. */
async function setAnchors(
  stage: Stage,
  studyId: string,
  rounds: number,
  concurrency: number,
  participants: string[],
  bare: (round: number) => Promise<Measured>,
): Promise<Pair[]> {
  const count = participants.length / (rounds + 1);
  const pairs = await inPairs(
    rounds,
    async (round) => {
      await stage.quiet();
      return stage.load.ask(
        datesOf(
          stage.service.run.api,
          stage,
          studyId,
          participants.slice(round * count, (round + 1) * count),
          concurrency,
        ),
      );
    },
    async (round) => {
      await stage.quiet();
      return bare(round);
    },
  );
  await assertDone(stage, participants);
  return pairs;
}

async function assertDone(stage: Stage, participants: readonly string[]): Promise<void> {
  const { rows } = await stage.sql.query<{ done: number }>(
    `select count(*) as done from anchor_dates a where a.participant_id = any($1) and a.status = 'finalized'
       and (select count(*) from scheduled_visits v where v.schedule_version_id = a.current_schedule_version_id) = 10`,
    [participants],
  );
  if (Number(rows[0]!.done) !== participants.length)
    throw new Error(`${rows[0]!.done} of ${participants.length} participants have their anchor and ten visits`);
}

/** Participants enrolled by REST whose workflows have started and wait for a date. */
export async function enrolled(stage: Stage, studyId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (let at = lane; at < count; at += 8) {
        ids.push(
          (
            await stage.call<{ id: string }>('POST', `/api/studies/${studyId}/participants`, {
              participant_code: randomUUID(),
            })
          ).id,
        );
      }
    }),
  );
  await until(
    async () => {
      const { rows } = await stage.sql.query<{ started: number }>(
        `select count(distinct participant_id) as started from anchor_commands where participant_id = any($1)`,
        [ids],
      );
      return Number(rows[0]!.started) === count;
    },
    { timeout: 300_000, interval: 250, what: `${count} participants' workflows to run` },
  );
  return ids;
}
