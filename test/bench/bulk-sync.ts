import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Figure } from './figure.js';
import { median } from './figure.js';
import { asOwner, timed } from './measuring.js';
import { compared, inPairs } from './pairs.js';
import { enrollInBulk, studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';

const SESSIONS = 250,
  TASKS = ['stroop', 'flanker', 'n_back'],
  TRIALS = 20,
  ITEMS = SESSIONS * (1 + TASKS.length);

interface SessionItem {
  id: string;
  participantId: string;
  studyId: string;
  status: string;
  startedAt: string;
  completedAt: string;
  language: string;
  deviceId: string;
}
interface Trial {
  trial_index: number;
  rt: number;
  correct: boolean;
  timestamp: string;
}
interface ResponseItem {
  id: string;
  sessionId: string;
  task: string;
  summary: Record<string, number>;
  trials: Trial[];
}
interface Bulk {
  sessions: SessionItem[];
  responses: ResponseItem[];
}

const TABLES = `
drop table if exists bench.sync_sessions, bench.sync_responses, bench.sync_trials;
create table bench.sync_sessions (id text primary key, study_id uuid not null, participant_id uuid not null, status text not null, started_at timestamptz not null, completed_at timestamptz, language text, device_id text);
create table bench.sync_responses (id text primary key, session_id text not null, task text not null, summary jsonb not null);
create table bench.sync_trials (session_id text not null, task text not null, trial_index integer not null, rt double precision, correct boolean, at timestamptz not null);`;

/**
 * BULK_SYNC: 1,000 items of a device (250 sessions, a response for each of three tasks, 20 trials each) in one call;
 * compared with a COPY of the same rows, a row each, in one transaction. BULK_SYNC_AGAIN: the same call again, which
 * changes nothing, against the first.
 */
export async function bulkSyncFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const studyId = await studyWithWindows(stage, 0);
  const [participantId] = await enrollInBulk(stage, studyId, 1);
  await stage.sql.query(TABLES);
  const again: number[] = [],
    second: number[] = [];
  // As text: what the device does with its items is not the service's.
  const send = (body: string, expected: { created?: number; duplicates?: number }) =>
    timed(ITEMS, async () => {
      const response = await fetch(`${stage.service.run.api}/api/sync/bulk`, {
        method: 'POST',
        headers: stage.headers,
        body,
      });
      const answer = (await response.json()) as { created: number; duplicates: number };
      if (answer.created !== (expected.created ?? 0) || answer.duplicates !== (expected.duplicates ?? 0))
        throw new Error(`${answer.created} items were created and ${answer.duplicates} known, of ${ITEMS}`);
    });
  const pairs = await inPairs(
    rounds,
    async (round) => {
      const body = JSON.stringify(recorded(studyId, participantId!));
      await stage.quiet();
      const first = await send(body, { created: ITEMS });
      await stage.quiet();
      const repeated = await send(body, { duplicates: ITEMS });
      if (round > 0) {
        again.push(repeated.p50 / first.p50);
        second.push(repeated.p50);
      }
      return first;
    },
    async () => {
      const bulk = recorded(studyId, participantId!);
      await stage.quiet();
      return timed(ITEMS, () => asOwner(stage, (client) => copied(client, bulk)));
    },
  );
  const first = compared(pairs, (m) => m.p50);
  return [
    {
      name: 'BULK_SYNC',
      what: `a device’s ${ITEMS} items in one call (${SESSIONS} sessions, ${ITEMS - SESSIONS} responses of ${TRIALS} trials); a COPY of the same rows`,
      ...first,
      goal: { is: '<=', value: 3 },
      unit: 'ms',
    },
    {
      name: 'BULK_SYNC_AGAIN',
      what: 'the same once more, which changes nothing, against the first time',
      ratio: median(again),
      ours: median(second),
      baseline: first.ours,
      goal: { is: '<=', value: 1 },
      unit: 'ms',
    },
  ];
}

function recorded(studyId: string, participantId: string): Bulk {
  const began = Date.now() - 14 * 86_400_000;
  const iso = (at: number) => new Date(at).toISOString();
  const sessions = Array.from({ length: SESSIONS }, (_, i): SessionItem => ({
    id: randomUUID(),
    participantId,
    studyId,
    status: 'completed',
    startedAt: iso(began + i * 3_600_000),
    completedAt: iso(began + i * 3_600_000 + 600_000),
    language: 'en',
    deviceId: 'tablet-1',
  }));
  return {
    sessions,
    responses: sessions.flatMap(({ id, startedAt }) =>
      TASKS.map((task): ResponseItem => ({
        id: randomUUID(),
        sessionId: id,
        task,
        summary: { mean_rt: 500, accuracy: 0.9, total_trials: TRIALS },
        trials: Array.from({ length: TRIALS }, (_, n) => ({
          trial_index: n,
          rt: Math.round((250 + Math.random() * 500) * 10) / 10,
          correct: Math.random() < 0.9,
          timestamp: iso(Date.parse(startedAt) + n * 1_500),
        })),
      })),
    ),
  };
}

async function copied(client: pg.PoolClient, { sessions, responses }: Bulk): Promise<void> {
  const copy = (into: string, text: string) =>
    pipeline(Readable.from([text]), client.query(copyFrom(`copy bench.${into} from stdin with (format csv)`)));
  await client.query('begin');
  await copy(
    'sync_sessions',
    sessions
      .map(
        (s) =>
          `${s.id},${s.studyId},${s.participantId},${s.status},${s.startedAt},${s.completedAt},${s.language},${s.deviceId}\n`,
      )
      .join(''),
  );
  await copy(
    'sync_responses',
    responses
      .map((r) => `${r.id},${r.sessionId},${r.task},"${JSON.stringify(r.summary).replaceAll('"', '""')}"\n`)
      .join(''),
  );
  await copy(
    'sync_trials',
    responses
      .flatMap((r) =>
        r.trials.map((t) => `${r.sessionId},${r.task},${t.trial_index},${t.rt},${t.correct},${t.timestamp}\n`),
      )
      .join(''),
  );
  await client.query('commit');
}
