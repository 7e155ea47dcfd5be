import { startChild } from './child.js';
import { ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import type { Batch, HttpRequest } from './load.js';
import { growth } from './measuring.js';
import { compared, inPairs } from './pairs.js';
import { enrollInBulk, studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';

const TRIALS = 1_000,
  SESSIONS = 200,
  CONNECTIONS = 16;
const LARGE = 50_000,
  EXTRA_MB = 150;

/**
 * SUBMIT: a submission of 1,000 trials, with everything that the service makes of it (schema, hashes, summary and
 * quality recomputed, audit record); compared with bare Koa that parses the body and writes the same trials by COPY, a
 * row each, into a table without an index.
 */
export async function submissionFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const studyId = await studyWithWindows(stage, 0);
  const bare = await startChild<object, object, { url: string }>('bare/api.js', {
    ...process.env,
    BARE_DATABASE_URL: stage.service.run.database_url,
    BARE_SECRET: 'not asked for',
  });
  try {
    const batch = async (url: string): Promise<Batch> => ({
      kind: 'batch',
      url,
      concurrency: CONNECTIONS,
      requests: (await openSessions(stage, studyId, SESSIONS)).map((id) => submission(id, TRIALS)),
    });
    const pairs = await inPairs(
      rounds,
      async () => {
        const load = await batch(stage.service.run.api);
        await stage.quiet();
        const before = await storedTrials(stage, studyId);
        const measured = await stage.load.ask(load);
        const stored = (await storedTrials(stage, studyId)) - before;
        if (stored !== SESSIONS * TRIALS) throw new Error(`${stored} trials are stored of ${SESSIONS * TRIALS}`);
        return measured;
      },
      async () => {
        const load = await batch(bare.ready.url);
        await stage.sql.query('truncate bench.trials');
        await stage.quiet();
        const measured = await stage.load.ask(load);
        const { rows } = await stage.sql.query<{ stored: number }>(
          'select count(*)::integer as stored from bench.trials',
        );
        if (rows[0]!.stored !== SESSIONS * TRIALS)
          throw new Error(`the bare program stored ${rows[0]!.stored} trials of ${SESSIONS * TRIALS}`);
        return measured;
      },
    );
    return [
      {
        name: 'SUBMIT',
        what: `submissions of ${TRIALS} trials, ${CONNECTIONS} connections; bare Koa with a COPY of the same rows`,
        ...compared(pairs, (m) => m.perSecond),
        goal: { is: '>=', value: 0.5 },
        unit: 'submissions/s',
      },
    ];
  } finally {
    await bare.stop();
  }
}

/** SUBMIT_MEMORY: what the API holds above idle while it takes the largest submission that is allowed. */
export async function submissionMemory(stage: Stage): Promise<Figure[]> {
  const studyId = await studyWithWindows(stage, 0);
  // One small submission first: what is loaded and planned once is not the submission's.
  const [small, large] = await openSessions(stage, studyId, 2);
  await send(stage, submission(small!, 10));
  await stage.quiet();
  const sent = submission(large!, LARGE);
  const grown = await growth(stage, () => send(stage, sent));
  const stored = await storedTrials(stage, studyId);
  if (stored !== LARGE + 10) throw new Error(`${stored} trials are stored of ${LARGE + 10}`);
  return [
    ofLimit(
      'SUBMIT_MEMORY',
      grown,
      EXTRA_MB,
      'MB',
      `what the API holds above idle during a submission of ${LARGE} trials`,
    ),
  ];
}

async function send(stage: Stage, { path, headers, body }: HttpRequest): Promise<void> {
  const response = await fetch(`${stage.service.run.api}${path}`, { method: 'POST', headers, body: body! });
  if (response.status !== 200)
    throw new Error(`a submission was answered with ${response.status}: ${(await response.text()).slice(0, 300)}`);
  await response.arrayBuffer();
}

/** Sessions that have just been started, each of a participant of its own. */
export async function openSessions(stage: Stage, studyId: string, count: number): Promise<string[]> {
  const participants = await enrollInBulk(stage, studyId, count);
  const { rows } = await stage.sql.query<{ id: string }>(
    `insert into assessment_sessions (study_id, participant_id, status, expires_at) select $1, p, 'active', now() + interval '2 hours' from unnest($2::uuid[]) p returning id`,
    [studyId, participants],
  );
  return rows.map(({ id }) => id);
}

async function storedTrials(stage: Stage, studyId: string): Promise<number> {
  const { rows } = await stage.sql.query<{ stored: number }>(
    'select coalesce(sum(trials), 0)::integer as stored from raw_trial_chunks where study_id = $1',
    [studyId],
  );
  return rows[0]!.stored;
}

export function submission(sessionId: string, count: number): HttpRequest {
  const began = Date.now() - count * 100;
  const raw_trials = Array.from({ length: count }, (_, i) => ({
    task: 'stroop',
    trial_index: i,
    rt: Math.round((250 + Math.random() * 500) * 10) / 10,
    correct: Math.random() < 0.9,
    timestamp: new Date(began + i * 100).toISOString(),
  }));
  return {
    method: 'POST',
    path: '/api/submit',
    headers: { 'content-type': 'application/json', 'x-session-id': sessionId },
    body: JSON.stringify({
      session_id: sessionId,
      task_summaries: { stroop: { mean_rt: 500, accuracy: 0.9, total_trials: count } },
      raw_trials,
    }),
  };
}
