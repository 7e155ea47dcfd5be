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
const SINGLE = 25, MANY = 160;
const GOAL = { throughput: 0.7, p99: 2, p50: 1.3 };

interface Bare { update: (concurrency: number, count: number, startFirst: boolean) => Promise<Measured>; stop: () => Promise<void> }

/**
 * P1: an anchor set by REST, with its history, schedule version, ten visits, audit records and events in one
 * transaction, held against a bare Temporal update-with-start whose one local activity does one INSERT.
 */
export async function anchorFigures(stage: Stage, rounds: number, wanted: (name: string) => boolean): Promise<Figure[]> {
  const bare = await bareUpdates(stage);
  const figures: Figure[] = [];
  try {
    const studyId = await studyWithWindows(stage, 10);
    if (wanted('P1')) {
      const pairs = await setAnchors(stage, studyId, rounds, AT_ONCE, await enrolled(stage, studyId, (rounds + 1) * MANY), () => bare.update(AT_ONCE, MANY, false));
      figures.push(throughput('P1', pairs, 'set an anchor by REST, 32 at a time; the participant’s workflow runs, the bare one is started by its update'));
      figures.push(slowest('P1_P99', pairs, 'the same, slowest of a hundred'));
      const single = await setAnchors(stage, studyId, rounds, 1, await enrolled(stage, studyId, (rounds + 1) * SINGLE), () => bare.update(1, SINGLE, false));
      figures.push(usual('P1_P50', single, 'the same, one at a time'));
    }
    if (wanted('P1_RUNNING')) {
      const pairs = await setAnchors(stage, studyId, rounds, AT_ONCE, await enrolled(stage, studyId, (rounds + 1) * MANY), () => bare.update(AT_ONCE, MANY, true));
      figures.push(throughput('P1_RUNNING', pairs, 'as P1, the bare workflow runs already as well'));
      figures.push(slowest('P1_RUNNING_P99', pairs, 'the same, slowest of a hundred'));
      const single = await setAnchors(stage, studyId, rounds, 1, await enrolled(stage, studyId, (rounds + 1) * SINGLE), () => bare.update(1, SINGLE, true));
      figures.push(usual('P1_RUNNING_P50', single, 'the same, one at a time'));
    }
    if (wanted('P1_FRESH')) {
      const pairs = await setAnchors(stage, studyId, rounds, AT_ONCE, await enrollInBulk(stage, studyId, (rounds + 1) * MANY), () => bare.update(AT_ONCE, MANY, false));
      figures.push(throughput('P1_FRESH', pairs, 'as P1, both workflows are started by their update'));
      figures.push(slowest('P1_FRESH_P99', pairs, 'the same, slowest of a hundred'));
    }
  } finally {
    await bare.stop();
  }
  return figures;
}

const throughput = (name: string, pairs: Pair[], what: string): Figure => ({ name, what, ...compared(pairs, (m) => m.perSecond), goal: { is: '>=', value: GOAL.throughput }, unit: 'anchors/s' });
const slowest = (name: string, pairs: Pair[], what: string): Figure => ({ name, what, ...compared(pairs, (m) => m.p99), goal: { is: '<=', value: GOAL.p99 }, unit: 'ms' });
const usual = (name: string, pairs: Pair[], what: string): Figure => ({ name, what, ...compared(pairs, (m) => m.p50), goal: { is: '<=', value: GOAL.p50 }, unit: 'ms' });

async function bareUpdates({ service, load }: Stage): Promise<Bare> {
  const { temporal, temporal_namespace, database_url } = service.run;
  const worker = await startChild(import.meta.url.endsWith('.ts') ? 'bare/worker.ts' : 'bare/worker.js', {
    ...process.env, BARE_DATABASE_URL: database_url, BARE_TEMPORAL: temporal, BARE_NAMESPACE: temporal_namespace, BARE_TASK_QUEUE: TASK_QUEUE,
  });
  return {
    update: (concurrency, count, startFirst) => load.ask({
      kind: 'updates', address: temporal, namespace: temporal_namespace, taskQueue: TASK_QUEUE, concurrency, startFirst,
      workflowIds: Array.from({ length: count }, () => `bench-bare/${randomUUID()}`), body: '2026-01-05',
    } satisfies Updates),
    stop: worker.stop,
  };
}

/** Rounds over fresh participants; afterwards every one of them must have what was asked for. */
async function setAnchors(stage: Stage, studyId: string, rounds: number, concurrency: number, participants: string[], bare: (round: number) => Promise<Measured>): Promise<Pair[]> {
  const count = participants.length / (rounds + 1);
  const pairs = await inPairs(rounds, async (round) => {
    await stage.quiet();
    return stage.load.ask({
      kind: 'batch', url: stage.service.run.api, concurrency,
      requests: participants.slice(round * count, (round + 1) * count).map((id): HttpRequest => ({
        method: 'POST', path: `/api/studies/${studyId}/participants/${id}/anchor-date`, headers: stage.headers, body: JSON.stringify({ enrollment_date: '2026-01-05' }),
      })),
    } satisfies Batch);
  }, async (round) => {
    await stage.quiet();
    return bare(round);
  });
  const { rows } = await stage.sql.query<{ done: number }>(
    `select count(*) as done from anchor_dates a where a.participant_id = any($1) and a.status = 'finalized'
       and (select count(*) from scheduled_visits v where v.schedule_version_id = a.current_schedule_version_id) = 10`, [participants]);
  if (Number(rows[0]!.done) !== participants.length) throw new Error(`${rows[0]!.done} of ${participants.length} participants have their anchor and ten visits`);
  return pairs;
}

/** Participants enrolled by REST whose workflows have started and wait for a date. */
async function enrolled(stage: Stage, studyId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  await Promise.all(Array.from({ length: 8 }, async (_, lane) => {
    for (let at = lane; at < count; at += 8) {
      ids.push((await stage.call<{ id: string }>('POST', `/api/studies/${studyId}/participants`, { participant_code: randomUUID() })).id);
    }
  }));
  await until(async () => {
    const { rows } = await stage.sql.query<{ started: number }>(`select count(distinct participant_id) as started from anchor_commands where participant_id = any($1)`, [ids]);
    return Number(rows[0]!.started) === count;
  }, { timeout: 300_000, interval: 250, what: `${count} participants' workflows to run` });
  return ids;
}
