import { expect } from 'chai';
import pg from 'pg';
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
  const post = (key: string, body: unknown, by: Http = http) => by.post(path, body, { headers: { 'Idempotency-Key': key } });

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
    expect((await http.post('/api/studies', { study_code: unique(), study_name: 'x' }, { headers: { 'Idempotency-Key': key } })).status).to.equal(201);
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

  it('a key that cannot be kept is 422', async () => {
    for (const key of ['x'.repeat(201), 'two words']) expect((await post(key, { participant_code: unique() })).status).to.equal(422);
  });

  it('an answer with a secret, or a body with a password, is not kept', async () => {
    const key = unique();
    const email = `${unique()}@example.org`;
    const register = () => http.post('/api/auth/register', { email, name: 'N', role: 'coordinator', password: 'correct blue staple 42' }, { headers: { 'Idempotency-Key': key } });
    expect([(await register()).status, (await register()).status]).to.deep.equal([201, 409]);
  });
});
