import { expect } from 'chai';
import pg from 'pg';
import { startApi } from '../support/api-process.js';
import { Http, admin, login, goodPassword, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

const SCOPES = [
  'studies:read',
  'participants:read',
  'schedules:read',
  'anchors:read',
  'sessions:read',
  'exports:read',
  'snapshots:read',
  'authoring:write',
];
interface Minted extends Loose {
  token: string;
  scopes: string[];
  study_ids: string[];
  expires_at: string;
}
interface Listed extends Loose {
  next_cursor: string | null;
}

describe('/api/v1', () => {
  let root: Http;
  let mine: Loose;
  let other: Loose;
  let researcher: Http & { email: string };
  let all: Http;
  const people: Loose[] = [];
  const mint = (by: Http, fields: object = {}) =>
    by.expect<Minted>(201, 'POST', '/api/v1/tokens', {
      name: 'a pipeline',
      scopes: SCOPES,
      study_ids: [mine.id],
      expires_in_days: 1,
      ...fields,
    });
  const bearer = ({ token }: { token: string }) => new Http(root.base, token);
  const of = (path: string, study = mine) => `/api/v1/studies/${study.id}/${path}`;
  const reads: [path: string, scope: string][] = [
    ['participants', 'participants:read'],
    ['schedules', 'schedules:read'],
    ['anchors', 'anchors:read'],
    ['sessions', 'sessions:read'],
    ['snapshot', 'snapshots:read'],
    ['export', 'exports:read'],
  ];

  before(async () => {
    root = await admin();
    [mine, other] = [await newStudy(root, { consent_mode: 'external' }), await newStudy(root)];
    researcher = await user(root, 'researcher', { study_ids: [mine.id, other.id] });
    await root.expect(201, 'POST', '/api/schedules/windows', {
      study_id: mine.id,
      code: 'W1',
      name: 'W1',
      target_day: 7,
    });
    for (let i = 0; i < 5; i++)
      people.push(
        await newParticipant(root, mine.id, {
          email: `secret-${i}@example.org`,
          // So long that no id, hash or time has it by chance.
          phone: '+49 30 123456789012',
          date_of_birth: '1980-01-02',
        }),
      );
    await root.expect(200, 'POST', `/api/studies/${mine.id}/participants/${people[0]!.id}/anchor-date`, {
      enrollment_date: '2026-01-12',
    });
    await newParticipant(root, other.id);
    all = bearer(await mint(researcher));
  });

  describe('tokens', () => {
    it('are shown once, and listed with their last use, never again with the token', async () => {
      const minted = await mint(researcher, { name: 'shown once' });
      expect(minted).to.include.keys('id', 'token', 'name', 'scopes', 'study_ids', 'expires_at');
      expect([minted.name, minted.scopes, minted.study_ids]).to.deep.equal(['shown once', SCOPES, [mine.id]]);
      const listed = async () =>
        (await researcher.expect(200, 'GET', '/api/v1/tokens?limit=500')).items.find((one) => one.id === minted.id)!;
      expect(await listed())
        .to.include({ last_used_at: null })
        .and.not.have.property('token');
      await bearer(minted).expect(200, 'GET', '/api/v1/studies');
      expect((await listed()).last_used_at).to.be.a('string');
      const { text } = await researcher.get(`/api/v1/tokens/${minted.id}`);
      expect(text).not.to.include(minted.token).and.not.match(/hash/);
    });

    it('are stored as a hash only, and an Idempotency-Key does not store the answer', async () => {
      const body = { name: 'x', scopes: ['studies:read'], study_ids: [mine.id] };
      const key = { headers: { 'Idempotency-Key': unique('k') } };
      const [one, two] = [
        await researcher.expect<Minted>(201, 'POST', '/api/v1/tokens', body, key),
        await researcher.expect<Minted>(201, 'POST', '/api/v1/tokens', body, key),
      ];
      expect(one.token).not.to.equal(two.token);
      const client = new pg.Client({ connectionString: (await service()).database_url });
      await client.connect();
      try {
        const { rows } = await client.query(
          'select t::text from api_tokens t union all select k::text from idempotency_keys k union all select a::text from audit_log a where study_id is null',
        );
        expect(JSON.stringify(rows)).not.to.include(one.token).and.not.include(one.token.split('.')[2]);
      } finally {
        await client.end();
      }
    });

    for (const [title, fields, status] of [
      ['no scope', { scopes: [] }, 422],
      ['an unknown scope', { scopes: ['everything'] }, 422],
      ['no study', { study_ids: [] }, 422],
      ['no name', { name: '' }, 422],
      ['a year and a day', { expires_in_days: 366 }, 422],
      ['no time at all', { expires_in_days: 0 }, 422],
      ['a study that is not there', { study_ids: ['00000000-0000-4000-8000-000000000000'] }, 404],
    ] as const) {
      it(`${title} is ${status}`, async () =>
        expect(
          (
            await researcher.post('/api/v1/tokens', {
              name: 'x',
              scopes: ['studies:read'],
              study_ids: [mine.id],
              ...fields,
            })
          ).status,
        ).to.equal(status));
    }

    it('nobody gives more than they have', async () => {
      const coordinator = await user(root, 'coordinator', { study_ids: [mine.id] });
      const attempt = (fields: object) =>
        coordinator.post('/api/v1/tokens', {
          name: 'x',
          scopes: ['participants:read'],
          study_ids: [mine.id],
          ...fields,
        });
      expect((await attempt({})).status).to.equal(201);
      expect((await attempt({ study_ids: [mine.id, other.id] })).status).to.equal(404);
      const { status, body } = await attempt({ scopes: ['participants:read', 'authoring:write'] });
      expect([status, body.detail]).to.deep.equal([403, 'The role coordinator does not allow authoring:write.']);
    });

    it('somebody else’s are not there, but for an admin', async () => {
      const [minted, stranger] = [await mint(researcher), await user(root, 'researcher', { study_ids: [mine.id] })];
      expect((await stranger.get(`/api/v1/tokens/${minted.id}`)).status).to.equal(404);
      expect((await stranger.delete(`/api/v1/tokens/${minted.id}`)).status).to.equal(404);
      expect((await stranger.expect(200, 'GET', `/api/v1/tokens?user_id=${researcher.userId}`)).total).to.equal(0);
      const asked = await researcher.expect(200, 'GET', `/api/v1/tokens?user_id=${stranger.userId}`);
      expect(asked.total, 'not their own instead').to.equal(0);
      expect((await root.delete(`/api/v1/tokens/${minted.id}`)).status).to.equal(204);
      expect((await bearer(minted).get('/api/v1/studies')).status).to.equal(401);
    });
  });

  describe('who may', () => {
    it('a login is good for the token routes only, a token for nothing outside and not for the token routes', async () => {
      for (const path of ['/api/v1/studies', ...reads.map(([path]) => of(path))])
        expect((await researcher.get(path)).status, path).to.equal(401);
      for (const path of [of('batteries/B'), of('visit-windows/W')])
        expect((await researcher.put(path, { name: 'x' })).status, path).to.equal(401);
      const paths = ['/api/auth/me', '/api/studies', `/api/studies/${mine.id}`, '/api/participants', '/api/v1/tokens'];
      for (const path of paths) expect((await all.get(path)).status, path).to.equal(401);
      expect((await all.post('/api/v1/tokens', { name: 'x', scopes: SCOPES, study_ids: [mine.id] })).status).to.equal(
        401,
      );
      for (const path of [...reads.map(([path]) => of(path)), '/api/v1/studies'])
        expect((await new Http(root.base).get(path)).status, path).to.equal(401);
    });

    it('a scope that is missing is 403 and named; the others suffice', async () => {
      for (const [path, scope] of reads) {
        const without = bearer(await mint(researcher, { scopes: SCOPES.filter((one) => one !== scope) }));
        const { status, body } = await without.get(of(path));
        expect([status, body.code, body.scope], path).to.deep.equal([403, 'MISSING_SCOPE', scope]);
        expect(body.detail).to.include(scope);
        expect((await bearer(await mint(researcher, { scopes: [scope] })).get(of(path))).status, path).to.equal(200);
      }
    });

    it('a study that is not the token’s is 404, also where the user may see it, and not in its lists', async () => {
      for (const [path] of reads) expect((await all.get(of(path, other))).status, path).to.equal(404);
      expect((await all.put(of('batteries/B', other), { name: 'x' })).status).to.equal(404);
      expect((await all.expect(200, 'GET', '/api/v1/studies')).items.map((one) => one.id)).to.deep.equal([mine.id]);
      expect((await all.get('/api/v1/studies', { headers: { 'X-Study-ID': other.id } })).status).to.equal(404);
      // The path names the study, whatever the header says.
      const named = await all.expect(200, 'GET', of('participants'), undefined, {
        headers: { 'X-Study-ID': other.id },
      });
      expect(named).to.deep.equal(await all.expect(200, 'GET', of('participants')));
      const byAdmin = bearer(await mint(root));
      expect((await byAdmin.expect(200, 'GET', '/api/v1/studies')).total).to.equal(1);
      expect((await byAdmin.get(of('participants', other))).status).to.equal(404);
    });

    it('a revoked and an expired token are 401 at once', async () => {
      const revoked = await mint(researcher);
      expect((await bearer(revoked).get('/api/v1/studies')).status).to.equal(200);
      expect((await researcher.delete(`/api/v1/tokens/${revoked.id}`)).status).to.equal(204);
      expect((await bearer(revoked).get('/api/v1/studies')).status).to.equal(401);
      expect((await researcher.delete(`/api/v1/tokens/${revoked.id}`)).status).to.equal(404);
      expect(
        (await researcher.expect(200, 'GET', '/api/v1/tokens?limit=500')).items.map((one) => one.id),
      ).not.to.include(revoked.id);
      const expired = await mint(researcher);
      const client = new pg.Client({ connectionString: (await service()).database_url });
      await client.connect();
      await client.query(`update api_tokens set expires_at = now() - interval '1 second' where id = $1`, [expired.id]);
      await client.end();
      expect((await bearer(expired).get('/api/v1/studies')).status).to.equal(401);
    });

    it('what the user loses the token loses at that moment', async () => {
      const minter = await user(root, 'researcher', { study_ids: [mine.id, other.id] });
      const token = bearer(await mint(minter, { study_ids: [mine.id, other.id] }));
      expect((await token.expect(200, 'GET', '/api/v1/studies')).total).to.equal(2);
      await root.expect(200, 'PATCH', `/api/users/${minter.userId}`, { study_ids: [mine.id] });
      expect((await token.get(of('participants', other))).status).to.equal(404);
      expect((await token.expect(200, 'GET', '/api/v1/studies')).total).to.equal(1);
      await root.expect(200, 'PATCH', `/api/users/${minter.userId}`, { role: 'coordinator' });
      expect((await token.get(of('snapshot'))).status).to.equal(403);
      expect((await token.get(of('participants'))).status).to.equal(200);
      await root.expect(200, 'PATCH', `/api/users/${minter.userId}`, { status: 'inactive' });
      expect((await token.get(of('participants'))).status).to.equal(401);
    });

    it('a deactivation ends it for good, as it does logins; each is recorded', async () => {
      const minter = await user(root, 'researcher', { study_ids: [mine.id] });
      const minted = await mint(minter, { study_ids: [mine.id] });
      for (const status of ['inactive', 'inactive', 'active'])
        await root.expect(200, 'PATCH', `/api/users/${minter.userId}`, { status });
      expect((await bearer(minted).get('/api/v1/studies')).body.code).to.equal('INVALID_TOKEN');
      expect((await root.get(`/api/v1/tokens/${minted.id}`)).status).to.equal(404);
      const records = (await root.expect(200, 'GET', `/api/audit?action=api_token_revoked&limit=500`)).items.filter(
        ({ resource_id }) => resource_id === minted.id,
      );
      expect(records.map(({ user_id, audit_metadata }) => [user_id, audit_metadata])).to.deep.equal([
        [root.userId, { user_id: minter.userId }],
      ]);
    });

    it('a coordinator’s sites narrow the token as well', async () => {
      const site = await root.expect(201, 'POST', `/api/studies/${mine.id}/sites`, { site_code: unique('s') });
      const here = await newParticipant(root, mine.id, { site_id: site.id });
      const coordinator = await user(root, 'coordinator', { study_ids: [mine.id], site_ids: [site.id] });
      const token = bearer(await mint(coordinator, { scopes: ['participants:read', 'anchors:read'] }));
      expect((await token.expect(200, 'GET', of('participants'))).items.map((one) => one.id)).to.deep.equal([here.id]);
      expect((await token.expect(200, 'GET', of('anchors'))).items.map((one) => one.participant_id)).to.deep.equal([
        here.id,
      ]);
      await root.expect(204, 'DELETE', `/api/participants/${here.id}`);
    });
  });

  describe('lists', () => {
    it('page by cursor without overlap, also while rows are added, and by skip', async () => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Listed = await all.expect<Listed>(
          200,
          'GET',
          `${of('participants')}?limit=2${cursor ? `&cursor=${cursor}` : ''}`,
        );
        expect(page.total).to.be.at.least(people.length);
        seen.push(...page.items.map((one) => one.id));
        cursor = page.next_cursor;
      } while (cursor);
      expect(seen).to.deep.equal(people.map((one) => one.id));
      const skipped = await all.expect<Listed>(200, 'GET', `${of('participants')}?skip=3&limit=2`);
      expect([skipped.items.map((one) => one.id), skipped.next_cursor]).to.deep.equal([
        people.slice(3).map((one) => one.id),
        null,
      ]);
    });

    it('a cursor that was made up, changed or taken from another list is 400', async () => {
      const { next_cursor } = await all.expect<Listed>(200, 'GET', `${of('participants')}?limit=1`);
      const [place, seal] = next_cursor!.split('.') as [string, string];
      const forged = Buffer.from(JSON.stringify(['1970-01-01T00:00:00Z', people[0]!.id])).toString('base64url');
      for (const cursor of [
        'x',
        '.',
        `${forged}.${seal}`,
        `${place}.`,
        `${place}.${seal}.x`,
        `${place}x.${seal}`,
        encodeURIComponent('["a"]'),
        '%00',
      ]) {
        const { status } = await all.get(`${of('participants')}?cursor=${cursor}`);
        expect(status, cursor).to.be.oneOf([400, 422]);
      }
      const stolen = await all.get(`${of('anchors')}?cursor=${next_cursor}`);
      expect([stolen.status, stolen.body.code]).to.deep.equal([400, 'INVALID_CURSOR']);
      expect((await all.get(`${of('participants')}?cursor=${next_cursor}&skip=1`)).status).to.equal(400);
    });

    it('say nothing of who a person is', async () => {
      for (const path of [
        'participants',
        'anchors',
        'schedules',
        'sessions',
        'snapshot',
        'export',
        'export?format=ndjson&include=raw_trials',
      ]) {
        const { text, status } = await all.get(of(path));
        expect(status, path).to.equal(200);
        expect(text, path).not.to.match(/secret-\d|123456789012|1980-01-02/);
      }
    });

    it('schedules have their visits, anchors their date', async () => {
      const schedules = await all.expect(200, 'GET', of('schedules'));
      expect(
        schedules.items.map((one) => [
          one.participant_id,
          one.version_number,
          (one.visits as Loose[]).map((v) => v.target_date),
        ]),
      ).to.deep.equal([[people[0]!.id, 1, ['2026-01-19']]]);
      const anchors = await all.expect(200, 'GET', of('anchors'));
      expect(anchors.items.find((one) => one.participant_id === people[0]!.id)).to.include({
        enrollment_date: '2026-01-12',
        status: 'finalized',
      });
    });
  });

  describe('snapshot and export', () => {
    it('a snapshot is of one instant and has the head of the audit chain', async () => {
      const answer = await all.get<
        Loose & {
          audit_head: { chain: string; seq: number; hash: string };
          participants: Loose[];
          anchors: Loose[];
          schedules: Loose[];
          visits: Loose[];
        }
      >(of('snapshot'));
      expect(answer.status).to.equal(200);
      const { body } = answer;
      expect([body.participants.length, body.anchors.length, body.schedules.length, body.visits.length]).to.deep.equal([
        5, 5, 1, 1,
      ]);
      expect((body.study as Loose).id).to.equal(mine.id);
      const records = await root.expect(200, 'GET', `/api/audit?study_id=${mine.id}&limit=500`);
      const head = records.items.find((one) => one.seq === body.audit_head.seq);
      expect([head?.hash, body.audit_head.chain]).to.deep.equal([body.audit_head.hash, mine.id]);
      expect(
        records.items.filter(
          (one) => one.action === 'snapshot_read' && one.request_id === answer.headers.get('x-request-id'),
        ),
      ).to.have.length(1);
    });

    it('snapshots under writers are whole: every participant has its anchor, and the head tells how many there are', async () => {
      const study = await newStudy(root);
      const token = bearer(await mint(root, { study_ids: [study.id] }));
      let writing = true;
      const writer = (async () => {
        // Not more than one page of the audit log tells of.
        for (let n = 0; writing && n < 450; n += 1) await newParticipant(root, study.id);
      })();
      try {
        for (let i = 0; i < 5; i++) {
          const { participants, anchors, audit_head } = await token.expect<{
            participants: Loose[];
            anchors: Loose[];
            audit_head: { seq: number };
          }>(200, 'GET', of('snapshot', study));
          expect(anchors.map((one) => one.participant_id)).to.have.members(participants.map((one) => one.id));
          const { items } = await root.expect(
            200,
            'GET',
            `/api/audit?study_id=${study.id}&action=participant_created&limit=500`,
          );
          expect(items.filter((one) => Number(one.seq) <= audit_head.seq)).to.have.length(participants.length);
        }
      } finally {
        writing = false;
        await writer;
      }
    });

    it('an export has the history too, as a document or line by line', async () => {
      const document = await all.expect<Record<string, Loose[]>>(200, 'GET', `${of('export')}?include=raw_trials`);
      expect(document).to.include.keys(
        'participants',
        'anchors',
        'anchor_history',
        'schedule_versions',
        'visits',
        'sessions',
        'raw_trials',
        'exported_at',
        'audit_head',
      );
      expect(document.anchor_history!.length).to.be.at.least(1);
      const { text, headers } = await all.get(`${of('export')}?format=ndjson`);
      expect(headers.get('content-type')).to.equal('application/x-ndjson');
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { set: string; rows: number });
      expect([lines[0]!.set, lines.at(-1)!.set, lines.at(-1)!.rows]).to.deep.equal(['head', 'end', lines.length - 2]);
      expect(lines.filter((line) => line.set === 'participants')).to.have.length(5);
    });

    it('what a client leaves unread does not keep its connection', async () => {
      for (let i = 0; i < 12; i++) {
        const abort = new AbortController();
        const answer = await fetch(`${root.base}${of('snapshot')}`, {
          headers: { Authorization: `Bearer ${all.token}` },
          signal: abort.signal,
        });
        expect(answer.status).to.be.oneOf([200, 503]);
        abort.abort();
      }
      expect((await all.get(of('participants'))).status).to.equal(200);
    });
  });

  describe('authoring as code', () => {
    const battery = { name: 'Core', modules: [{ task: 'reaction_time' }, { task: 'n_back', required: false }] };
    interface Authored extends Loose {
      action: string;
      dry_run: boolean;
      changes: { path: string; from: unknown; to: unknown }[];
      battery: Loose | null;
      visit_window: Loose | null;
    }
    const put = (path: string, body: unknown) => all.send<Authored>('PUT', of(path), body);

    it('makes a battery, changes what differs and nothing else, and says so', async () => {
      const made = await put('batteries/CORE', battery);
      expect([made.status, made.body.action, made.body.battery!.status, made.body.battery!.version]).to.deep.equal([
        201,
        'created',
        'draft',
        1,
      ]);
      const same = await put('batteries/CORE', { code: 'CORE', ...battery });
      expect([same.status, same.body.action, same.body.changes, same.body.battery!.updated_at]).to.deep.equal([
        200,
        'unchanged',
        [],
        made.body.battery!.updated_at,
      ]);
      const published = await put('batteries/CORE', { ...battery, publish: true });
      expect([published.body.action, published.body.battery!.status, published.body.changes]).to.deep.equal([
        'updated',
        'published',
        [{ path: 'status', from: 'draft', to: 'published' }],
      ]);
      expect((await put('batteries/CORE', battery)).body.action, 'published stays published').to.equal('unchanged');
      const next = await put('batteries/CORE', { ...battery, name: 'Core 2', modules: [battery.modules[0]] });
      expect([next.body.battery!.version, next.body.battery!.status]).to.deep.equal([2, 'draft']);
      expect(next.body.changes.map(({ path }) => path)).to.deep.equal(['name', 'modules.1', 'status']);
      expect(
        (await put('batteries/CORE', { ...battery, name: 'Core 2', modules: [battery.modules[0]] })).body.action,
      ).to.equal('unchanged');
      expect((await root.expect(200, 'GET', `/api/batteries/${made.body.battery!.id}`)).name).to.equal('Core 2');
    });

    it('makes a battery or window once, however many requests ask for it at the same moment', async () => {
      const client = new pg.Client({ connectionString: (await service()).database_url });
      await client.connect();
      try {
        for (const [path, body] of [
          ['batteries/AT-ONCE', battery],
          ['visit-windows/AT-ONCE', { name: 'W', target_day: 3 }],
        ] as const) {
          await client.query('begin');
          await client.query(`select set_config('app.studies', '*', true)`);
          await client.query('select from studies where id = $1 for update', [mine.id]);
          const answers: ReturnType<typeof put>[] = [];
          for (let n = 1; n <= 3; n++) {
            answers.push(put(path, body));
            await until(
              async () =>
                (
                  await client.query(
                    'select from pg_locks where not granted and cardinality(pg_blocking_pids(pid)) > 0',
                  )
                ).rowCount! >= n,
              { what: 'each request to wait' },
            );
          }
          await client.query('rollback');
          const made = (await Promise.all(answers)).map(({ status, body: { action } }) => [status, action]);
          expect(made.sort(), path).to.deep.equal([
            [200, 'unchanged'],
            [200, 'unchanged'],
            [201, 'created'],
          ]);
        }
      } finally {
        await client.end();
      }
    });

    it('a dry run says what would change and changes nothing', async () => {
      const none = await all.send<Authored>('PUT', `${of('batteries/DRY')}?dry_run=true`, battery);
      expect([none.status, none.body.action, none.body.dry_run, none.body.battery]).to.deep.equal([
        200,
        'created',
        true,
        null,
      ]);
      expect(none.body.changes).to.have.length(1);
      expect(
        (await root.expect(200, 'GET', `/api/batteries?study_id=${mine.id}&limit=500`)).items.map((one) => one.code),
      ).not.to.include('DRY');
      await put('visit-windows/DRYW', { name: 'W', target_day: 3 });
      const changed = await all.send<Authored>('PUT', `${of('visit-windows/DRYW')}?dry_run=true`, {
        name: 'W',
        target_day: 4,
      });
      expect([changed.body.action, changed.body.changes, changed.body.visit_window!.target_day]).to.deep.equal([
        'updated',
        [{ path: 'target_day', from: 3, to: 4 }],
        3,
      ]);
    });

    it('a dry run is refused as the change would be', async () => {
      const made = await put('batteries/GONE', { name: 'B' });
      await root.expect(200, 'PATCH', `/api/batteries/${made.body.battery!.id}`, { status: 'published' });
      await root.expect(200, 'PATCH', `/api/batteries/${made.body.battery!.id}`, { status: 'retired' });
      for (const path of [of('batteries/GONE'), `${of('batteries/GONE')}?dry_run=true`]) {
        const refused = await all.send('PUT', path, { name: 'Another' });
        expect([refused.status, refused.body.code], path).to.deep.equal([409, 'BATTERY_RETIRED']);
        expect((await all.send<Authored>('PUT', path, { name: 'B' })).body.action, path).to.equal('unchanged');
      }
    });

    it('makes a window, whose battery is named by its code, and schedules follow', async () => {
      await put('batteries/FORW', { name: 'B' });
      const made = await put('visit-windows/M3', { name: 'Month 3', target_day: 90, battery_code: 'FORW' });
      expect([made.status, made.body.action]).to.deep.equal([201, 'created']);
      expect(made.body.visit_window).to.include({ code: 'M3', target_day: 90, window_before: 0, window_after: 7 });
      expect(
        (await put('visit-windows/M3', { name: 'Month 3', target_day: 90, battery_code: 'FORW' })).body.action,
      ).to.equal('unchanged');
      const { battery_id } = made.body.visit_window!;
      const both = { name: 'Month 3', target_day: 90, battery_code: 'FORW' };
      expect((await put('visit-windows/M3', { ...both, battery_id })).body.action).to.equal('unchanged');
      const other = Number((await put('batteries/OTHER', { name: 'B' })).body.battery!.id);
      const two = await put('visit-windows/M3', { ...both, battery_id: other });
      expect([two.status, two.body.errors[0]!.code]).to.deep.equal([400, 'BATTERY_CONFLICT']);
      const back = await put('visit-windows/M3', { name: 'Month 3', target_day: 91 });
      expect(back.body.changes.map(({ path }) => path)).to.deep.equal(['battery_id', 'target_day']);
    });

    it('refuses what is wrong and changes nothing', async () => {
      for (const [path, body, status] of [
        ['batteries/BAD', { code: 'GOOD', name: 'x' }, 400],
        ['visit-windows/BAD', { code: 'GOOD', name: 'x', target_day: 1 }, 400],
        ['batteries/BAD', { name: 'x', modules: [{ task: 'juggling' }] }, 422],
        ['batteries/BAD', { name: 'x', colour: 1 }, 422],
        ['batteries/BAD', {}, 422],
        ['batteries/%20x', { name: 'x' }, 422],
        ['visit-windows/BAD', { name: 'x', target_day: 1, battery_code: 'NONE' }, 400],
        ['visit-windows/BAD', { name: 'x', target_day: 1, battery_id: 2_000_000_000 }, 400],
        [`batteries/${'x'.repeat(65)}`, { name: 'x' }, 422],
      ] as const)
        expect((await put(path, body)).status, `${path} ${JSON.stringify(body)}`).to.equal(status);
      const stale = await all.send(
        'PUT',
        of('batteries/CORE'),
        { name: 'other' },
        { headers: { 'If-Match': '"nothing"' } },
      );
      expect([stale.status, stale.body.code]).to.deep.equal([409, 'STALE']);
      // Nothing is there yet that the tag could be of.
      for (const [path, body] of [
        ['batteries/NEW-1', { name: 'new' }],
        ['visit-windows/NEW-1', { name: 'new', target_day: 1 }],
      ] as const) {
        const first = await all.send('PUT', of(path), body, { headers: { 'If-Match': '"8"' } });
        expect([first.status, first.body.code], path).to.deep.equal([409, 'STALE']);
      }
    });
  });

  it('counts requests by token', async function limited() {
    const api = await startApi({ RATE_LIMIT_PER_MINUTE: '5' });
    try {
      // Whose minute nobody else has begun: the counters are shared.
      const { http } = await login(
        api.url,
        (await user(root, 'researcher', { study_ids: [mine.id] })).email,
        goodPassword,
      );
      const body = { name: 'x', scopes: ['studies:read'], study_ids: [mine.id] };
      const [one, two] = [
        await http.expect<Minted>(201, 'POST', '/api/v1/tokens', body),
        await http.expect<Minted>(201, 'POST', '/api/v1/tokens', body),
      ];
      const statuses: number[] = [];
      for (let i = 0; i < 6; i++) statuses.push((await new Http(api.url, one.token).get('/api/v1/studies')).status);
      expect(statuses).to.deep.equal([200, 200, 200, 200, 200, 429]);
      expect((await new Http(api.url, two.token).get('/api/v1/studies')).status).to.equal(200);
    } finally {
      await api.stop();
    }
  });
});
