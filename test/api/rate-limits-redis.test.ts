import { createHmac, randomInt } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin, goodPassword, newStudy, unique } from '../support/http.js';
import type { Answer, Loose } from '../support/http.js';
import { redisServer } from '../support/redis.js';
import type { RedisServer } from '../support/redis.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

const GENERAL = 40,
  AUTH = 8,
  WEBHOOK = 12;

/** Where redis-server is not installed, these are pending, not passed. */
describe('Rate limits over a real Redis', function suite() {
  this.timeout(120_000);
  let redis: RedisServer | undefined;
  let one: ApiProcess, two: ApiProcess;
  let root: Http;
  before(async function start() {
    redis = await redisServer();
    if (!redis) return this.skip();
    await redis.start();
    const settings = {
      RATE_LIMIT_PER_MINUTE: String(GENERAL),
      AUTH_RATE_LIMIT_PER_MINUTE: String(AUTH),
      WEBHOOK_RATE_LIMIT_PER_MINUTE: String(WEBHOOK),
      TRUST_PROXY: 'true',
      REDIS_URL: redis.url,
    };
    [one, two] = await Promise.all([startApi(settings), startApi(settings)]);
    root = await admin();
  });
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await redis?.kill();
  });

  /** Each test is a client of another address. */
  let address = Math.floor(Math.random() * 60_000);
  const from = () => {
    address += 1;
    return { headers: { 'X-Forwarded-For': `10.78.${address >> 8}.${address & 255}` } };
  };
  const login = (base: string, email: string, password: string, options = from()) =>
    new Http(base).post<Loose & { tokens: { access_token: string } }>('/api/auth/login', { email, password }, options);
  const newUser = async (): Promise<{ email: string; token: string }> => {
    const email = `${unique()}@example.org`;
    await root.expect(201, 'POST', '/api/auth/register', { email, name: 'N', password: goodPassword, role: 'admin' });
    const entered = await login(one.url, email, goodPassword);
    return { email, token: entered.body.tokens.access_token };
  };

  /**
   * One after the other, at both processes in turn: each finds one less than the one before, no matter who counted it;
   * then both refuse.
   */
  async function expectShared(
    limit: number,
    status: number,
    send: (base: string, i: number) => Promise<Answer<Loose>>,
  ): Promise<void> {
    const began = Date.now() / 1000;
    const answers: Answer<Loose>[] = [];
    for (let i = 0; i < limit; i += 1) answers.push(await send(i % 2 ? one.url : two.url, i));
    expect(answers.map((answer) => answer.status)).to.deep.equal(Array(limit).fill(status));
    expect(answers.map((answer) => Number(answer.headers.get('x-ratelimit-remaining')))).to.deep.equal(
      Array.from({ length: limit }, (_, i) => limit - 1 - i),
    );
    for (const { headers } of answers) {
      expect(headers.get('x-ratelimit-limit')).to.equal(String(limit));
      expect(Number(headers.get('x-ratelimit-reset'))).to.be.within(began, began + 120);
    }
    await expectRefused(limit, send);
  }
  async function expectRefused(
    limit: number,
    send: (base: string, i: number) => Promise<Answer<Loose>>,
  ): Promise<void> {
    for (const { url } of [one, two]) {
      const refused = await send(url, limit);
      expect([
        refused.status,
        refused.body.code,
        refused.headers.get('x-ratelimit-limit'),
        refused.headers.get('x-ratelimit-remaining'),
      ]).to.deep.equal([429, 'RATE_LIMITED', String(limit), '0']);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      expect(Number(refused.headers.get('x-ratelimit-reset'))).to.be.greaterThan(Date.now() / 1000 - 1);
    }
  }

  it('by user', async () => {
    const { token } = await newUser();
    await expectShared(GENERAL, 200, (base) => new Http(base, token).get('/api/studies', from()));
    expect(
      (await redis!.keys()).some((key) => key.startsWith('general:user:')),
      'it is Redis that counts',
    ).to.equal(true);
  });

  it('by token of /api/v1, and each for itself', async () => {
    const minting = new Http(one.url, (await newUser()).token);
    const study = await newStudy(minting);
    const tokenOf = async () =>
      String(
        (
          await minting.expect(201, 'POST', '/api/v1/tokens', {
            name: 'x',
            scopes: ['participants:read'],
            study_ids: [study.id],
            expires_in_days: 1,
          })
        ).token,
      );
    const [first, second] = [await tokenOf(), await tokenOf()];
    const list = (token: string) => (base: string) =>
      new Http(base, token).get(`/api/v1/studies/${study.id}/participants`, from());
    await expectShared(GENERAL, 200, list(first));
    expect((await list(second)(one.url)).headers.get('x-ratelimit-remaining')).to.equal(String(GENERAL - 1));
  });

  it('by address without a token', async () => {
    const options = from();
    await expectShared(GENERAL, 401, (base) => new Http(base).get('/api/studies', options));
    expect((await new Http(one.url).get('/api/studies', from())).status, 'another address').to.equal(401);
  });

  it('login: by address', async () => {
    const options = from();
    await expectShared(AUTH, 401, (base, i) => login(base, `nobody-${i}-${address}@example.org`, 'x', options));
  });

  it('login: by account, from however many addresses', async () => {
    const email = `nobody-${unique()}@example.org`;
    const statuses: number[] = [];
    for (let i = 0; i < AUTH; i += 1) statuses.push((await login(i % 2 ? one.url : two.url, email, 'x')).status);
    expect(statuses).to.deep.equal(Array(AUTH).fill(401));
    for (const { url } of [one, two]) {
      const refused = await login(url, email.toUpperCase(), 'x');
      expect(
        [refused.status, refused.headers.get('x-ratelimit-limit'), refused.headers.get('x-ratelimit-remaining')],
        refused.text,
      ).to.deep.equal([429, String(AUTH), '0']);
    }
    expect(
      (await redis!.keys()).filter((key) => key.includes('nobody')),
      'no address in a counter',
    ).to.deep.equal([]);
  });

  it('triggers: by capture project', async () => {
    const { token } = await newUser();
    const http = new Http(one.url, token);
    const projectId = String(randomInt(100_000, 2_000_000_000)),
      secret = unique('a-webhook-secret');
    const study = await newStudy(http, { datacapture_enabled: true, integration_mode: 'datacapture' });
    await http.expect(201, 'PATCH', `/api/datacapture/config/${study.id}`, {
      api_url: 'http://127.0.0.1:9/api/',
      api_token: 'A'.repeat(32),
      webhook_secret: secret,
      webhook_enabled: true,
      enrollment_instrument: 'enroll',
    });
    const database = new pg.Client({ connectionString: (await service()).database_url });
    await database.connect();
    try {
      // As a test of the connection writes it.
      await database.query('begin');
      await database.query(`select set_config('app.studies', '*', true)`);
      await database.query('update datacapture_configs set project_id = $1 where study_id = $2', [projectId, study.id]);
      await database.query('commit');
    } finally {
      await database.end();
    }
    const body = new URLSearchParams({ project_id: projectId, instrument: 'other', record: 'r' }).toString();
    const send = (base: string) =>
      new Http(base).post('/api/webhooks/datacapture/det', undefined, {
        headers: {
          ...from().headers,
          'X-DataCapture-Signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
        },
        raw: { type: 'application/x-www-form-urlencoded', content: body },
      });
    const statuses: number[] = [];
    for (let i = 0; i < WEBHOOK; i += 1) statuses.push((await send(i % 2 ? one.url : two.url)).status);
    expect(statuses).to.deep.equal(Array(WEBHOOK).fill(200));
    await expectRefused(WEBHOOK, send);
  });

  it('that is killed: each process counts for itself and health says so; when it is back they share again', async () => {
    const status = async (base: string) => (await new Http(base).get('/api/health/redis')).body.status;
    for (const { url } of [one, two]) expect(await status(url)).to.equal('ok');
    await redis!.kill();
    for (const { url } of [one, two]) {
      const health = await new Http(url).get('/api/health/redis');
      expect([health.status, health.body.status]).to.deep.equal([503, 'down']);
      expect((await new Http(url).get('/api/health/detailed')).body).to.include({ status: 'degraded' });
    }
    const away = from();
    for (const { url } of [one, two]) {
      const answers: Answer<Loose>[] = [];
      for (let i = 0; i < AUTH + 1; i += 1)
        answers.push(await login(url, `nobody-${i}-${unique()}@example.org`, 'x', away));
      expect(
        answers.map((answer) => answer.status),
        'alone, but never without a limit',
      ).to.deep.equal([...Array<number>(AUTH).fill(401), 429]);
      expect(answers.map((answer) => Number(answer.headers.get('x-ratelimit-remaining')))).to.deep.equal([
        ...Array.from({ length: AUTH }, (_, i) => AUTH - 1 - i),
        0,
      ]);
    }

    await redis!.start();
    for (const { url } of [one, two])
      await until(async () => (await status(url)) === 'ok', { what: 'health to see it again' });
    const back = from();
    await expectShared(AUTH, 401, (base, i) => login(base, `nobody-${i}-${address}@example.org`, 'x', back));
  });

  it('that hangs: nobody waits for it longer than two seconds at a time, and the limits hold', async () => {
    redis!.freeze();
    try {
      const options = from();
      const began = performance.now();
      const statuses: number[] = [];
      for (let i = 0; i < AUTH + 1; i += 1)
        statuses.push((await login(two.url, `nobody-${i}-${unique()}@example.org`, 'x', options)).status);
      expect(statuses).to.deep.equal([...Array<number>(AUTH).fill(401), 429]);
      // Each of the two limits that a login counts for finds out by itself, and again when five seconds are over:
      // who waited each time would be at it for longer.
      expect((performance.now() - began) / 1000).to.be.lessThan(30);
      const health = await new Http(two.url).get('/api/health/redis');
      expect([health.status, health.body.status]).to.deep.equal([503, 'down']);
    } finally {
      redis!.thaw();
    }
    await until(async () => (await new Http(two.url).get('/api/health/redis')).status === 200, {
      what: 'health to see it again',
    });
  });
});
