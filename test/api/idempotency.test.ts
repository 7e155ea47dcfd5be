import { expect } from 'chai';
import pg from 'pg';
import { formOf } from '../data/stage.js';
import { admin, newStudy, unique, user } from '../support/http.js';
import type { Http } from '../support/http.js';
import { service } from '../support/service.js';

describe('Idempotency-Key', () => {
  let http: Http;
  let path: string;
  before(async () => {
    http = await admin();
    path = `/api/studies/${(await newStudy(http)).id}/participants`;
  });
  const post = (key: string, body: unknown, by: Http = http) =>
    by.post(path, body, { headers: { 'Idempotency-Key': key } });

  it('answers the same for the same key and body, and does it once', async () => {
    const body = { participant_code: unique() };
    const key = unique();
    const first = await post(key, body);
    const again = await post(key, body);
    expect([first.status, again.status, again.text]).to.deep.equal([201, 201, first.text]);
    expect(again.headers.get('idempotent-replay')).to.equal('true');
  });

  it('another body under the same key is 409', async () => {
    const key = unique();
    await post(key, { participant_code: unique() });
    const { status, body } = await post(key, { participant_code: unique() });
    expect([status, body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it('of ten at once one runs and the others wait for its answer', async () => {
    const body = { participant_code: unique() };
    const key = unique();
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(key, body)));
    expect(answers.map((a) => a.status)).to.deep.equal(Array(10).fill(201));
    expect(new Set(answers.map((a) => a.body.id)).size).to.equal(1);
  });

  it('of trials at once, which change nothing, one runs and the others wait for its answer', async () => {
    const trial = `/api/studies/${path.split('/')[3]!}/config/enrollment-policy?dry_run=true`;
    const policy = { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] };
    const options = { headers: { 'Idempotency-Key': unique() } };
    const answers = await Promise.all(Array.from({ length: 4 }, () => http.post(trial, policy, options)));
    expect(answers.map(({ status, body }) => [status, body.code])).to.deep.equal(Array(4).fill([200, undefined]));
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    const other = await http.post(trial, { ...policy, anchor_type: 'enrollment' }, options);
    expect([other.status, other.body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it('a request that failed leaves the key free', async () => {
    const key = unique();
    const code = unique();
    await post(unique(), { participant_code: code });
    expect((await post(key, { participant_code: code })).status).to.equal(409);
    expect((await post(key, { participant_code: unique() })).status).to.equal(201);
  });

  it('is each caller’s own, and each path’s own', async () => {
    const key = unique();
    const body = { participant_code: unique() };
    expect((await post(key, body)).status).to.equal(201);
    const other = await user(http, 'researcher', { study_ids: [path.split('/')[3]!] });
    expect((await post(key, body, other)).status).to.equal(409);
    expect(
      (
        await http.post(
          '/api/studies',
          { study_code: unique(), study_name: 'x' },
          { headers: { 'Idempotency-Key': key } },
        )
      ).status,
    ).to.equal(201);
  });

  it('is forgotten after a day', async () => {
    const key = unique();
    await post(key, { participant_code: unique() });
    const client = new pg.Client({ connectionString: (await service()).database_url });
    await client.connect();
    await client.query(`update idempotency_keys set created_at = now() - interval '25 hours' where key = $1`, [key]);
    await client.end();
    expect((await post(key, { participant_code: unique() })).status).to.equal(201);
  });

  describe('holds what is said beside the body against it, too', () => {
    const under = (key: string, more: Record<string, string> = {}) => ({
      headers: { 'Idempotency-Key': key, ...more },
    });
    const refused = ({ status, body }: { status: number; body: { code?: string } }) =>
      expect([status, body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);

    it('an import that was tried is not taken for done', async () => {
      const [key, code] = [unique(), unique()];
      const form = await formOf(`participant_code\n${code}\n`);
      const send = (query: string) => http.post(`${path}/import/csv${query}`, undefined, { raw: form, ...under(key) });
      const tried = await send('?dry_run=true');
      expect([tried.status, tried.body.imported_count]).to.deep.equal([200, 1]);
      refused(await send(''));
      refused(await send('?dry_run=false'));
      expect((await send('?dry_run=true&unknown=1')).headers.get('idempotent-replay')).to.equal('true');
    });

    it('a template makes the study that is named', async () => {
      const [key, one, other] = [unique(), unique('T'), unique('T')];
      const apply = (code: string) =>
        http.post(`/api/templates/longitudinal-cognition/apply?study_name=X&study_code=${code}`, undefined, under(key));
      const first = await apply(one);
      expect([first.status, first.body.study_code]).to.deep.equal([201, one]);
      refused(await apply(other));
      expect((await apply(one)).text).to.equal(first.text);
    });

    it('a study that a header names, or the query, is no other one', async () => {
      const [key, body] = [unique(), { code: unique('B'), name: 'B' }];
      const [mine, other] = [path.split('/')[3]!, (await newStudy(http)).id];
      const made = await http.post('/api/batteries', body, under(key, { 'X-Study-ID': mine }));
      expect([made.status, made.body.study_id]).to.deep.equal([201, mine]);
      refused(await http.post('/api/batteries', body, under(key, { 'X-Study-ID': other })));
      refused(await http.post(`/api/batteries?study_id=${other}`, body, under(key)));
      // It is the same study, whichever of them says so.
      expect((await http.post(`/api/batteries?study_id=${mine.toUpperCase()}`, body, under(key))).text).to.equal(
        made.text,
      );
    });
  });

  it('a site that a header names is no other one, nor none', async () => {
    const [key, study] = [unique(), await newStudy(http)];
    const siteOf = (site_code: string) => http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code });
    const [one, other] = [await siteOf('A'), await siteOf('B')];
    const exported = (site?: string) =>
      http.post(
        '/api/exports/json',
        { study_id: study.id, dataset: 'participants', mode: 'background' },
        { headers: { 'Idempotency-Key': key, ...(site && { 'X-Site-ID': site }) } },
      );
    const first = await exported(one.id);
    expect(first.status).to.equal(202);
    for (const site of [other.id, undefined]) {
      const { status, body } = await exported(site);
      expect([status, body.code], site).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
    }
    expect((await exported(one.id.toUpperCase())).text).to.equal(first.text);
  });

  it('a key that cannot be kept is 422', async () => {
    for (const key of ['x'.repeat(201), 'two words'])
      expect((await post(key, { participant_code: unique() })).status).to.equal(422);
  });

  it('a registration whose answer was lost is answered again; its password is not stored', async () => {
    const key = unique();
    const password = `correct blue staple ${unique()}`;
    const register = (name: string) =>
      http.post(
        '/api/auth/register',
        { email: `${key}@example.org`, name, role: 'coordinator', password },
        { headers: { 'Idempotency-Key': key } },
      );
    const [first, again, other] = [await register('N'), await register('N'), await register('M')];
    expect([first.status, again.status, again.text]).to.deep.equal([201, 201, first.text]);
    expect([other.status, other.body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
    const client = new pg.Client({ connectionString: (await service()).database_url });
    await client.connect();
    const { rows } = await client.query<{ row: string }>(
      'select k::text as row from idempotency_keys k where key = $1',
      [key],
    );
    await client.end();
    expect(rows.map(({ row }) => row).join('')).not.to.include(password);
  });

  it('an answer with a secret is not kept', async () => {
    const subscribe = () =>
      http.post(
        `/api/studies/${path.split('/')[3]!}/event-subscriptions`,
        { url: 'http://127.0.0.1:9/x', events: ['participant.enrolled'] },
        { headers: { 'Idempotency-Key': 'secret' } },
      );
    expect((await subscribe()).headers.get('idempotent-replay')).to.equal(null);
    expect((await subscribe()).headers.get('idempotent-replay')).to.equal(null);
  });

  describe('of exports', () => {
    const ask = (key: string, body: object) =>
      http.post(
        '/api/exports/csv',
        { study_id: path.split('/')[3]!, ...body },
        { headers: { 'Idempotency-Key': key } },
      );

    it('in the background: one export, however often it is asked for', async () => {
      const key = unique();
      const body = { dataset: 'participants', mode: 'background' };
      const [first, again, other] = [
        await ask(key, body),
        await ask(key, body),
        await ask(key, { ...body, dataset: 'visits' }),
      ];
      expect([first.status, again.status, again.body.export_id]).to.deep.equal([202, 202, first.body.export_id]);
      expect([other.status, other.body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
    });

    it('streamed: the same is written again, another under the key is refused', async () => {
      const key = unique();
      const [first, again, other] = [
        await ask(key, { dataset: 'participants' }),
        await ask(key, { dataset: 'participants' }),
        await ask(key, { dataset: 'visits' }),
      ];
      expect([first.status, again.status, again.text]).to.deep.equal([200, 200, first.text]);
      expect([other.status, other.body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
    });
  });

  it('counts where a POST only reads', async () => {
    const key = { headers: { 'Idempotency-Key': unique() } };
    const look = (body: object) => http.post('/api/sync/check-conflicts', body, key);
    const [first, again] = [await look({ sessions: [] }), await look({ sessions: [] })];
    expect([first.status, again.status, again.text]).to.deep.equal([200, 200, first.text]);
    const other = await look({ responses: [] });
    expect([other.status, other.body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
  });
});
