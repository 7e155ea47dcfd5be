import { parse } from 'csv-parse/sync';
import { expect } from 'chai';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { Site, day, trials } from '../assessment/stage.js';

type Row = Record<string, unknown>;
const SUMMARIES = [
  { stroop: { mean_rt: 512.25, accuracy: 0.875 }, n_back: { d_prime: 2.5 } },
  { stroop: { mean_rt: 480, '=SUM(A1)': 1, [`${'ü'.repeat(60)}a`]: 7, [`${'ü'.repeat(60)}b`]: 8 } },
];

describe('A wide export of task summaries', function () {
  this.timeout(120_000);
  let http: Http;
  let site: Site;
  let visit: Loose;
  before(async () => {
    http = await admin();
    site = await Site.open({ timezone: 'UTC' }, http);
    await http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: site.study.id,
      code: 'W0',
      name: 'Week 0',
      target_day: 0,
    });
    visit = await site.visit({ name: 'by hand' });
    for (const [at, task_summaries] of SUMMARIES.entries()) {
      const id = await site.session({ visit_id: at === 0 ? visit.id : null });
      const answer = await site.submit(id, { task_summaries });
      expect(answer.status, answer.text).to.equal(200);
      await site.end(id);
    }
  });
  const ask = (format: string, more: object = {}) =>
    http.post<{ rows: Row[] }>(`/api/exports/${format}`, {
      study_id: site.study.id,
      dataset: 'task_summaries',
      layout: 'wide',
      ...more,
    });

  it('has a row for each session with its visit and a column for each metric, the same values as the long one', async () => {
    const answer = await ask('json');
    expect(answer.status, answer.text.slice(0, 300)).to.equal(200);
    const [first, second] = answer.body.rows;
    expect(first).to.include({
      participant_code: site.participant.participant_code,
      visit_name: 'by hand',
      window_code: null,
      target_date: visit.target_date,
      'stroop.mean_rt': 512.25,
      'stroop.accuracy': 0.875,
      'n_back.d_prime': 2.5,
      'stroop.=SUM(A1)': null,
      'stroop.summary_source': 'client',
      'n_back.summary_source': 'client',
    });
    expect(second).to.include({
      visit_id: null,
      visit_name: null,
      'stroop.mean_rt': 480,
      'stroop.accuracy': null,
      'stroop.=SUM(A1)': 1,
    });
    const long = (
      await http.expect<{ rows: { value: number }[] }>(200, 'POST', '/api/exports/json', {
        study_id: site.study.id,
        dataset: 'task_summaries',
      })
    ).rows;
    const values = answer.body.rows.flatMap((row) => Object.values(row).filter((value) => typeof value === 'number'));
    expect(values.sort()).to.deep.equal(long.map(({ value }) => value).sort());
    expect(Object.keys(first!).filter((name) => name.startsWith('stroop.ü'))).to.have.length(2);
  });

  it('as CSV it has the same columns; in a zip the dictionary says what each is', async () => {
    const [{ body }, csv] = [await ask('json'), await ask('csv')];
    expect(csv.headers.get('content-disposition')).to.match(/-task_summaries-wide-\d{8}T\d{6}Z-[\da-f]{8}\.csv"$/);
    const [header, ...rows] = parse(csv.text) as string[][];
    expect(header).to.deep.equal(Object.keys(body.rows[0]!));
    expect(rows.map((cells) => cells[header!.indexOf('stroop.mean_rt')])).to.deep.equal(['512.25', '480']);
  });

  it('says of each task whether its metrics are the client’s or computed from the trials, behind all metrics', async () => {
    const other = await Site.open({}, http);
    const id = await other.session();
    await other.submit(id, { task_summaries: { n_back: { d_prime: 1 } }, raw_trials: trials('stroop', 3) });
    const { rows } = (
      await http.post<{ rows: Row[] }>('/api/exports/json', {
        study_id: other.study.id,
        dataset: 'task_summaries',
        layout: 'wide',
      })
    ).body;
    expect(rows[0]).to.include({ 'n_back.summary_source': 'client', 'stroop.summary_source': 'computed' });
    expect(Object.keys(rows[0]!).slice(-2)).to.deep.equal(['n_back.summary_source', 'stroop.summary_source']);
  });

  it('narrowed to nothing it has the fixed columns alone', async () => {
    expect((await ask('csv', { from: day(1) })).text.trimEnd().split(','))
      .to.include('visit_name')
      .and.to.have.length(10);
    expect((await ask('json', { site_code: 'no? such' })).body.rows).to.deep.equal([]);
  });

  it('de-identified, names of visits stay and codes are pseudonyms', async () => {
    const answer = await ask('json', { deidentify: true });
    expect(answer.text)
      .not.to.include(site.participant.participant_code as string)
      .and.not.to.include(site.participant.id);
    expect(answer.body.rows.map((row) => row['stroop.mean_rt'])).to.have.members([512.25, 480]);
  });

  it('in the background too, also where a filter has a question mark', async () => {
    for (const more of [{}, { site_code: 'what?' }]) {
      const accepted = await ask('csv', { mode: 'background', ...more });
      expect(accepted.status, accepted.text).to.equal(202);
      const { status_url } = accepted.body as unknown as { status_url: string };
      const done = await until(
        async () => {
          const seen = await http.expect(200, 'GET', status_url);
          return seen.status === 'completed' || seen.status === 'failed' ? seen : undefined;
        },
        { timeout: 60_000, what: 'the export to be written' },
      );
      expect(done.status).to.equal('completed');
      expect((await http.get(done.download_url as string)).text).to.equal((await ask('csv', more)).text);
    }
  });

  it('of another dataset it is refused', async () => {
    const answer = await http.post('/api/exports/csv', {
      study_id: (await newStudy(http)).id,
      dataset: 'visits',
      layout: 'wide',
    });
    expect([answer.status, answer.body.errors[0]!.code, answer.body.errors[0]!.path]).to.deep.equal([
      400,
      'ONLY_LONG',
      'layout',
    ]);
  });
});
