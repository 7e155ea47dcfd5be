import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { pagesToShow } from '../console/pages.js';
import type { ShownPage, Subjects } from '../console/pages.js';
import { Visitor } from '../console/stage.js';
import { startApi } from '../support/api-process.js';
import { median, ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import { reportedStudy } from './report-study.js';
import { CountedWay } from './round-trips.js';
import { UNLIMITED } from './stage.js';
import type { Stage } from './stage.js';

const PARTICIPANTS = 10_000,
  WINDOWS = 20,
  SESSIONS_OF_A_HUNDRED = 20;
/** Of each page, for each round asked for. */
const TIMES_A_ROUND = 4,
  WARM_UP = 3;
const MEMBERS = 300;
const FIRST_BYTE_MS = 100,
  PAGE_KB = 100,
  ROUND_TRIPS = 5;
const OVER = `with ${PARTICIPANTS.toLocaleString('en')} participants and ${(PARTICIPANTS * WINDOWS).toLocaleString('en')} visits`;

interface Got {
  status: number;
  firstByteMs: number;
  bytes: number;
  text: string;
}

/**
 * CONSOLE: each page that the menu leads to, and one of each kind of record: its first byte, what it weighs with all
 * that it loads, as it is sent, and how often the database is asked for it. Each page is told as soon as it is measured.
 * @returns the pages that could not be measured, with the reason
 */
export async function consoleFigures(
  stage: Stage,
  rounds: number,
  tell: (figures: Figure[]) => void,
): Promise<string[]> {
  const times = TIMES_A_ROUND * rounds;
  const study = await reportedStudy(stage, PARTICIPANTS, WINDOWS, SESSIONS_OF_A_HUNDRED);
  const subjects = await subjectsIn(stage, study);
  const { api, admin_email, admin_password, database_url } = stage.service.run;
  const enter = async (base: string): Promise<Visitor> => {
    const visitor = new Visitor(base);
    const { status } = await visitor.login(admin_email, admin_password ?? '');
    if (status !== 303) throw new Error(`the login of the console answered ${status}`);
    return visitor;
  };
  // A further API over the same database, by a way that counts: the figures of time are those of the service itself.
  process.env.TEST_RUN_JSON = join(stage.service.dataDir, 'run.json');
  const way = await CountedWay.open(database_url);
  const counted = await startApi({ ...UNLIMITED, DATABASE_URL: way.url });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const faults: string[] = [];
  try {
    const [ours, counting] = [await enter(api), await enter(counted.url)];
    for (const page of pagesToShow(subjects)) {
      try {
        tell(await measured(page, { agent, ours, counting, way, times }));
      } catch (fault) {
        // The other pages have figures nevertheless.
        faults.push(`${page.path}: ${fault instanceof Error ? fault.message : String(fault)}`);
      }
    }
  } finally {
    agent.destroy();
    await counted.stop();
    await way.close();
  }
  return faults;
}

interface Measuring {
  agent: Agent;
  ours: Visitor;
  /** The same user at the API whose round trips are counted. */
  counting: Visitor;
  way: CountedWay;
  times: number;
}

/** The figures of one page; none where it leads to another one, since there is nothing to choose. */
async function measured(
  { name, path }: ShownPage,
  { agent, ours, counting, way, times }: Measuring,
): Promise<Figure[]> {
  const page = await get(agent, ours, path);
  if (page.status === 303) return [];
  if (page.status !== 200) throw new Error(`it answered ${page.status}`);
  const [waited, trips]: [number[], number[]] = [[], []];
  for (let n = 0; n < WARM_UP + times; n += 1) {
    const { firstByteMs } = await get(agent, ours, path);
    const asked = await way.during(() => get(agent, counting, path));
    if (n >= WARM_UP) {
      waited.push(firstByteMs);
      trips.push(asked);
    }
  }
  const figure = `CONSOLE_${name.replaceAll('-', '_').toUpperCase()}`;
  return [
    ofLimit(
      `${figure}_FIRST`,
      median(waited),
      FIRST_BYTE_MS,
      'ms',
      `${path.split('/').slice(0, 3).join('/')} ${OVER}: its first byte, the middle of ${times}`,
    ),
    ofLimit(
      `${figure}_BYTES`,
      (await weight(agent, ours, page)) / 1024,
      PAGE_KB,
      'KB',
      'the same with all that it loads, as it is sent',
    ),
    ofLimit(
      `${figure}_TRIPS`,
      median(trips),
      ROUND_TRIPS,
      'round trips',
      'the same: how often the database is asked and waited for',
    ),
  ];
}

/** Further members of the study, and records whose pages show one: a battery, an event, a document, an import, a sync. */
async function subjectsIn(stage: Stage, study: string): Promise<Subjects> {
  const { sql, adminId } = stage;
  const battery = await stage.call<{ id: number; modules: { id: string }[] }>('POST', '/api/batteries', {
    study_id: study,
    code: 'CONSOLE',
    name: 'Battery of the pages',
    modules: [{ task: 'stroop' }, { task: 'n_back' }],
  });
  await stage.call('POST', `/api/studies/${study}/event-definitions`, { event_oid: 'E1', name: 'E1', target_day: 0 });
  await stage.call('POST', '/api/audit/checkpoints', {});
  await stage.call('POST', '/api/audit-verifications', {});
  await sql.query(
    `with u as (insert into users (email, name, role, password_hash)
       select 'member-' || n || '@example.org', 'Member ' || n, 'coordinator', '-' from generate_series(1, $2::integer) n returning id)
     insert into user_studies (user_id, study_id) select id, $1 from u`,
    [study, MEMBERS],
  );
  await sql.query(
    `insert into participant_imports (study_id, id, requested_by_id, format, sha256, dry_run, mode) values ($1, gen_random_uuid(), $2, 'csv', repeat('a', 64), false, 'insert')`,
    [study, adminId],
  );
  await sql.query(
    `insert into report_documents (study_id, requested_by_id, request_id, question, status, attempt, taken_until)
     values ($1, $2, 'bench', '{"language": "en", "page_size": "a4"}', 'running', 1, now() + interval '1 hour')`,
    [study, adminId],
  );
  await sql.query(
    `insert into datacapture_syncs (study_id, kind, listed, records_total) values ($1, 'sync', true, 10)`,
    [study],
  );
  const one = async (statement: string): Promise<string> => {
    const { rows } = await sql.query<{ id: string }>(statement, statement.includes('$1') ? [study] : []);
    if (!rows[0]) throw new Error(`there is no ${statement}`);
    return rows[0].id;
  };
  return {
    study,
    participant: await one('select id from participants where study_id = $1 order by id limit 1'),
    user: await one('select user_id as id from user_studies where study_id = $1 limit 1'),
    battery: String(battery.id),
    more: {
      module_id: battery.modules[0]!.id,
      site_id: await one('select id from sites where study_id = $1 limit 1'),
      window_id: await one('select id from visit_windows where study_id = $1 limit 1'),
      event_id: await one('select id from event_definitions where study_id = $1 limit 1'),
      visit_id: await one(`select id from scheduled_visits where study_id = $1 and status = 'open' limit 1`),
      sync_id: await one('select id from datacapture_syncs where study_id = $1 limit 1'),
      import_id: await one('select id from participant_imports where study_id = $1 limit 1'),
      document_id: await one('select id from report_documents where study_id = $1 limit 1'),
      verification_id: await one('select id from audit_verifications limit 1'),
      template_id: 'longitudinal-cognition',
    },
  };
}

/** The page and every file of this service that it names. */
async function weight(agent: Agent, visitor: Visitor, page: Got): Promise<number> {
  const named = page.text.matchAll(/<(?:img|script|link)[^>]*?(?:src|href)="([^"]+)"/g);
  const files = new Set([...named].map(([, at]) => at!.replaceAll('&amp;', '&')));
  let bytes = page.bytes;
  for (const file of files) bytes += (await get(agent, visitor, file)).bytes;
  return bytes;
}

/** Asks as a browser does; `bytes` are those that come, compressed. */
function get(agent: Agent, visitor: Visitor, path: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const asked = request(
      `${visitor.base}${path}`,
      {
        agent,
        headers: {
          cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          'accept-encoding': 'br',
        },
      },
      (response) => {
        const firstByteMs = performance.now() - began;
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          const packed = response.headers['content-encoding'] === 'br';
          resolve({
            status: response.statusCode ?? 0,
            firstByteMs,
            bytes: body.length,
            text: (packed ? brotliDecompressSync(body) : body).toString('utf8'),
          });
        });
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}
