import { expect } from 'chai';
import pg from 'pg';
import { Http, admin, newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service, until } from '../support/service.js';

/** Each holds a connection of the API for as long as its reader takes, and there are few. */
describe('Files that one user reads at once', () => {
  let root: Http;
  let study: Loose;
  let sql: pg.Client;
  beforeEach(async () => {
    root = await admin();
    study = await newStudy(root);
    sql = new pg.Client({ connectionString: (await service()).database_url });
    await sql.connect();
  });
  afterEach(() => sql?.end());

  /** Requests alone: the worker's sweeps wait for the table as well. */
  const waiting = async (n: number) =>
    until(
      async () => {
        // A transaction sees no session that began after its first look, unless it forgets that one.
        await sql.query('select pg_stat_clear_snapshot()');
        const { rows } = await sql.query<{ n: number }>(
          `select count(*)::int as n from pg_locks join pg_stat_activity using (pid)
             where relation = 'scheduled_visits'::regclass and not granted and application_name = 'api'`,
        );
        return rows[0]!.n >= n;
      },
      { what: `${n} files that wait` },
    );
  const people = () => Promise.all([0, 1].map(() => user(root, 'data_manager', { study_ids: [study.id] })));
  const refusal = ({ status, body, headers }: { status: number; body: Loose; headers: Headers }) => [
    status,
    body.code,
    headers.get('retry-after'),
  ];
  /** The first `most` wait for the visits, the next is refused, and another user's goes on. */
  async function areSoMany(
    most: number,
    read: (by: Http) => Promise<{ status: number; body: Loose; headers: Headers }>,
  ) {
    const [one, other] = await people();
    await sql.query('begin');
    await sql.query('lock table scheduled_visits in access exclusive mode');
    const first = Array.from({ length: most }, () => read(one!));
    await waiting(most);
    expect(refusal(await read(one!))).to.deep.equal([429, 'QUOTA_EXCEEDED', '5']);
    const theirs = read(other!);
    await waiting(most + 1);
    await sql.query('rollback');
    for (const { status } of await Promise.all([...first, theirs])) expect(status).to.equal(200);
    await until(async () => (await read(one!)).status === 200, { what: 'a place that is free again' });
  }

  it('are five exports', async () => {
    await areSoMany(5, (by) => by.post('/api/exports/json', { study_id: study.id, dataset: 'visits' }));
  });
});
