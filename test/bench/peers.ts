import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/until.js';
import { exportedTrials, fileOf, imported, linesIn, linesOf, studyOfTrials } from './data.js';
import type { Figure } from './figure.js';
import type { HttpRequest, Measured, Stream } from './load.js';
import { apiMb, timed } from './measuring.js';
import { residentMb } from './memory.js';
import { compared, inPairs } from './pairs.js';
import type { Pair } from './pairs.js';
import { startDirectus } from './peers/directus.js';
import type { Directus } from './peers/directus.js';
import { coordinatorOf, enrollInBulk, studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';

const PARTICIPANTS = 1_000,
  PAGE = 50,
  CONNECTIONS = 16,
  SECONDS = 3;
const IMPORTED = 10_000;
/** The slow ones are told once or twice: a run of minutes does not differ by what a look would see. */
const FEW_ROUNDS = 2;
const IDLE_SECONDS = 20;
const EXPORT_PATIENCE_MS = 30 * 60_000;

/**
 * PEERS: Directus, a general headless backend, on the same PostgreSQL, with the same collections as a study has, one
 * process each: memory when idle, a filtered page of 50 under a rule of permission, 10,000 rows imported from CSV, raw
 * trials exported as CSV, and memory meanwhile. What ours does beside it (anchors, audit chain, workflows of an import)
 * is not taken off.
 */
export async function peerFigures(stage: Stage, rounds: number, rows: number): Promise<Figure[]> {
  const directus = await startDirectus(stage);
  try {
    await sleep(IDLE_SECONDS * 1000);
    const idle = { ours: apiMb(stage), baseline: residentMb(directus.pid) };
    const pages = await pageRounds(stage, directus, rounds);
    const imports = await inPairs(
      Math.min(rounds, FEW_ROUNDS),
      () => imported(stage, fileOf(linesOf(IMPORTED)), IMPORTED),
      () => importedThere(directus),
    );
    const exports = await exportRounds(stage, directus, Math.min(rounds, FEW_ROUNDS), rows);
    return [
      {
        name: 'PEER_MEM',
        what: `resident memory of the API, ${IDLE_SECONDS} s idle; Directus without its app`,
        ratio: idle.ours / idle.baseline,
        ...idle,
        goal: { is: '<=', value: 1 },
        unit: 'MB',
      },
      {
        name: 'PEER_PAGE',
        what: `a page of ${PAGE} of ${PARTICIPANTS} participants, filtered, isolated by study, its total; ${CONNECTIONS} connections; Directus with a rule of permission over the study's members`,
        ...compared(pages, (m) => m.perSecond),
        goal: { is: '>=', value: 1 },
        unit: 'pages/s',
      },
      {
        name: 'PEER_IMPORT',
        what: `${IMPORTED.toLocaleString('en')} participants from CSV; Directus: rows and its activity log alone`,
        ...compared(imports, (m) => m.p50),
        goal: { is: '<=', value: 1 },
        unit: 'ms',
      },
      {
        name: 'PEER_EXPORT',
        what: `${rows.toLocaleString('en')} raw trials as CSV; Directus: its export to a file, and the file`,
        ...compared(exports.pairs, (m) => m.perSecond),
        goal: { is: '>=', value: 1 },
        unit: 'rows/s',
      },
      {
        name: 'PEER_EXPORT_MEM',
        what: 'the most memory that the process holds meanwhile',
        ratio: exports.most.ours / exports.most.baseline,
        ...exports.most,
        goal: { is: '<=', value: 1 },
        unit: 'MB',
      },
    ];
  } finally {
    await directus.stop();
  }
}

async function pageRounds(stage: Stage, directus: Directus, rounds: number): Promise<Pair[]> {
  const studyId = await studyWithWindows(stage, 0);
  await enrollInBulk(stage, studyId, PARTICIPANTS);
  await stage.sql.query('analyze participants');
  const [mine, other] = directus.studies;
  // As many of another study: isolation has something to leave out.
  await directus.sql.query(ENROLLED, [mine, other, PARTICIPANTS]);
  await directus.sql.query('analyze participants');
  const offsets = Array.from({ length: PARTICIPANTS / PAGE }, (_, page) => page * PAGE);
  const headers = await coordinatorOf(stage, studyId);
  const stream = (url: string, requests: HttpRequest[]): Stream => ({
    kind: 'stream',
    url,
    connections: CONNECTIONS,
    seconds: SECONDS,
    requests,
  });
  const ours = stream(
    stage.service.run.api,
    offsets.map((skip) =>
      get(`/api/studies/${studyId}/participants?status=enrolled&skip=${skip}&limit=${PAGE}`, headers),
    ),
  );
  const theirs = stream(
    directus.url,
    offsets.map((offset) =>
      get(
        `/items/participants?filter[status][_eq]=enrolled&sort=-created_at&offset=${offset}&limit=${PAGE}&meta=filter_count`,
        directus.headers,
      ),
    ),
  );
  await assertAPage(ours, 'items');
  await assertAPage(theirs, 'data');
  return inPairs(
    rounds,
    () => stage.load.ask(ours),
    () => stage.load.ask(theirs),
  );
}

const get = (path: string, headers: Record<string, string>): HttpRequest => ({ method: 'GET', path, headers });

const ENROLLED = `
insert into participants (id, study, participant_code, external_id, preferred_language, status, email, phone, timezone, date_of_birth, created_at)
select gen_random_uuid(), case when n <= $3::integer then $1::uuid else $2::uuid end, 'P-' || n, gen_random_uuid()::text, 'en', 'enrolled',
  'person' || n || '@example.org', '+49 30 ' || n, 'Europe/Berlin', date '1960-01-01' + n, now()
from generate_series(1, 2 * $3::integer) n`;

/** Both sides must answer a whole page and know how many there are, or the comparison says nothing. */
async function assertAPage({ url, requests }: Stream, list: string): Promise<void> {
  const { path, headers } = requests[1]!;
  const page = (await (await fetch(`${url}${path}`, { headers })).json()) as Record<string, unknown> & {
    total?: number;
    meta?: { filter_count: number };
  };
  const rows = page[list];
  const total = page.total ?? page.meta?.filter_count;
  if (!Array.isArray(rows) || rows.length !== PAGE || total !== PARTICIPANTS)
    throw new Error(`${url} does not answer a page of ${PAGE}: ${JSON.stringify(page).slice(0, 300)}`);
}

async function importedThere(directus: Directus): Promise<Measured> {
  const [mine] = directus.studies;
  const count = async () =>
    Number((await directus.sql.query<{ n: string }>('select count(*) as n from participants')).rows[0]!.n);
  const before = await count();
  const lines = linesOf(IMPORTED).map((line) => {
    const [code, external, , language] = line.split(',');
    return `${mine},${code!},${external!},${language!}`;
  });
  const file = new Blob([`study,participant_code,external_id,preferred_language\n${lines.join('\n')}\n`], {
    type: 'text/csv',
  });
  const form = new FormData();
  form.set('file', file, 'participants.csv');
  const measured = await timed(IMPORTED, () => directus.call('POST', '/utils/import/participants', form));
  const after = await count();
  if (after - before !== IMPORTED) throw new Error(`Directus took in ${after - before} of ${IMPORTED} rows`);
  return measured;
}

async function exportRounds(stage: Stage, directus: Directus, rounds: number, rows: number) {
  const { studyId, total } = await studyOfTrials(stage, rows);
  await directus.sql.query(
    `insert into trials (session, task, trial_index, rt, correct, at)
     select gen_random_uuid(), 'stroop', n % 1000, 250 + random() * 500, random() < 0.9, now() + n * interval '1 second'
     from generate_series(1, $1::integer) n`,
    [total],
  );
  await directus.sql.query('vacuum analyze trials');
  const most = { ours: 0, baseline: 0 };
  const look = setInterval(() => {
    most.ours = Math.max(most.ours, apiMb(stage));
    most.baseline = Math.max(most.baseline, residentMb(directus.pid));
  }, 50);
  try {
    const pairs = await inPairs(
      rounds,
      () => exportedTrials(stage, studyId, total),
      () => exportedThere(directus, total),
    );
    return { pairs, most };
  } finally {
    clearInterval(look);
  }
}

interface StoredFile {
  id: string;
  filesize: string | null;
}

/** As its app does what is large: an export to a file in the background; then the file is fetched and counted. */
const exportedThere = (directus: Directus, total: number): Promise<Measured> =>
  timed(total, async () => {
    const title = `trials ${performance.now()}`;
    await directus.call('POST', '/utils/export/trials', {
      query: { limit: -1, sort: ['id'] },
      format: 'csv',
      file: { title },
    });
    const file = await until(
      async () => {
        const filter = encodeURIComponent(JSON.stringify({ title: { _eq: title } }));
        const { data } = await directus.call<{ data: StoredFile[] }>(
          'GET',
          `/files?filter=${filter}&fields=id,filesize`,
        );
        return data.find(({ filesize }) => Number(filesize) > 0);
      },
      { timeout: EXPORT_PATIENCE_MS, what: 'the export of Directus' },
    );
    const lines = linesIn(await directus.read(`/assets/${file.id}`));
    // The last line of its files has no end.
    if (lines !== total) throw new Error(`${lines} lines came of Directus, of ${total}`);
  });
