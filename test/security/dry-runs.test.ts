import { expect } from 'chai';
import pg from 'pg';
import { Visitor, tokenIn } from '../console/stage.js';
import { admin, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service, until } from '../support/service.js';

/** A dry run of a policy holds a connection of the API for as long as it computes, and there are few. */
describe('Dry runs of a policy by one user', () => {
  let root: Http;
  let study: Loose;
  let sql: pg.Client;
  before(async () => {
    root = await admin();
    study = await newStudy(root);
    sql = new pg.Client({ connectionString: (await service()).database_url });
    await sql.connect();
  });
  after(() => sql?.end());

  const tried = (by: Http) => by.post(`/api/studies/${study.id}/config/enrollment-policy?dry_run=true`, {});
  /** Requests alone: the worker's sweeps wait for the table as well. */
  const waiting = async (n: number) =>
    until(
      async () => {
        // A transaction sees no session that began after its first look, unless it forgets that one.
        await sql.query('select pg_stat_clear_snapshot()');
        const { rows } = await sql.query<{ n: number }>(
          `select count(*)::int as n from pg_locks join pg_stat_activity using (pid)
             where relation = 'visit_windows'::regclass and not granted and application_name = 'api'`,
        );
        return rows[0]!.n >= n;
      },
      { what: `${n} dry runs that wait` },
    );

  it('are three at a time; others go on meanwhile, and so do these once they are done', async () => {
    const [one, other] = await Promise.all([0, 1].map(() => user(root, 'researcher', { study_ids: [study.id] })));
    await sql.query('begin');
    await sql.query('lock table visit_windows in access exclusive mode');
    const first = [tried(one!), tried(one!), tried(one!)];
    await waiting(3);
    const refused = await tried(one!);
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).to.deep.equal([
      429,
      'QUOTA_EXCEEDED',
      '5',
    ]);
    const theirs = tried(other!);
    await waiting(4);
    await sql.query('rollback');
    for (const { status } of await Promise.all([...first, theirs])) expect(status).to.equal(200);
    expect((await tried(one!)).status).to.equal(200);
  });

  it('are so many together with those in the console, also of a study whose page does not wait for them', async () => {
    const large = await newStudy(root);
    // The sweep for participants without a running workflow leaves those of tomorrow alone.
    await sql.query(
      `with p as (insert into participants (study_id, participant_code, status, enrollment_date, created_at)
         select $1, 'D-' || n, 'enrolled', current_date - 20, now() + interval '1 day' from generate_series(1, 2001) n
         returning id)
       insert into anchor_dates (participant_id, study_id, enrollment_date_value, timezone, source_type, source_ref,
         captured_at, status, version)
       select id, $1, current_date - 20, 'UTC', 'manual_entry', '{}', now(), 'provisional', 2 from p`,
      [large.id],
    );
    const one = await user(root, 'researcher', { study_ids: [study.id, large.id] });
    const visitor = await Visitor.of(root.base, one.email);
    const page = (id: string) => `/console/studies/${id}/policy`;
    const token = tokenIn((await visitor.get(page(study.id))).text);
    const attempt = (id: string, policy: string) =>
      visitor.send('POST', page(id), { _token: token, _back: page(id), policy, policy_version: '1', do: 'try' });
    const added = () =>
      visitor.send('POST', `/console/studies/${study.id}/windows/new`, {
        _token: token,
        _back: page(study.id),
        code: 'W',
        name: 'W',
        target_day: '3',
        window_before: '0',
        window_after: '1',
        sort_order: '1',
        do: 'try',
      });
    await sql.query('begin');
    await sql.query('lock table visit_windows in access exclusive mode');
    const started = await attempt(large.id, '{}');
    expect(started.status, started.text).to.equal(303);
    const first = [attempt(study.id, '{}'), added()];
    await waiting(3);
    const byRest = await tried(one);
    expect([byRest.status, byRest.body.code]).to.deep.equal([429, 'QUOTA_EXCEEDED']);
    const refused = [attempt(large.id, '{ }'), attempt(study.id, '{ }'), added()];
    // Their pages show the plan as it is.
    await waiting(6);
    await sql.query('rollback');
    for (const { status } of await Promise.all(first)) expect(status).to.equal(200);
    for (const { status, text } of await Promise.all(refused)) {
      expect(status).to.equal(429);
      expect(text).to.include('The limit is reached for now. Try again later.');
    }
    const { pathname } = new URL(started.headers.get('location')!, root.base);
    await until(async () => (await visitor.get(pathname)).text.includes('of 2,001 would move.'), {
      timeout: 60_000,
      what: 'the dry run that nobody waits for',
    });
    expect((await tried(one)).status).to.equal(200);
  });
});
