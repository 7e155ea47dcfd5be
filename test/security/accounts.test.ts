import { expect } from 'chai';
import { generateSync } from 'otplib';
import pg from 'pg';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin, goodPassword, login, newStudy, unique, user } from '../support/http.js';
import type { Loose, Options } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

interface Mail {
  text: string;
  html: string;
  subject: string;
  to: { address: string }[];
}
interface Entered extends Loose {
  mfa_token: string;
  tokens: { access_token: string };
}
/** A refused login is answered at a multiple of it; timers may be a moment early. */
const STEP_MS = 395;
const next = 'another green clip 77';
const again = (proof: string): Options => ({ headers: { 'X-Reauthentication': proof } });

describe('Accounts under attack', () => {
  let root: Http;
  let nobody: Http;
  let database: pg.Client;
  before(async () => {
    root = await admin();
    nobody = new Http(root.base);
    database = new pg.Client({ connectionString: (await service()).database_url });
    await database.connect();
  });
  after(() => database.end());

  const mailsTo = async (email: string) =>
    (
      (await (
        await fetch(`${(await service()).mail_ui}/email?to.address=${encodeURIComponent(email)}`)
      ).json()) as Mail[]
    ).filter((mail) => mail.to.some(({ address }) => address === email));
  /** The mail to the address whose subject is this. */
  const told = (email: string, subject: string) =>
    until(async () => (await mailsTo(email)).find((mail) => mail.subject === subject), {
      timeout: 60_000,
      what: `the mail “${subject}”`,
    });
  /** Makes a user's logins look as if they had begun a quarter of an hour ago. */
  const age = (userId: string) =>
    database.query(`update refresh_tokens set created_at = created_at - interval '15 minutes' where user_id = $1`, [
      userId,
    ]);
  const code = ({ status, body }: { status: number; body: Loose }) => [status, body.code];

  describe('by a stolen access token', () => {
    let study: Loose;
    before(async () => {
      study = await newStudy(root);
    });
    const wanted = () => ({ name: 'nightly export', scopes: ['studies:read'], study_ids: [study.id] });

    it('no token of /api/v1 is minted from a login that is not recent, without password or code', async () => {
      const one = await user(root, 'researcher', { study_ids: [study.id] });
      expect((await one.post('/api/v1/tokens', wanted())).status, 'right after the login').to.equal(201);
      const mail = await told(one.email, 'An access token was created');
      expect(mail.text).to.include('nightly export');
      await age(one.userId!);
      expect(code(await one.post('/api/v1/tokens', wanted()))).to.deep.equal([401, 'REAUTHENTICATION_REQUIRED']);
      expect(code(await one.post('/api/v1/tokens', wanted(), again('not this one')))).to.deep.equal([
        401,
        'REAUTHENTICATION_FAILED',
      ]);
      expect((await one.post('/api/v1/tokens', wanted(), again(goodPassword))).status).to.equal(201);
      expect((await one.post('/api/v1/tokens', { ...wanted(), password: goodPassword })).status).to.equal(201);
    });

    it('a user has 200 tokens that work at most', async () => {
      const one = await user(root, 'researcher', { study_ids: [study.id] });
      await database.query(
        `insert into api_tokens (id, user_id, name, scopes, study_ids, token_hash, created_at, expires_at, revoked_at)
         select gen_random_uuid(), $1::uuid, 'T', array['studies:read'], array[$2::uuid],
           sha256(convert_to(gen_random_uuid()::text, 'UTF8')), now() - interval '2 days',
           now() + case when n = 200 then interval '-1 day' else interval '1 day' end,
           case when n = 201 then now() end
         from generate_series(1, 201) n`,
        [one.userId, study.id],
      );
      const answers = await Promise.all([1, 2, 3].map(() => one.post('/api/v1/tokens', wanted())));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 400, 400]);
      expect(answers.find(({ status }) => status === 400)!.body.errors).to.deep.equal([
        {
          path: 'name',
          code: 'TOO_MANY',
          message: 'name is one too many: you have 200 tokens that work, end one of them',
        },
      ]);
      const { id } = answers.find(({ status }) => status === 201)!.body;
      await one.expect(204, 'DELETE', `/api/v1/tokens/${id}`);
      expect((await one.post('/api/v1/tokens', wanted())).status, 'in its place').to.equal(201);
    });

    it('a new password lists the tokens that go on, and ends them on demand', async () => {
      const one = await user(root, 'researcher', { study_ids: [study.id] });
      const { id } = await one.expect<Loose>(201, 'POST', '/api/v1/tokens', wanted());
      const kept = await one.expect<{ api_tokens: Loose[]; revoked: string[] }>(200, 'POST', '/api/auth/password', {
        current_password: goodPassword,
        new_password: next,
      });
      expect([kept.api_tokens.map((token) => [token.id, token.name]), kept.revoked]).to.deep.equal([
        [[id, 'nightly export']],
        [],
      ]);
      expect(JSON.stringify(kept)).not.to.include('eyJ');
      expect((await told(one.email, 'Your password was changed')).text).to.include('still work: 1');
      const { http } = await login(root.base, one.email, next);
      const ended = await http.expect(200, 'POST', '/api/auth/password', {
        current_password: next,
        new_password: goodPassword,
        revoke_api_tokens: true,
      });
      expect(ended).to.deep.equal({ api_tokens: [], revoked: [id] });
      const last = await login(root.base, one.email, goodPassword);
      expect((await last.http.expect(200, 'GET', '/api/v1/tokens')).total).to.equal(0);
    });

    it('no token is minted by a login that ends with a new password at that moment', async () => {
      const one = await user(root, 'researcher', { study_ids: [study.id] });
      const waiting = (count: number) =>
        until(
          async () =>
            (
              await database.query(
                `select 1 from pg_stat_activity
                 where cardinality(pg_blocking_pids(pid)) > 0 and backend_type = 'client backend'`,
              )
            ).rows.length >= count,
          { what: 'requests to wait' },
        );
      const holder = new pg.Client({ connectionString: (await service()).database_url });
      await holder.connect();
      try {
        // The change waits with what it has written for its record.
        await holder.query('begin');
        await holder.query('select 1 from audit_chains where study_id is null for update');
        const changing = one.post('/api/auth/password', {
          current_password: goodPassword,
          new_password: next,
          revoke_api_tokens: true,
        });
        await waiting(1);
        const minting = one.post('/api/v1/tokens', wanted());
        await waiting(2);
        await holder.query('rollback');
        const [changed, minted] = await Promise.all([changing, minting]);
        expect([changed.status, ...code(minted)]).to.deep.equal([204, 401, 'INVALID_TOKEN']);
      } finally {
        await holder.end();
      }
    });

    it('no second factor is set up from a login that is not recent; every change of it is told', async () => {
      const one = await user(root, 'coordinator');
      await age(one.userId!);
      expect(code(await one.post('/api/auth/mfa/setup'))).to.deep.equal([401, 'REAUTHENTICATION_REQUIRED']);
      expect(code(await one.post('/api/auth/mfa/setup', undefined, again('guessed')))).to.deep.equal([
        401,
        'REAUTHENTICATION_FAILED',
      ]);
      const setup = await one.expect<{ secret: string; recovery_codes: string[] }>(
        200,
        'POST',
        '/api/auth/mfa/setup',
        undefined,
        again(goodPassword),
      );
      const shown = (steps: number) =>
        generateSync({ secret: setup.secret, epoch: Math.floor(Date.now() / 1000) + steps * 30 });
      await one.expect(200, 'POST', '/api/auth/mfa/verify', { code: shown(0) });
      await told(one.email, 'A second factor was turned on');
      const entered = await nobody.expect<Entered>(200, 'POST', '/api/auth/login', {
        email: one.email,
        password: goodPassword,
      });
      await nobody.expect(200, 'POST', '/api/auth/mfa/login', {
        mfa_token: entered.mfa_token,
        recovery_code: setup.recovery_codes[0],
      });
      expect((await told(one.email, 'A recovery code was used')).text).to.include('127.0.0.1');
      await one.expect(204, 'POST', '/api/auth/mfa/disable', { code: shown(1) });
      await told(one.email, 'Your second factor was turned off');
    });

    it('proofs are not guessed without end: five wrong ones lock those of that login, and nobody out', async () => {
      const one = await user(root, 'researcher', { study_ids: [study.id] });
      await age(one.userId!);
      for (let i = 0; i < 5; i++)
        expect(code(await one.post('/api/v1/tokens', wanted(), again(`guess ${i}`)))).to.deep.equal([
          401,
          'REAUTHENTICATION_FAILED',
        ]);
      expect((await one.post('/api/v1/tokens', wanted(), again(goodPassword))).status, 'locked').to.equal(401);
      await told(one.email, 'Wrong passwords within your login');
      const { http } = await login(root.base, one.email, goodPassword);
      expect((await http.post('/api/v1/tokens', wanted(), again(goodPassword))).status, 'another login').to.equal(201);
    });

    it('nor is the current password, as a new one is chosen: the owner is told', async () => {
      const one = await user(root, 'coordinator');
      const change = (current_password: string, by: Http = one) =>
        by.post('/api/auth/password', { current_password, new_password: next });
      const wrong = async (password: string) => {
        const { status, body } = await change(password);
        expect([status, body?.errors?.[0]?.code]).to.deep.equal([400, 'WRONG_PASSWORD']);
      };
      for (let i = 0; i < 5; i++) await wrong(`guess ${i}`);
      await wrong(goodPassword);
      await told(one.email, 'Wrong passwords within your login');
      const { rows } = await database.query(
        `select action from audit_log where user_id = $1 and action like 'reauthentication%' order by seq`,
        [one.userId],
      );
      expect(rows.map(({ action }) => action)).to.deep.equal([
        ...Array(5).fill('reauthentication_failed'),
        'reauthentication_locked',
      ]);
      const { http } = await login(root.base, one.email, goodPassword);
      expect((await change(goodPassword, http)).status, 'another login').to.equal(204);
    });

    it('a new invitation of who has a password tells of the new one, and of tokens that go on', async () => {
      const one = await user(root, 'researcher', { study_ids: [study.id] });
      const { id } = await one.expect<Loose>(201, 'POST', '/api/v1/tokens', wanted());
      await root.expect(202, 'POST', `/api/users/${one.userId}/invite`);
      const mail = await until(async () => (await mailsTo(one.email)).find(({ text }) => /token=/.test(text)), {
        timeout: 60_000,
        what: 'the invitation',
      });
      const token = /token=([\w-]+)/.exec(mail.text)![1]!;
      const chosen = { token, new_password: next, revoke_api_tokens: true };
      const { status, body } = await nobody.post('/api/auth/password/reset', chosen);
      expect([status, body]).to.deep.equal([200, { api_tokens: [], revoked: [id] }]);
      await told(one.email, 'Your password was changed');
    });

    it('a link that was mailed before a new password, or before the account ended, opens nothing more', async () => {
      const one = await user(root, 'coordinator');
      const links = async (count: number) => {
        const mails = () => mailsTo(one.email).then((all) => all.filter(({ text }) => /token=/.test(text)));
        await until(async () => (await mails()).length === count, { timeout: 60_000, what: `${count} links` });
        return (await mails()).map(({ text }) => /token=([\w-]+)/.exec(text)![1]!);
      };
      const opens = async (token: string) =>
        code(await nobody.post('/api/auth/password/reset', { token, new_password: 'what a stranger chooses 1' }));
      await nobody.expect(202, 'POST', '/api/auth/password/forgot', { email: one.email });
      const [before] = await links(1);
      await one.expect(204, 'POST', '/api/auth/password', { current_password: goodPassword, new_password: next });
      expect(await opens(before!)).to.deep.equal([401, 'INVALID_LINK']);
      await root.expect(202, 'POST', `/api/users/${one.userId}/invite`);
      const invited = (await links(2)).find((token) => token !== before)!;
      for (const status of ['inactive', 'active'])
        await root.expect(200, 'PATCH', `/api/users/${one.userId}`, { status });
      expect(await opens(invited)).to.deep.equal([401, 'INVALID_LINK']);
      await login(root.base, one.email, next);
    });

    it('a second factor that an admin takes away is told to its owner, without where the admin works', async () => {
      const one = await user(root, 'coordinator');
      const { secret } = await one.expect<{ secret: string }>(200, 'POST', '/api/auth/mfa/setup');
      await one.expect(200, 'POST', '/api/auth/mfa/verify', { code: generateSync({ secret }) });
      await root.expect(204, 'DELETE', `/api/users/${one.userId}/mfa`);
      expect((await told(one.email, 'Your second factor was removed')).text).not.to.include('From:');
    });
  });

  describe('by wrong passwords', () => {
    let api: ApiProcess;
    before(async () => {
      api = await startApi({ TRUST_PROXY: 'true' });
    });
    after(() => api.stop());
    let address = Math.floor(Math.random() * 60_000);
    const from = (agent = 'a browser 1.0') => {
      address += 1;
      return {
        headers: { 'X-Forwarded-For': `10.88.${address >> 8}.${address & 255}`, 'User-Agent': agent },
      };
    };
    const enter = (email: string, password: string, options: Options) =>
      new Http(api.url).post<Entered>('/api/auth/login', { email, password }, options);
    async function person(): Promise<string> {
      const email = `${unique('locked')}@example.org`;
      await root.expect(201, 'POST', '/api/auth/register', {
        email,
        name: 'N',
        password: goodPassword,
        role: 'coordinator',
      });
      return email;
    }

    it('of a stranger nobody else is locked out, whether the account knows the device or not; the owner is told', async () => {
      const email = await person();
      const home = from();
      expect((await enter(email, goodPassword, home)).status).to.equal(200);
      const stranger = from();
      for (let i = 0; i < 5; i++) expect((await enter(email, 'guess', stranger)).status).to.equal(401);
      expect((await enter(email, goodPassword, stranger)).status, 'locked there').to.equal(401);
      expect((await enter(email, goodPassword, home)).status, 'at home').to.equal(200);
      expect((await enter(email, goodPassword, from())).status, 'from a third address').to.equal(200);
      const mail = await told(email, 'Failed logins to your account');
      expect(mail.text).to.include(stranger.headers['X-Forwarded-For']);
    });

    it('of many strangers together an unknown device is locked, and one that logged in before is not', async () => {
      const email = await person();
      const home = from();
      expect((await enter(email, goodPassword, home)).status).to.equal(200);
      for (let stranger = 0; stranger < 7; stranger++) {
        const options = from();
        for (let i = 0; i < 4; i++) await enter(email, 'guess', options);
      }
      expect((await enter(email, goodPassword, from())).status, 'unknown').to.equal(401);
      expect((await enter(email, goodPassword, home)).status, 'known').to.equal(200);
      const updated = { headers: { ...home.headers, 'User-Agent': 'a browser 2.7' } };
      expect((await enter(email, goodPassword, updated)).status, 'after an update of the browser').to.equal(200);
    });

    it('at the address of the owner another browser locks itself alone', async () => {
      const email = await person();
      const home = from();
      await enter(email, goodPassword, home);
      const beside = { headers: { ...home.headers, 'User-Agent': 'a script' } };
      for (let i = 0; i < 6; i++) await enter(email, 'guess', beside);
      expect((await enter(email, goodPassword, beside)).status).to.equal(401);
      expect((await enter(email, goodPassword, home)).status).to.equal(200);
    });

    it('a login from a new device is told, one from a known device is not', async () => {
      const email = await person();
      const [home, away] = [from(), from('another browser (+https://example.org/its-page)')];
      await enter(email, goodPassword, home);
      await enter(email, goodPassword, home);
      await enter(email, goodPassword, away);
      const mail = await told(email, 'Login from a new device');
      expect(mail.text).to.include('another browser').and.to.include('/console/login');
      expect(mail.html)
        .to.include('another browser')
        .and.to.match(/<a href="[^"]*\/console\/login"/);
      expect(mail.html, 'an address that the program gave').not.to.include('https://example.org');
      expect(await mailsTo(email)).to.have.length(1);
    });

    it('no time tells whether there is such an account', async () => {
      const known = await person();
      const took = async (email: string) => {
        const began = performance.now();
        expect((await enter(email, 'a guess', from())).status).to.equal(401);
        return performance.now() - began;
      };
      // The quickest of several, no matter who else is at work: what one does more than the other is within the same
      // step.
      const least = async (email: (i: number) => string) =>
        Math.min(...(await Promise.all(Array.from({ length: 4 }, (_, i) => took(email(i))))));
      expect(await least(() => known)).to.be.at.least(STEP_MS);
      expect(await least((i) => `nobody-${i}-${known}`)).to.be.at.least(STEP_MS);
    });

    it('the attempts of others use nothing of a known device’s up', async () => {
      const limited = await startApi({ TRUST_PROXY: 'true', AUTH_RATE_LIMIT_PER_MINUTE: '6' });
      try {
        const at = (email: string, password: string, options: Options) =>
          new Http(limited.url).post('/api/auth/login', { email, password }, options);
        const email = await person();
        const home = from();
        expect((await at(email, goodPassword, home)).status).to.equal(200);
        const statuses = [];
        for (let i = 0; i < 8; i++) statuses.push((await at(email, 'guess', from())).status);
        expect(statuses.at(-1)).to.equal(429);
        expect((await at(email, goodPassword, home)).status).to.equal(200);
      } finally {
        await limited.stop();
      }
    });
  });
});
