import { expect } from 'chai';
import pg from 'pg';
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
  const waiting = async (n: number) =>
    until(
      async () => {
        const { rows } = await sql.query<{ n: number }>(
          `select count(*)::int as n from pg_locks where relation = 'visit_windows'::regclass and not granted`,
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
});
