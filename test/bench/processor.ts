import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { startSimulator } from '../capture-simulator/server.js';
import { connectedStudy, recordId, trigger } from './capture-study.js';
import type { HttpRequest } from './load.js';
import { bareIds, bareUpdates, enrolled } from './anchor.js';
import { enrollInBulk, studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';
import { openSessions, submission } from './submissions.js';

const PARTS = ['api', 'worker', 'temporal', 'postgres'] as const;
export type Part = (typeof PARTS)[number];
/** Milliseconds of processor time that one of a thing takes, by part of the service. */
export interface Spent {
  what: string;
  times: number;
  by: Record<Part, number>;
  /** Bytes that PostgreSQL writes ahead, and by which its tables and indexes grow. */
  walBytes: number;
  diskBytes: number;
}

/** So many of a thing make the engine warm, so many are counted. */
export const WARM = 100,
  COUNTED = 200;
const AT_ONCE = 8;

/**
 * PROCESSOR: whose processor time the three paths take that are asked for most: an anchor set, a trigger worked off, a
 * submission of a thousand trials. After as many as make the engine warm; all that follows from them is counted with
 * them.
 */
export async function processorTimes(stage: Stage): Promise<Spent[]> {
  return [
    await anchors(stage, 'starts'),
    await anchors(stage, 'runs'),
    await triggers(stage),
    await submissions(stage),
    ...(await bareRows(stage)),
  ];
}

/** What P1_RUNNING is held against. The program that asks is its API. */
async function bareRows(stage: Stage): Promise<Spent[]> {
  const bare = await bareUpdates(stage);
  try {
    const rows: Spent[] = [];
    for (const shown of [false, true]) {
      const ids = bareIds(WARM + COUNTED);
      await bare.update(AT_ONCE, ids, true);
      const update = (some: readonly string[]) => bare.update(AT_ONCE, some, false, shown);
      const what = `a bare update of a workflow that runs: one local activity, one INSERT${shown ? '; its state is shown as search attributes' : ''}`;
      rows.push(await spentOn(stage, what, ids, update, { api: stage.load.pid, worker: bare.pid }));
    }
    return rows;
  } finally {
    await bare.stop();
  }
}

export async function anchors(stage: Stage, workflow: 'starts' | 'runs'): Promise<Spent> {
  const studyId = await studyWithWindows(stage, 10);
  const people = await (workflow === 'runs' ? enrolled : enrollInBulk)(stage, studyId, WARM + COUNTED);
  const requests = people.map((id): HttpRequest => ({
    method: 'POST',
    path: `/api/studies/${studyId}/participants/${id}/anchor-date`,
    headers: stage.headers,
    body: JSON.stringify({ enrollment_date: '2026-01-05' }),
  }));
  return spent(
    stage,
    `an anchor set by REST: decision, history, schedule of ten visits; the participant’s workflow ${workflow === 'runs' ? 'runs already' : 'is started'}`,
    requests,
  );
}

export async function triggers(stage: Stage): Promise<Spent> {
  const simulator = await startSimulator({ port: 0, projects: [] });
  const secret = `s-${randomUUID()}`;
  try {
    const { projectId, id } = await connectedStudy(stage, simulator, secret, WARM + COUNTED);
    const measured = await spent(
      stage,
      'a trigger: taken, its record read, a participant with its schedule made, and their workflow started',
      Array.from({ length: WARM + COUNTED }, (_, i) => trigger(projectId, recordId(i), secret)),
    );
    const { rows } = await stage.sql.query<{ done: number }>(
      `select count(*)::integer as done from webhook_events where study_id = $1 and status = 'processed'`,
      [id],
    );
    if (rows[0]!.done !== WARM + COUNTED)
      throw new Error(`${rows[0]!.done} of ${WARM + COUNTED} triggers are worked off`);
    return measured;
  } finally {
    await simulator.stop();
  }
}

export async function submissions(stage: Stage): Promise<Spent> {
  const studyId = await studyWithWindows(stage, 0);
  const sessions = await openSessions(stage, studyId, WARM + COUNTED);
  return spent(
    stage,
    'a submission of 1,000 trials: checked, summary and quality worked out again, stored',
    sessions.map((id) => submission(id, 1_000)),
  );
}

export const spent = (stage: Stage, what: string, requests: readonly HttpRequest[]): Promise<Spent> =>
  spentOn(stage, what, requests, (some) =>
    stage.load.ask({ kind: 'batch', url: stage.service.run.api, concurrency: AT_ONCE, requests: [...some] }),
  );

/** @param instead processes that do the work of the service's */
async function spentOn<One>(
  stage: Stage,
  what: string,
  things: readonly One[],
  ask: (some: readonly One[]) => Promise<unknown>,
  instead: Partial<Record<Part, number>> = {},
): Promise<Spent> {
  await ask(things.slice(0, WARM));
  await settled(stage);
  const written = await writtenBytes(stage);
  const before = processorMs(stage, instead);
  await ask(things.slice(WARM));
  await settled(stage);
  const after = processorMs(stage, instead);
  const by = Object.fromEntries(PARTS.map((part) => [part, (after[part] - before[part]) / COUNTED])) as Spent['by'];
  const writtenAfter = await writtenBytes(stage);
  return {
    what,
    times: COUNTED,
    by,
    walBytes: (writtenAfter.wal - written.wal) / COUNTED,
    diskBytes: (writtenAfter.disk - written.disk) / COUNTED,
  };
}

async function writtenBytes(stage: Stage): Promise<{ wal: number; disk: number }> {
  const { rows } = await stage.sql.query<{ wal: string; disk: string }>(
    `select pg_current_wal_insert_lsn() - '0/0' as wal, pg_database_size(current_database()) as disk`,
  );
  return { wal: Number(rows[0]!.wal), disk: Number(rows[0]!.disk) };
}

/** Waits until what was left for later is done as well. */
export async function settled(stage: Stage): Promise<void> {
  for (;;) {
    await stage.quiet();
    const { rows } = await stage.sql.query<{ waiting: number }>('select count(*)::integer as waiting from outbox');
    if (rows[0]!.waiting === 0) return;
  }
}

const TICK_MS = 10;
/** User, system, and those of children that have ended. */
const statOf = (pid: string | number): number[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').map(Number);

export function processorMs({ service }: Stage, instead: Partial<Record<Part, number>> = {}): Record<Part, number> {
  const pids = { ...service.current().pids, ...instead };
  const own = (pid: number | string) => {
    const stat = statOf(pid);
    return (stat[11]! + stat[12]!) * TICK_MS;
  };
  const postmaster = pids.postgres!;
  const [ended, begun] = [statOf(postmaster)[13]! + statOf(postmaster)[14]!, childrenOf(postmaster)];
  return {
    api: own(pids.api!),
    worker: own(pids.worker!),
    temporal: own(pids.temporal!),
    postgres: own(postmaster) + ended * TICK_MS + begun.reduce((sum, pid) => sum + own(pid), 0),
  };
}

const childrenOf = (parent: number): string[] =>
  readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return statOf(pid)[1] === parent;
    } catch (fault) {
      // It has ended since it was listed.
      if (['ENOENT', 'ESRCH'].includes(String((fault as { code?: unknown }).code))) return false;
      throw fault;
    }
  });

const ms = (value: number): string => value.toFixed(value >= 10 ? 0 : 1);
const total = ({ by }: Spent): number => PARTS.reduce((sum, part) => sum + by[part], 0);

/** `PROCESSOR total=… api=… worker=… temporal=… postgres=… unit=ms` and what it is of. */
export const spentLine = (one: Spent): string =>
  `PROCESSOR total=${ms(total(one))} ${PARTS.map((part) => `${part}=${ms(one.by[part])}`).join(' ')} unit=ms of ${one.what}`;
/** The same as a row of a Markdown table. */
export const spentRow = (one: Spent): string =>
  `| ${one.what} | ${PARTS.map((part) => ms(one.by[part])).join(' | ')} | ${ms(total(one))} |`;
