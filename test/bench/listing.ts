import { startChild } from './child.js';
import type { Figure } from './figure.js';
import { median, ofLimit } from './figure.js';
import type { Batch, HttpRequest, Stream } from './load.js';
import { compared, inPairs } from './pairs.js';
import { coordinatorOf, enrollInBulk, studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';

/** Of one request after the other; what is added to it may be so many milliseconds. */
const ALONE = 400,
  ADDED_MS = 0.5;
const PARTICIPANTS = 1_000,
  PAGE = 50,
  CONNECTIONS = 16,
  SECONDS = 3;

/**
 * P2: a page of 50 of a study's 1,000 participants, asked for by a coordinator: token, rate, role, isolation by study
 * and site, validated query; compared with bare Koa and pg with the same statement and the same JSON. P2_ADDED: how
 * much longer one request alone takes.
 */
export async function listingFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const studyId = await studyWithWindows(stage, 0);
  await enrollInBulk(stage, studyId, PARTICIPANTS);
  await stage.sql.query('analyze participants');
  const headers = await coordinatorOf(stage, studyId);
  const bare = await startChild<object, object, { url: string }>('bare/api.js', {
    ...process.env,
    BARE_DATABASE_URL: stage.service.run.database_url,
    BARE_SECRET: 'not asked for',
  });
  try {
    const pages = Array.from({ length: PARTICIPANTS / PAGE }, (_, page) => `skip=${page * PAGE}&limit=${PAGE}`);
    const ours: Stream = {
      kind: 'stream',
      url: stage.service.run.api,
      connections: CONNECTIONS,
      seconds: SECONDS,
      requests: pages.map((page) => get(`/api/studies/${studyId}/participants?${page}`, headers)),
    };
    const theirs: Stream = {
      ...ours,
      url: bare.ready.url,
      requests: pages.map((page) => get(`/participants?study_id=${studyId}&${page}`, {})),
    };
    await assertSame(ours, theirs);
    const pairs = await inPairs(
      rounds,
      () => stage.load.ask(ours),
      () => stage.load.ask(theirs),
    );
    const alone = ({ url, requests }: Stream): Batch => ({
      kind: 'batch',
      url,
      concurrency: 1,
      requests: Array.from({ length: ALONE }, (_, n) => requests[n % requests.length]!),
    });
    const ones = await inPairs(
      rounds,
      () => stage.load.ask(alone(ours)),
      () => stage.load.ask(alone(theirs)),
    );
    const added = median(ones.map((pair) => pair.ours.p50 - pair.baseline.p50));
    return [
      {
        name: 'P2',
        what: 'a page of 50 of 1,000 participants, 16 connections',
        ...compared(pairs, (m) => m.perSecond),
        goal: { is: '>=', value: 0.7 },
        unit: 'pages/s',
      },
      ofLimit(
        'P2_ADDED',
        added,
        ADDED_MS,
        'ms',
        'what token, rate, role, isolation and headers add to a page at the median, one request at a time; against half a millisecond',
      ),
    ];
  } finally {
    await bare.stop();
  }
}

const get = (path: string, headers: Record<string, string>): HttpRequest => ({ method: 'GET', path, headers });

/** Both sides must answer the same bytes, or the comparison says nothing. */
async function assertSame(ours: Stream, theirs: Stream): Promise<void> {
  const [own, bare] = await Promise.all(
    [ours, theirs].map(async ({ url, requests }) => {
      const { path, headers } = requests[3]!;
      return (await fetch(`${url}${path}`, { headers })).text();
    }),
  );
  if (own !== bare || own!.length < 1_000)
    throw new Error(
      `the bare program does not answer what the service answers:\n${own!.slice(0, 600)}\n${bare!.slice(0, 600)}`,
    );
}
