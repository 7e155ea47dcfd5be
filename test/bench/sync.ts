import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSimulator } from '../capture-simulator/server.js';
import { connectedStudy } from './capture-study.js';
import type { ConnectedStudy } from './capture-study.js';
import type { Figure } from './figure.js';
import { median } from './figure.js';
import { sameRows } from './same-rows.js';
import type { Stage } from './stage.js';

const RECORDS = 10_000,
  PAGE = 250;

/**
 * A sync of 10,000 records, none of them known, compared with a bare paged export of the same records and the inserts
 * of what becomes of them: participant, anchor, form, history, decision, schedule version, visit. That takes tables
 * with a key and nothing else; SYNC_ROWS stands beside it, whose inserts are the rows themselves, where the service has
 * them.
 */
export async function syncFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const simulator = await startSimulator({ port: 0, projects: [] });
  try {
    const study = await connectedStudy(stage, simulator, `s-${randomUUID()}`, RECORDS);
    await stage.quiet();
    const ours = await seconds(() => synced(stage, study));
    const repeated: number[] = [],
      bares: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await afterPause(stage);
      repeated.push(await seconds(() => synced(stage, study)));
      await stage.quiet();
      bares.push(await seconds(() => bareExport(stage, simulator.apiUrl, study, intoBareTables(stage))));
    }
    const again = median(repeated),
      bare = median(bares);
    const other = await connectedStudy(stage, simulator, `s-${randomUUID()}`, RECORDS);
    const rows = await sameRows(stage, study.id, other.id);
    await forgetStarts(stage);
    await stage.quiet();
    const same = await seconds(() =>
      bareExport(stage, simulator.apiUrl, study, async (page) => {
        await stage.sql.query(rows.insert, rows.of(page.map((row) => row['subject_id']!)));
      }),
    );
    await checkSame(stage, study, other);
    await forgetStarts(stage);
    const figure = (name: string, took: number, what: string): Figure => ({
      name,
      ratio: took / bare,
      ours: took,
      baseline: bare,
      unit: 's',
      what,
    });
    return [
      figure('SYNC', ours, 'sync of 10,000 records, none of them known; a bare paged export with inserts'),
      { ...figure('SYNC_AGAIN', again, 'the same, nothing has changed'), goal: { is: '<=', value: 1.5 } },
      {
        name: 'SYNC_ROWS',
        ratio: ours / same,
        goal: { is: '<=', value: 1.5 },
        ours,
        baseline: same,
        unit: 's',
        what: 'the first sync; a bare paged export with inserts of the very rows that it makes into the service’s own tables',
      },
    ];
  } finally {
    await simulator.stop();
  }
}

/** A sync asks at its full speed only after a pause (activities/capture/client/rate-limit.ts): 60 calls, 250 ms each. */
const PAUSE_MS = 60 * 250;

/** Waits until a sync may ask at its full speed: its politeness to a server is not what is measured. */
async function afterPause(stage: Stage): Promise<void> {
  await forgetStarts(stage);
  await sleep(PAUSE_MS);
  await stage.quiet();
}

/** Workflows that nobody waits for take minutes to start: those that have not begun are taken back. */
const forgetStarts = ({ sql }: Stage): Promise<unknown> =>
  sql.query(`delete from outbox where topic = 'participant-start'`);

async function seconds(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1_000;
}

async function synced(stage: Stage, { id }: ConnectedStudy): Promise<void> {
  const { sync_id } = await stage.call<{ sync_id: string }>('POST', `/api/datacapture/sync/${id}`);
  for (;;) {
    const report = await stage.call<{ status: string; progress: { done: number; failed: number } }>(
      'GET',
      `/api/datacapture/syncs/${sync_id}?limit=1`,
    );
    if (report.status === 'completed' && report.progress.done === RECORDS && report.progress.failed === 0) return;
    if (report.status !== 'running') throw new Error(`the sync ended ${report.status}: ${JSON.stringify(report)}`);
    await sleep(200);
  }
}

const TABLES = ['participants', 'anchors', 'forms', 'history', 'decisions', 'versions', 'visits'];

type Page = Record<string, string>[];

/** Tables with a key and nothing else. */
function intoBareTables({ sql }: Stage): (page: Page) => Promise<void> {
  const made = sql.query(
    TABLES.map(
      (table) =>
        `create table if not exists bench.sync_${table} (id uuid primary key default gen_random_uuid(), record text not null, body jsonb not null, created_at timestamptz not null default clock_timestamp())`,
    ).join(';'),
  );
  return async (page) => {
    await made;
    for (const table of TABLES)
      await sql.query(
        `insert into bench.sync_${table} (record, body) select r->>'subject_id', r from jsonb_array_elements($1::jsonb) r`,
        [JSON.stringify(page)],
      );
  };
}

async function bareExport(
  stage: Stage,
  apiUrl: string,
  { token }: ConnectedStudy,
  insert: (page: Page) => Promise<void>,
): Promise<void> {
  const ask = async (more: Record<string, string>) => {
    const response = await fetch(apiUrl, {
      method: 'POST',
      body: new URLSearchParams({ token, content: 'record', format: 'json', type: 'flat', ...more }),
    });
    return (await response.json()) as Page;
  };
  const ids = (await ask({ 'fields[0]': 'subject_id' })).map((row) => row['subject_id']!);
  for (let at = 0; at < ids.length; at += PAGE)
    await insert(await ask(Object.fromEntries(ids.slice(at, at + PAGE).map((id, i) => [`records[${i}]`, id]))));
}

/** @throws unless the bare program left what the sync left */
async function checkSame(stage: Stage, ours: ConnectedStudy, other: ConnectedStudy): Promise<void> {
  for (const table of [
    'participants',
    'anchor_dates',
    'form_instances',
    'anchor_date_history',
    'anchor_decisions',
    'schedule_versions',
    'scheduled_visits',
    'visit_states',
    'notifications',
    'domain_events',
    'datacapture_records',
  ]) {
    const {
      rows: [count],
    } = await stage.sql.query<{ ours: number; other: number }>(
      `select count(*) filter (where study_id = $1)::integer as ours, count(*) filter (where study_id = $2)::integer as other from ${table}`,
      [ours.id, other.id],
    );
    if (count!.ours < RECORDS || count!.ours !== count!.other)
      throw new Error(`${table}: the sync left ${count!.ours} rows, the bare program ${count!.other}`);
  }
}
