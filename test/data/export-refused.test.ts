import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { datasetNames } from '../../db/exports/datasets.js';
import { Site, trials } from '../assessment/stage.js';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

describe('An export that cannot be', function suite() {
  this.timeout(120_000);
  let http: Http, study: string, database: pg.Client;
  before(async () => {
    http = await admin();
    study = (await newStudy(http)).id;
    database = new pg.Client({ connectionString: (await service()).database_url });
    await database.connect();
    await database.query(`select set_config('app.studies', '*', false)`);
  });
  after(() => database.end());

  it('is refused by from and to of a year that the calendar does not have, streamed or in the background, for every dataset', async () => {
    for (const dataset of datasetNames) {
      for (const mode of ['stream', 'background']) {
        for (const [format, bound] of [
          ['csv', 'from'],
          ['json', 'to'],
        ] as const) {
          const answer = await http.post(`/api/exports/${format}`, {
            study_id: study,
            dataset,
            [bound]: '0000-01-01',
            mode,
          });
          expect(
            [answer.status, answer.body.errors?.map(({ path, code }) => [path, code])],
            `${dataset} ${mode} ${answer.text.slice(0, 200)}`,
          ).to.deep.equal([422, [[bound, 'FORMAT']]]);
        }
      }
    }
    const {
      rows: [kept],
    } = await database.query<{ exports: number; records: number }>(
      `select (select count(*)::integer from exports where study_id = $1) as exports, (select count(*)::integer from audit_log where study_id = $1 and action = 'data_exported') as records`,
      [study],
    );
    expect(kept).to.deep.equal({ exports: 0, records: 0 });
  });

  it('as a workbook is refused before it begins where a sheet has too few rows', async () => {
    const site = await Site.open();
    const id = await site.session();
    await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: trials('stroop', 2) });
    await database.query(
      `insert into raw_trial_chunks (session_id, task, chunk, study_id, trials, trial_index, rt, correct, at)
       select session_id, task, 1, study_id, n, array_fill(0, array[n]), array_fill(0.0::double precision, array[n]),
         array_fill(true, array[n]), array_fill(now(), array[n]) from raw_trial_chunks, (select 1048574 as n) x
       where session_id = $1`,
      [id],
    );
    const ask = (mode: string, more: Record<string, unknown> = {}) =>
      http.post('/api/exports/xlsx', { study_id: site.study.id, dataset: 'raw_trials', mode, ...more });
    for (const mode of ['background', 'stream']) {
      const { status, body } = await ask(mode);
      expect([status, body.errors?.map(({ path, code }) => [path, code])]).to.deep.equal([
        400,
        [['dataset', 'TOO_MANY_ROWS']],
      ]);
    }
    expect((await ask('stream', { participant_ids: [randomUUID()] })).status).to.equal(200);
    await database.query('delete from raw_trial_chunks where session_id = $1 and chunk = 1', [id]);
    expect((await ask('stream')).status).to.equal(200);
  });

  it('in the background has failed, and says why, at the first refusal of the database that a repetition cannot fix', async () => {
    // As a release that took such a day has left it.
    const id = randomUUID();
    await database.query(
      `with ordered as (insert into exports (id, study_id, requested_by_id, dataset, format, filters) values ($1, $2, $3, 'participants', 'csv', '{"from":"0000-01-01"}') returning id, study_id)
      insert into outbox (topic, study_id, subject) select 'export', study_id, id::text from ordered`,
      [id, study, http.userId],
    );
    const failed = await until(
      async () => {
        const seen = await http.expect<Loose>(200, 'GET', `/api/exports/${id}`);
        return seen.status === 'failed' ? seen : undefined;
      },
      { what: 'the export to have failed' },
    );
    expect(failed).to.include({ status: 'failed', download_url: null }).and.property('completed_at').to.be.a('string');
    expect(failed.error)
      .to.be.a('string')
      .and.match(/value/)
      .and.match(/22008/)
      .and.not.match(/select|0000-01-01|at \w+ \(/i);
    const download = await http.get(`/api/exports/${id}/download`);
    expect([404, 409]).to.include(download.status);
  });

  it('begun, because its connection to the database is lost before it has a row, is answered by 503', async () => {
    await database.query('begin');
    try {
      await database.query('lock table randomizations in access exclusive mode');
      const asked = http.post('/api/exports/ndjson', { study_id: study, dataset: 'randomization' });
      const reading = await until(
        async () => {
          // A transaction sees no session that began after its first look, unless it forgets that one.
          await database.query('select pg_stat_clear_snapshot()');
          const { rows } = await database.query<{ pid: number }>(
            `select pid from pg_locks join pg_stat_activity using (pid)
               where relation = 'randomizations'::regclass and not granted and application_name = 'api'`,
          );
          return rows[0]?.pid;
        },
        { what: 'the export to read' },
      );
      await database.query('select pg_terminate_backend($1)', [reading]);
      const { status, body, headers } = await asked;
      expect([status, body.code]).to.deep.equal([503, 'DATABASE_UNAVAILABLE']);
      expect(headers.get('retry-after')).to.match(/^\d+$/);
      expect(headers.get('content-disposition')).to.equal(null);
    } finally {
      await database.query('rollback');
    }
    const again = await http.post('/api/exports/ndjson', { study_id: study, dataset: 'randomization' });
    expect([again.status, again.text]).to.deep.equal([200, '']);
  });
});
