import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.js';
import type { Figure } from './figure.js';
import type { Stream } from './load.js';
import { compared, inPairs } from './pairs.js';
import { coordinatorOf, studyWithWindows } from './setting.js';
import { TOKEN_SECRET } from './stage.js';
import type { Stage } from './stage.js';

const CONNECTIONS = 16,
  SECONDS = 3;
const TASKS = [
  'reaction_time',
  'n_back',
  'stroop',
  'flanker',
  'trail_making',
  'digit_span',
  'symbol_search',
  'continuous_performance',
];

/**
 * COMPILE: a published battery of eight modules as clients fetch it, with token, rate and the right to it as the
 * database has it at that moment; compared with bare Koa that verifies the same token, asks the database for the user
 * and the battery in one statement, and answers the same bytes from memory.
 */
export async function compileFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const studyId = await studyWithWindows(stage, 0);
  const headers = await coordinatorOf(stage, studyId);
  const battery = await stage.call<{ id: number }>('POST', '/api/batteries', {
    study_id: studyId,
    code: `B-${randomUUID().slice(0, 8)}`,
    name: 'Bench',
    status: 'published',
    modules: TASKS.map((task) => ({
      task,
      settings: {
        instructions: { en: `Read this before you begin. ${task} `.repeat(8), de: 'Bitte lesen Sie dies zuerst.' },
      },
    })),
  });
  const path = `/api/batteries/${battery.id}/compile?language=en`;
  const bytes = Buffer.from(await (await fetch(`${stage.service.run.api}${path}`, { headers })).arrayBuffer());
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  writeFileSync(join(folder, 'bytes'), bytes);
  const bare = await startChild<object, object, { url: string }>('bare/api.js', {
    ...process.env,
    BARE_DATABASE_URL: stage.service.run.database_url,
    BARE_SECRET: 'not asked for',
    BARE_BYTES_FILE: join(folder, 'bytes'),
    BARE_TOKEN_SECRET: TOKEN_SECRET,
  });
  try {
    const ours: Stream = {
      kind: 'stream',
      url: stage.service.run.api,
      connections: CONNECTIONS,
      seconds: SECONDS,
      requests: [{ method: 'GET', path, headers }],
    };
    const theirs: Stream = { ...ours, url: bare.ready.url };
    const same = Buffer.from(await (await fetch(`${theirs.url}${path}`, { headers })).arrayBuffer());
    if (!same.equals(bytes) || bytes.length < 1_000)
      throw new Error('the bare program does not answer what the service answers');
    const pairs = await inPairs(
      rounds,
      () => stage.load.ask(ours),
      () => stage.load.ask(theirs),
    );
    return [
      {
        name: 'COMPILE',
        what: `a compiled battery (${Math.round(bytes.length / 102.4) / 10} kB), its right asked of the database, ${CONNECTIONS} connections; bare Koa that verifies the token and asks one question`,
        ...compared(pairs, (m) => m.perSecond),
        goal: { is: '>=', value: 0.6 },
        unit: 'answers/s',
      },
    ];
  } finally {
    await bare.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
