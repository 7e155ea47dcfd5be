import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import { unzipped } from '../support/archive.js';
import { admin } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { filledStudy } from './filled-study.js';
import type { FilledStudy } from './filled-study.js';

type Row = Record<string, unknown>;
const DATASETS = [
  'participants',
  'visits',
  'sessions',
  'task_summaries',
  'raw_trials',
  'anchors',
  'anchor_history',
  'schedule_versions',
  'notifications',
  'consents',
  'eligibility',
  'randomization',
  'forms',
];
const FORMATS = ['csv', 'json', 'ndjson', 'xlsx', 'zip'] as const;
/** Workbooks have the names of their format’s extensions, in braces. */
const UUID = /(?<!\{)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
const INSTANT = /T\d\d:\d\d:\d\d.*Z$/;
/** An instant of a plan is a whole minute. */
const PLANNED = /:00(\.000)?Z$/;

const isInstant = (value: unknown): value is string => typeof value === 'string' && INSTANT.test(value);

function noteLatest(of: Map<string, string>, column: string, instant: string): void {
  if (instant > (of.get(column) ?? '')) of.set(column, instant);
}

/** Everything that an export gave away: its file, its file's name, and what is packed in it. */
async function givenAway(http: Http, path: string, body?: object): Promise<{ text: string; bytes: Buffer }> {
  const response = await fetch(`${http.base}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${http.token!}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.status, bytes.toString('utf8', 0, 300)).to.equal(200);
  const parts =
    bytes.subarray(0, 2).toString('latin1') === 'PK'
      ? [...unzipped(bytes)].map(([name, content]) => `${name}\n${content.toString('utf8')}`)
      : [bytes.toString('utf8')];
  return { text: [response.headers.get('content-disposition')!, ...parts].join('\n'), bytes };
}

describe('A de-identified export', function () {
  this.timeout(180_000);
  let http: Http;
  let filled: FilledStudy;
  /**
   * What tells where a row is from: each id, code, address and name of the study, and each instant at which something
   * happened, to the millisecond. Of the instants of a plan, which many share, the latest.
   */
  const secrets = new Set<string>();
  /** The same of whatever is too short to be looked for in a text: as a value of its own. */
  const codes = new Set<string>();
  /**
   * The latest instant of each column of a dataset. Every row is moved to an earlier day, so none can be as late. An
   * earlier one may be the moved instant of somebody else, where a plan names the hour.
   */
  const latest = new Map<string, string>();

  before(async () => {
    http = await admin();
    filled = await filledStudy(http);
    const { study, sites, battery, windows, people } = filled;
    // Enough people that the order of their pseudonyms is not that of their codes by chance.
    for (let n = 0; n < 8; n += 1)
      people.push(await filled.site.newParticipant({ site_code: n % 2 === 0 ? 'BER' : 'NYC' }));
    for (const { id } of people.slice(3))
      await http.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: id,
        name: 'At home with Ms Noether',
        target_date: '2031-05-20',
        window_open: '2031-05-20',
        window_close: '2031-05-20',
      });
    for (const text of [
      study.id,
      study.study_code,
      ...sites.map(({ id }) => id),
      battery.code,
      http.userId,
      ...people.flatMap(({ id, external_id, email, phone }) => [id, external_id, email, phone]),
      '=1+1',
      'Zoë',
      'moved away',
      '@first',
      'counted from',
      'Noether',
    ])
      if (typeof text === 'string') secrets.add(text);
    for (const code of [
      ...sites.map(({ site_code }) => site_code),
      ...windows.map((window) => window.code),
      ...people.map((person) => person.participant_code),
    ])
      codes.add(String(code));
    for (const dataset of DATASETS) {
      for (const row of (
        await http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', { study_id: study.id, dataset })
      ).rows) {
        for (const [name, value] of Object.entries(row)) {
          if (typeof value === 'string' && (UUID.test(value) || (isInstant(value) && !PLANNED.test(value))))
            secrets.add(value);
          if (isInstant(value)) noteLatest(latest, `${dataset}.${name}`, value);
          if (name.endsWith('timezone') && typeof value === 'string') codes.add(value);
        }
      }
    }
    secrets.add([...latest.values()].sort().at(-1)!);
    // The study's own zone is nobody's, and stands for anyone who has none of their own.
    codes.delete('UTC');
  });

  function holdsNothing(text: string, what: string): void {
    expect(text, what).not.to.match(UUID);
    for (const secret of secrets) expect(text.includes(secret), `${what} tells ${secret}`).to.equal(false);
  }

  for (const dataset of DATASETS) {
    for (const format of FORMATS) {
      it(`of ${dataset} as ${format} has no id, code, address or instant of the study`, async () => {
        const { text, bytes } = await givenAway(http, `/api/exports/${format}`, {
          study_id: filled.study.id,
          dataset,
          deidentify: true,
        });
        holdsNothing(text, `${dataset}.${format}`);
        if (format !== 'csv' && format !== 'json') return;
        const rows: Row[] =
          format === 'csv'
            ? parse(bytes, { columns: true })
            : (JSON.parse(bytes.toString('utf8')) as { rows: Row[] }).rows;
        expect(rows.length, dataset).to.be.greaterThan(0);
        const told = new Map<string, string>();
        for (const row of rows)
          for (const [name, value] of Object.entries(row)) {
            expect(codes.has(String(value)), `${name} is ${String(value)}`).to.equal(false);
            if (isInstant(value)) noteLatest(told, `${dataset}.${name}`, value);
          }
        for (const [column, instant] of told) expect(instant < latest.get(column)!, column).to.equal(true);
      });
    }

    // Raw trials stand by the ids of their sessions, which are drawn by lot.
    if (dataset !== 'raw_trials')
      it(`of ${dataset} does not put its rows in the order of what it hides`, async () => {
        const { rows } = await http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', {
          study_id: filled.study.id,
          dataset,
          deidentify: true,
        });
        const whose = rows.map((row) => String(row.participant_id ?? row.id));
        expect(whose).to.deep.equal([...whose].sort());
      });
  }

  it('made wide, or in the background, tells no more', async () => {
    const wide = { study_id: filled.study.id, dataset: 'task_summaries', layout: 'wide', deidentify: true };
    for (const format of FORMATS)
      holdsNothing((await givenAway(http, `/api/exports/${format}`, wide)).text, `wide ${format}`);
    const accepted = await http.expect<Loose & { status_url: string }>(202, 'POST', '/api/exports/json', {
      study_id: filled.study.id,
      dataset: 'sessions',
      deidentify: true,
      mode: 'background',
    });
    const done = await until(
      async () => {
        const seen = await http.expect<Loose & { download_url: string | null }>(200, 'GET', accepted.status_url);
        return seen.download_url ?? undefined;
      },
      { timeout: 60_000, what: 'the export to be written' },
    );
    holdsNothing((await givenAway(http, done)).text, 'in the background');
  });

  it('says of the study what it says of everybody: a pseudonym, the same each time', async () => {
    const [first, second] = await Promise.all(
      ['sessions', 'visits'].map((dataset) =>
        http.expect<{ study_code: string }>(200, 'POST', '/api/exports/json', {
          study_id: filled.study.id,
          dataset,
          deidentify: true,
        }),
      ),
    );
    expect(first!.study_code)
      .to.match(/^[0-9a-f]{20}$/)
      .and.equal(second!.study_code);
  });

  it('of the audit is refused in every format', async () => {
    for (const format of FORMATS) {
      const answer = await http.post(`/api/exports/${format}`, {
        study_id: filled.study.id,
        dataset: 'audit',
        deidentify: true,
      });
      expect([answer.status, answer.body.errors[0]!.code], format).to.deep.equal([400, 'NOT_DEIDENTIFIABLE']);
    }
  });
});
