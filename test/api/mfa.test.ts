import { expect } from 'chai';
import { generateSync } from 'otplib';
import pg from 'pg';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin, goodPassword, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';

interface Setup {
  secret: string;
  otpauth_url: string;
  recovery_codes: string[];
}
interface Answered extends Loose {
  mfa_required?: boolean;
  mfa_setup_required?: boolean;
  mfa_token: string;
  tokens?: { access_token: string; refresh_token: string };
}

/** The code that an authenticator shows, so many steps from now. */
const code = (secret: string, steps = 0) => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * 30 });
const wrong = (secret: string) => {
  const near = [-2, -1, 0, 1, 2].map((step) => code(secret, step));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((one) => !near.includes(one))!;
};

describe('A second factor', () => {
  let root: Http;
  let nobody: Http;
  before(async () => {
    root = await admin();
    nobody = new Http(root.base);
  });
  const logIn = (email: string, base = nobody) =>
    base.expect<Answered>(200, 'POST', '/api/auth/login', { email, password: goodPassword });
  const enter = (body: object, base = nobody) => base.post<Answered>('/api/auth/mfa/login', body);
  async function enrolled() {
    const one = await user(root, 'coordinator');
    const setup = await one.expect<Setup>(200, 'POST', '/api/auth/mfa/setup');
    await one.expect(200, 'POST', '/api/auth/mfa/verify', { code: code(setup.secret) });
    return { ...setup, email: one.email, http: one };
  }

  it('is set up, verified by its first code, and asked for at the next login', async () => {
    const one = await user(root, 'coordinator');
    const setup = await one.expect<Setup>(200, 'POST', '/api/auth/mfa/setup');
    expect(setup.otpauth_url)
      .to.match(/^otpauth:\/\/totp\//)
      .and.include(`secret=${setup.secret}`);
    expect(new Set(setup.recovery_codes).size).to.equal(10);
    expect((await logIn(one.email)).tokens, 'not before it is verified').to.not.equal(undefined);
    const refused = await one.post('/api/auth/mfa/verify', { code: wrong(setup.secret) });
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'WRONG_CODE']);
    expect(await one.expect(200, 'GET', '/api/auth/mfa')).to.deep.equal({
      enabled: false,
      required: false,
      recovery_codes_left: 0,
    });
    expect(await one.expect(200, 'POST', '/api/auth/mfa/verify', { code: code(setup.secret) })).to.deep.equal({
      mfa_enabled: true,
    });
    expect(await one.expect(200, 'GET', '/api/auth/mfa')).to.deep.equal({
      enabled: true,
      required: false,
      recovery_codes_left: 10,
    });
    const asked = await logIn(one.email);
    expect(asked).to.have.all.keys('outcome', 'mfa_required', 'mfa_token');
    expect(asked.outcome).to.equal('mfa_required');
    const { body } = await enter({ mfa_token: asked.mfa_token, code: code(setup.secret, 1) });
    expect(body.outcome).to.equal('logged_in');
    expect((await new Http(root.base, body.tokens!.access_token).get('/api/auth/me')).body).to.include({
      id: one.userId,
      mfa_enabled: true,
    });
  });

  it('a code is good once, also with another mfa token, and an mfa token once', async () => {
    const { secret, email } = await enrolled();
    const first = await logIn(email);
    const given = code(secret);
    expect((await enter({ mfa_token: first.mfa_token, code: given })).status).to.equal(200);
    expect((await enter({ mfa_token: first.mfa_token, code: code(secret, 1) })).status, 'the same mfa token').to.equal(
      401,
    );
    const again = await enter({ mfa_token: (await logIn(email)).mfa_token, code: given });
    expect([again.status, again.body.code]).to.deep.equal([401, 'INVALID_CODE']);
  });

  it('of two with one code at once, one enters', async () => {
    const { secret, email } = await enrolled();
    const tokens = [(await logIn(email)).mfa_token, (await logIn(email)).mfa_token];
    const given = code(secret);
    const answers = await Promise.all(tokens.map((mfa_token) => enter({ mfa_token, code: given })));
    expect(answers.map((a) => a.status).sort()).to.deep.equal([200, 401]);
  });

  it('takes the step before and after, and none beyond', async () => {
    const { secret, email } = await enrolled();
    const { mfa_token } = await logIn(email);
    expect((await enter({ mfa_token, code: code(secret, 3) })).status).to.equal(401);
    expect((await enter({ mfa_token, code: code(secret, 1) })).status).to.equal(200);
  });

  it('each recovery code is good once, in whatever case', async () => {
    const { recovery_codes, email, http } = await enrolled();
    const recover = async (recovery_code: string) =>
      (await enter({ mfa_token: (await logIn(email)).mfa_token, recovery_code })).status;
    expect(await recover(recovery_codes[0]!.toUpperCase().replaceAll('-', ' '))).to.equal(200);
    expect(await recover(recovery_codes[0]!)).to.equal(401);
    expect(await recover('aaaa-bbbb-cccc-dddd')).to.equal(401);
    expect(await recover(recovery_codes[1]!)).to.equal(200);
    expect(await http.expect(200, 'GET', '/api/auth/mfa')).to.include({ recovery_codes_left: 8 });
  });

  it('five wrong codes lock the account, and a right password in between does not clear the count', async () => {
    const { secret, email, recovery_codes } = await enrolled();
    for (let i = 0; i < 5; i++) {
      const { status, body } = await enter({ mfa_token: (await logIn(email)).mfa_token, code: wrong(secret) });
      expect([status, body.code]).to.deep.equal([401, 'INVALID_CODE']);
    }
    expect((await nobody.post('/api/auth/login', { email, password: goodPassword })).status, 'locked').to.equal(401);
    expect(recovery_codes).to.have.length(10);
  });

  it('neither both nor none of code and recovery code', async () => {
    const { secret, email, recovery_codes } = await enrolled();
    const { mfa_token } = await logIn(email);
    expect((await enter({ mfa_token })).status).to.equal(422);
    expect((await enter({ mfa_token, code: code(secret), recovery_code: recovery_codes[0] })).status).to.equal(422);
    expect((await enter({ mfa_token, code: '12345' })).status).to.equal(422);
    expect((await enter({ mfa_token: 'x', code: code(secret) })).status).to.equal(401);
  });

  it('an mfa token of a login is good for nothing else, an access token is none', async () => {
    const { secret, email, http } = await enrolled();
    const { mfa_token } = await logIn(email);
    const bearer = new Http(root.base, mfa_token);
    for (const [method, path, body] of [
      ['GET', '/api/auth/me'],
      ['GET', '/api/studies'],
      ['POST', '/api/auth/mfa/setup'],
      ['POST', '/api/auth/mfa/verify', { code: code(secret) }],
    ] as const) {
      expect((await bearer.send(method, path, body)).status, path).to.equal(401);
    }
    expect((await enter({ mfa_token: http.token, code: code(secret) })).status).to.equal(401);
  });

  it('codes are renewed and the factor turned off with a proof of it only', async () => {
    const { secret, recovery_codes, http, email } = await enrolled();
    expect((await http.post('/api/auth/mfa/setup')).status, 'set up already').to.equal(409);
    expect((await http.post('/api/auth/mfa/recovery-codes', { code: wrong(secret) })).status).to.equal(400);
    const renewed = await http.expect<Setup>(200, 'POST', '/api/auth/mfa/recovery-codes', { code: code(secret) });
    expect(
      (await http.post('/api/auth/mfa/disable', { recovery_code: recovery_codes[0] })).status,
      'an old code',
    ).to.equal(400);
    expect((await http.post('/api/auth/mfa/disable', { recovery_code: renewed.recovery_codes[0] })).status).to.equal(
      204,
    );
    expect((await logIn(email)).tokens).to.not.equal(undefined);
    expect((await http.post('/api/auth/mfa/disable', { code: code(secret, 1) })).status).to.equal(409);
  });

  it('an admin takes it away from who has lost it; the logins of that user end', async () => {
    const { http, email } = await enrolled();
    expect((await http.delete(`/api/users/${http.userId}/mfa`)).status).to.equal(403);
    expect((await root.delete(`/api/users/${http.userId}/mfa`)).status).to.equal(204);
    expect((await http.get('/api/auth/me')).status).to.equal(401);
    expect((await logIn(email)).tokens).to.not.equal(undefined);
    expect((await root.delete(`/api/users/${http.userId}/mfa`)).status).to.equal(409);
  });

  it('neither secret nor codes are stored in clear, and each step has its record', async () => {
    const { secret, recovery_codes, http, email } = await enrolled();
    const { body } = await enter({ mfa_token: (await logIn(email)).mfa_token, code: code(secret) });
    expect(body.tokens).to.not.equal(undefined);
    const client = new pg.Client({ connectionString: (await service()).database_url });
    await client.connect();
    try {
      const { rows } = await client.query<{ t: string }>(
        'select m::text as t from user_mfa m union all select c::text from mfa_recovery_codes c union all select a::text from audit_log a where study_id is null',
      );
      const all = JSON.stringify(rows);
      for (const hidden of [secret, ...recovery_codes, ...recovery_codes.map((c) => c.replaceAll('-', ''))])
        expect(all).not.to.include(hidden);
      const { rows: records } = await client.query<{ action: string }>(
        'select action from audit_log where resource_id = $1 order by seq',
        [http.userId],
      );
      expect(records.map((r) => r.action).slice(-4)).to.deep.equal([
        'mfa_setup_started',
        'mfa_enabled',
        'login_password_accepted',
        'login',
      ]);
    } finally {
      await client.end();
    }
  });

  describe('for a role of MFA_REQUIRED_ROLES', () => {
    let api: ApiProcess;
    let there: Http;
    before(async function start() {
      api = await startApi({ MFA_REQUIRED_ROLES: 'researcher,investigator' });
      there = new Http(api.url);
    });
    after(() => api.stop());

    it('a login without one gives a token for setting it up, which completes the login', async () => {
      const { email, userId } = await user(root, 'researcher');
      const asked = await logIn(email, there);
      expect(asked).to.have.all.keys('outcome', 'mfa_setup_required', 'mfa_token');
      expect(asked.outcome).to.equal('mfa_setup_required');
      const bearer = new Http(api.url, asked.mfa_token);
      expect((await bearer.get('/api/auth/me')).status).to.equal(401);
      expect(
        (await enter({ mfa_token: asked.mfa_token, code: '123456' }, there)).status,
        'it is none of a login',
      ).to.equal(401);
      const { secret } = await bearer.expect<Setup>(200, 'POST', '/api/auth/mfa/setup');
      expect((await bearer.post('/api/auth/mfa/verify', { code: wrong(secret) })).status).to.equal(400);
      const given = code(secret);
      const done = await bearer.expect<Answered>(200, 'POST', '/api/auth/mfa/verify', { code: given });
      const own = new Http(api.url, done.tokens!.access_token);
      expect((await own.get('/api/auth/me')).body.id).to.equal(userId);
      expect((await bearer.post('/api/auth/mfa/verify', { code: given })).status, 'used').to.equal(401);
      const next = await logIn(email, there);
      expect(next.mfa_required).to.equal(true);
      expect(
        (await enter({ mfa_token: next.mfa_token, code: given }, there)).status,
        'the code that is still shown',
      ).to.equal(200);
      expect(
        (await enter({ mfa_token: (await logIn(email, there)).mfa_token, code: given }, there)).status,
        'once',
      ).to.equal(401);
      expect((await own.post('/api/auth/mfa/disable', { code: code(secret, 1) })).body.code).to.equal('MFA_REQUIRED');
    });

    it('another role logs in as before, and one that gets such a role is asked at the next refresh', async () => {
      const { email, userId } = await user(root, 'coordinator');
      const { tokens } = await logIn(email, there);
      const refreshed = await there.expect<{ refresh_token: string }>(200, 'POST', '/api/auth/refresh', {
        refresh_token: tokens!.refresh_token,
      });
      await root.expect(200, 'PATCH', `/api/users/${userId}`, { role: 'investigator' });
      expect((await there.post('/api/auth/refresh', { refresh_token: refreshed.refresh_token })).status).to.equal(401);
      expect((await logIn(email, there)).mfa_setup_required).to.equal(true);
    });

    it('a login without one is not one of such a role: it ends as its user gets that', async () => {
      const here = await admin(api.url);
      const [one, other] = [await user(root, 'coordinator'), await enrolled()];
      const alone = new Http(api.url, (await logIn(one.email, there)).tokens!.access_token);
      const { mfa_token } = await logIn(other.email, there);
      const { body } = await enter({ mfa_token, recovery_code: other.recovery_codes[0] }, there);
      const proved = new Http(api.url, body.tokens!.access_token);
      const change = (by: Http, role: string) => here.expect(200, 'PATCH', `/api/users/${by.userId}`, { role });
      await change(one, 'data_manager');
      expect((await alone.get('/api/auth/me')).body.role).to.equal('data_manager');
      for (const by of [one, other.http]) await change(by, 'investigator');
      expect((await alone.get('/api/auth/me')).status).to.equal(401);
      expect((await proved.get('/api/auth/me')).body.role).to.equal('investigator');
      expect((await logIn(one.email, there)).mfa_setup_required).to.equal(true);
    });
  });
});
