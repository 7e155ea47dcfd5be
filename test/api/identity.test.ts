import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import pg from 'pg';
import { Http, admin, goodPassword, login, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { service } from '../support/service.js';

describe('Identity', () => {
  let http: Http;
  let nobody: Http;
  before(async () => {
    http = await admin();
    nobody = new Http(http.base);
  });
  const register = (fields: Record<string, unknown> = {}) =>
    http.post('/api/auth/register', {
      email: `${unique()}@example.org`,
      name: 'N',
      password: goodPassword,
      role: 'coordinator',
      ...fields,
    });

  it('login answers user and tokens; me says who it is', async () => {
    const run = await service();
    const answer = await login(http.base, run.admin_email.toUpperCase(), run.admin_password ?? '');
    expect(answer.user).to.include({ email: run.admin_email, role: 'admin', status: 'active' });
    expect(answer.tokens).to.include({ token_type: 'bearer', expires_in: 1800 });
    expect(await answer.http.expect(200, 'GET', '/api/auth/me')).to.include({ id: answer.user.id, role: 'admin' });
  });

  it('a wrong password, an unknown email, a locked and an inactive account are answered alike', async () => {
    const one = await user(http, 'coordinator');
    const two = await user(http, 'coordinator');
    await http.expect(200, 'PATCH', `/api/users/${two.userId}`, { status: 'inactive' });
    const attempt = async (email: string, password: string) => {
      const { status, body } = await nobody.post('/api/auth/login', { email, password });
      return { status, code: body.code, detail: body.detail };
    };
    const wrong = await attempt(one.email, 'wrong');
    expect(wrong).to.include({ status: 401, code: 'INVALID_CREDENTIALS' });
    expect(await attempt(`${unique()}@example.org`, goodPassword)).to.deep.equal(wrong);
    expect(await attempt(two.email, goodPassword)).to.deep.equal(wrong);
    for (let i = 0; i < 4; i++) await attempt(one.email, 'wrong');
    expect(await attempt(one.email, goodPassword), 'locked after five').to.deep.equal(wrong);
  });

  it('four failures do not lock, and a success clears the count', async () => {
    const one = await user(http, 'coordinator');
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 4; i++) await nobody.post('/api/auth/login', { email: one.email, password: 'wrong' });
      await login(http.base, one.email, goodPassword);
    }
  });

  it('refresh rotates; a used token ends its family', async () => {
    const { email } = await user(http, 'coordinator');
    const { tokens } = await login(http.base, email, goodPassword);
    const refresh = (refresh_token: string) =>
      nobody.post<Loose & { refresh_token: string; access_token: string }>('/api/auth/refresh', { refresh_token });
    const second = await refresh(tokens.refresh_token);
    expect(second.status).to.equal(200);
    expect(second.body).to.include({ token_type: 'bearer', expires_in: 1800 });
    expect((await new Http(http.base, second.body.access_token).get('/api/auth/me')).status).to.equal(200);
    expect((await refresh(tokens.refresh_token)).status, 'used before').to.equal(401);
    expect((await refresh(second.body.refresh_token)).status, 'of the same family').to.equal(401);
    const other = await login(http.base, email, goodPassword);
    expect((await refresh(other.tokens.refresh_token)).status, 'another login').to.equal(200);
  });

  it('a used token ends its family also after its own time', async () => {
    const { email, userId } = await user(http, 'coordinator');
    const { tokens } = await login(http.base, email, goodPassword);
    const refresh = (refresh_token: string) =>
      nobody.post<Loose & { refresh_token: string; access_token: string }>('/api/auth/refresh', { refresh_token });
    const second = await refresh(tokens.refresh_token);
    expect(second.status).to.equal(200);
    const client = new pg.Client({ connectionString: (await service()).database_url });
    await client.connect();
    try {
      await client.query(
        `update refresh_tokens set expires_at = now() - interval '1 second' where user_id = $1 and rotated_at is not null`,
        [userId],
      );
    } finally {
      await client.end();
    }
    expect((await refresh(tokens.refresh_token)).status, 'used before').to.equal(401);
    expect((await refresh(second.body.refresh_token)).status, 'of the same family').to.equal(401);
    expect((await new Http(http.base, second.body.access_token).get('/api/auth/me')).status).to.equal(401);
  });

  it('of two who refresh at once with one token, one wins and the family ends', async () => {
    const { email } = await user(http, 'coordinator');
    const { tokens } = await login(http.base, email, goodPassword);
    const answers = await Promise.all(
      [1, 2].map(() => nobody.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })),
    );
    expect(answers.map((a) => a.status).sort()).to.deep.equal([200, 401]);
  });

  it('logout ends the refresh token and can be repeated', async () => {
    const { email } = await user(http, 'coordinator');
    const { tokens } = await login(http.base, email, goodPassword);
    for (let i = 0; i < 2; i++)
      expect((await nobody.post('/api/auth/logout', { refresh_token: tokens.refresh_token })).status).to.equal(204);
    expect((await nobody.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })).status).to.equal(401);
  });

  it('a change that changes nothing of a user leaves the tag and no record', async () => {
    const one = await user(http, 'coordinator');
    const change = (body: object) => http.patch(`/api/users/${one.userId}`, body);
    const records = async () =>
      (await http.expect(200, 'GET', `/api/audit?action=user_changed&resource_id=${one.userId}`)).total;
    const first = await change({ role: 'investigator' });
    const tag = first.headers.get('etag');
    const again = [await change({}), await change({ role: 'investigator', status: 'active', study_ids: [] })];
    expect(again.map(({ status, headers }) => [status, headers.get('etag')])).to.deep.equal([
      [200, tag],
      [200, tag],
    ]);
    expect(await records()).to.equal(1);
    const ids = [(await newStudy(http)).id, (await newStudy(http)).id].sort();
    const assigned = await change({ study_ids: ids });
    const turned = await change({ study_ids: [...ids.toReversed(), ids[0]!.toUpperCase()] });
    expect([turned.status, turned.headers.get('etag')]).to.deep.equal([200, assigned.headers.get('etag')]);
    expect(turned.body.study_ids).to.deep.equal(ids);
    expect(await records()).to.equal(2);
    const twice = await change({ study_ids: [ids[0], ids[0]!.toUpperCase()] });
    expect([twice.status, twice.body.study_ids]).to.deep.equal([200, [ids[0]]]);
  });

  it('a deactivated user and a changed role count at once, also for tokens already given', async () => {
    const one = await user(http, 'coordinator');
    expect((await one.get('/api/users')).status).to.equal(403);
    await http.expect(200, 'PATCH', `/api/users/${one.userId}`, { role: 'admin' });
    expect((await one.get('/api/users')).status).to.equal(200);
    const { tokens } = await login(http.base, one.email, goodPassword);
    await http.expect(200, 'PATCH', `/api/users/${one.userId}`, { status: 'inactive' });
    expect((await one.get('/api/auth/me')).status).to.equal(401);
    expect((await nobody.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })).status).to.equal(401);
  });

  it('changing the password ends all logins', async () => {
    const { email } = await user(http, 'coordinator');
    const { tokens, http: own } = await login(http.base, email, goodPassword);
    const next = 'another green clip 77';
    expect((await own.post('/api/auth/password', { current_password: 'wrong', new_password: next })).status).to.equal(
      400,
    );
    expect(
      (await own.post('/api/auth/password', { current_password: goodPassword, new_password: next })).status,
    ).to.equal(204);
    expect((await nobody.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })).status).to.equal(401);
    await login(http.base, email, next);
  });

  describe('registration', () => {
    it('is 201 with the user, its studies, and no password', async () => {
      const study = await newStudy(http);
      const { status, body, text } = await register({ study_ids: [study.id] });
      expect([status, body.study_ids]).to.deep.equal([201, [study.id]]);
      expect(text).not.to.match(/password|argon/);
    });
    for (const [title, fields, status] of [
      ['a short password', { password: 'short 12345' }, 422],
      ['a common password', { password: 'Password1234!' }, 400],
      ['a run of keys', { password: 'qwertyuiopas' }, 400],
      ['one character repeated', { password: 'aaaaaaaaaaaaaaa' }, 400],
      ['a role that is none', { role: 'king' }, 422],
      ['an email that is none', { email: 'nobody' }, 422],
      ['an unknown study', { study_ids: ['00000000-0000-4000-8000-000000000000'] }, 400],
    ] as const) {
      it(`${title} is ${status}`, async () => expect((await register(fields)).status).to.equal(status));
    }
    it('an email that is taken, in whatever case, is 409', async () => {
      const email = `${unique()}@example.org`;
      expect((await register({ email })).status).to.equal(201);
      const again = await register({ email: email.toUpperCase() });
      expect([again.status, again.body.code]).to.deep.equal([409, 'EMAIL_TAKEN']);
    });
    it('of two at once with one email, one is made', async () => {
      const email = `${unique()}@example.org`;
      const answers = await Promise.all([1, 2].map(() => register({ email })));
      expect(answers.map((a) => a.status).sort()).to.deep.equal([201, 409]);
    });
  });

  it('the audit log says to which studies and sites a user was assigned, and until when', async () => {
    const [study, other] = [await newStudy(http), await newStudy(http)];
    const site = await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'A' });
    const one = await user(http, 'coordinator', { study_ids: [study.id] });
    const change = (fields: object) => http.expect(200, 'PATCH', `/api/users/${one.userId}`, fields);
    await change({ site_ids: [site.id] });
    await change({ study_ids: [other.id.toUpperCase()] });
    const path = `/api/audit?resource_type=user&resource_id=${one.userId}&action=user_changed`;
    const { items } = await http.expect<{ items: { audit_metadata: object }[] }>(200, 'GET', path);
    expect(items.map(({ audit_metadata }) => audit_metadata)).to.deep.equal([
      {
        fields: ['site_ids', 'study_ids'],
        site_ids: [],
        site_ids_before: [site.id],
        study_ids: [other.id],
        study_ids_before: [study.id],
      },
      { fields: ['site_ids'], site_ids: [site.id], site_ids_before: [] },
    ]);
  });

  it('the audit log says which role and status a user had before', async () => {
    const one = await user(http, 'coordinator');
    const change = (fields: object) => http.expect(200, 'PATCH', `/api/users/${one.userId}`, fields);
    await change({ role: 'data_manager', status: 'active' });
    await change({ role: 'data_manager', status: 'inactive' });
    const path = `/api/audit?resource_type=user&resource_id=${one.userId}&action=user_changed`;
    const { items } = await http.expect<{ items: { audit_metadata: object }[] }>(200, 'GET', path);
    expect(items.map(({ audit_metadata }) => audit_metadata)).to.deep.equal([
      { fields: ['status'], role: 'data_manager', status: 'inactive', status_before: 'active' },
      { fields: ['role'], role: 'data_manager', role_before: 'coordinator', status: 'active' },
    ]);
  });

  it('of several changes that name the same ETag at once, one is made', async () => {
    const one = await user(http, 'coordinator', { study_ids: [] });
    const path = `/api/users/${one.userId}`;
    const etag = (await http.patch(path, { role: 'coordinator' })).headers.get('etag') ?? '';
    expect(etag).to.match(/^"/);
    const roles = ['researcher', 'data_manager', 'investigator'];
    const statuses = await Promise.all(
      [...roles, ...roles, ...roles].map(async (role) => {
        const { status } = await http.send('PATCH', path, { role }, { headers: { 'If-Match': etag } });
        return status;
      }),
    );
    expect(statuses.sort()).to.deep.equal([200, ...Array<number>(8).fill(409)]);
  });

  it('the last active admin cannot be deactivated', async () => {
    const api = await http.expect(200, 'GET', '/api/users?role=admin&status=active&limit=500');
    for (const other of api.items.filter((u) => u.id !== http.userId))
      await http.expect(200, 'PATCH', `/api/users/${other.id}`, { status: 'inactive' });
    const { status, body } = await http.patch(`/api/users/${http.userId}`, { status: 'inactive' });
    expect([status, body.code]).to.deep.equal([409, 'LAST_ADMIN']);
  });

  describe('access tokens', () => {
    const secret = 'a signing secret that this test knows';
    let api: ApiProcess;
    let id: string;
    before(async function start() {
      api = await startApi({ JWT_SECRET: secret });
      id = (await admin(api.url)).userId ?? '';
    });
    after(() => api.stop());
    const claims = { iss: 'research-assessment-platform', aud: 'api', sub: '', role: 'admin', jti: 'x' };
    const sign = (more: object = {}, options: jwt.SignOptions = {}) =>
      jwt.sign({ ...claims, sub: id, ...more }, secret, { algorithm: 'HS256', expiresIn: 60, ...options });
    const ask = async (token: string) => (await new Http(api.url, token).get('/api/auth/me')).status;
    const unsigned = () =>
      `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${sign().split('.')[1]}.`;

    it('one that is signed by the rules is good', async () => expect(await ask(sign())).to.equal(200));
    for (const [title, token] of [
      ['another audience', () => sign({ aud: 'portal' })],
      ['the audience mfa', () => sign({ aud: 'mfa' })],
      ['the audience v1', () => sign({ aud: 'v1' })],
      ['another issuer', () => sign({ iss: 'somebody' })],
      ['an expired one', () => sign({}, { expiresIn: -1 })],
      [
        'another secret',
        () => jwt.sign({ ...claims, sub: id }, 'a secret that is not the service’s one', { expiresIn: 60 }),
      ],
      ['HS512 with the right secret', () => sign({}, { algorithm: 'HS512' })],
      ['no algorithm', unsigned],
      ['no expiry', () => jwt.sign({ ...claims, sub: id }, secret)],
      ['a subject that is no user', () => sign({ sub: '00000000-0000-4000-8000-000000000000' })],
      ['a subject that is no uuid', () => sign({ sub: 'admin' })],
      [
        'a changed payload',
        () => {
          const [h, , s] = sign().split('.');
          return `${h}.${Buffer.from(JSON.stringify({ ...claims, sub: id, exp: 9e9 })).toString('base64url')}.${s}`;
        },
      ],
      [
        'a signature over another header',
        () => {
          const [, p] = sign().split('.');
          const h = Buffer.from('{"alg":"HS256"}').toString('base64url');
          return `${h}.${p}.${createHmac('sha256', 'x').update(`${h}.${p}`).digest('base64url')}`;
        },
      ],
      ['no token at all', () => 'x'],
      ['a payload that is no JSON', () => `${sign().split('.')[0]}.${Buffer.from('not json').toString('base64url')}.x`],
    ] as const) {
      it(`${title} is 401`, async () => expect(await ask(token())).to.equal(401));
    }
    it('a missing header is 401 and says how', async () => {
      const answer = await new Http(api.url).get('/api/auth/me');
      expect([answer.status, answer.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer']);
    });
  });

  it('stores no refresh token and no password in clear', async () => {
    const { email } = await user(http, 'coordinator');
    const { tokens } = await login(http.base, email, goodPassword);
    const client = new pg.Client({ connectionString: (await service()).database_url });
    await client.connect();
    try {
      const rows = await client.query(
        `select t::text from refresh_tokens t union all select u::text from users u union all select k::text from idempotency_keys k union all select a::text from audit_log a where study_id is null`,
      );
      const all = JSON.stringify(rows.rows);
      expect(all).not.to.include(tokens.refresh_token).and.not.to.include(goodPassword);
      expect(
        (await client.query('select password_hash from users where email = $1', [email])).rows[0].password_hash,
      ).to.match(/^\$argon2id\$/);
    } finally {
      await client.end();
    }
  });
});
