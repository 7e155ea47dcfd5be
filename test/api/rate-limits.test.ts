import { expect } from 'chai';
import { Http, admin, goodPassword, unique } from '../support/http.js';
import { freePort, startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { until } from '../support/until.js';

/** Of logins a minute: each costs what hashing a password does. */
const AUTH = 4;

describe('Rate limits', () => {
  let one: ApiProcess;
  let two: ApiProcess;
  let root: Http;
  before(async function start() {
    // One secret, so that a token is good at both processes.
    const limits = {
      RATE_LIMIT_PER_MINUTE: '20',
      AUTH_RATE_LIMIT_PER_MINUTE: String(AUTH),
      WEBHOOK_RATE_LIMIT_PER_MINUTE: '6',
      TRUST_PROXY: 'true',
      CORS_ORIGINS: 'https://app.example.org',
    };
    [one, two] = await Promise.all([startApi(limits), startApi(limits)]);
    root = await admin();
  });
  after(() => Promise.all([one.stop(), two.stop()]));

  /** Each test is a client of another address. */
  let address = Math.floor(Math.random() * 60_000);
  const from = () => {
    address += 1;
    return { headers: { 'X-Forwarded-For': `10.77.${address >> 8}.${address & 255}` } };
  };
  const loginAt = async (base: string, email: string, password: string, options: { headers: Record<string, string> }) =>
    new Http(base).post<{ tokens: { access_token: string } }>('/api/auth/login', { email, password }, options);

  it('count an address once, whatever port the proxy appends to it; what is no address is the proxy’s', async () => {
    const at = async (ip: string) => {
      const options = { headers: { 'X-Forwarded-For': ip } };
      return (await loginAt(one.url, `${unique()}@example.org`, goodPassword, options)).status;
    };
    const v4 = from().headers['X-Forwarded-For'];
    for (let i = 1; i <= AUTH; i += 1) expect(await at(`203.0.113.9, ${v4}:${50_000 + i}`)).to.equal(401);
    expect(await at(v4)).to.equal(429);
    const v6 = `2001:db8:${(address += 1).toString(16)}:7::1`;
    for (let i = 1; i <= AUTH; i += 1) expect(await at(i % 2 ? `[${v6}]:${50_000 + i}` : `[${v6}]`)).to.equal(401);
    expect(await at(v6)).to.equal(429);
    // The proxy's own minute is under way already, and may be over amid these.
    await until(async () => (await at(unique('unknown-'))) === 429, { what: 'the proxy’s own limit' });
  });

  it('count triggers that nobody signed by their network', async () => {
    const network = `2001:db8:${(address += 1).toString(16)}:9`;
    const statuses = [];
    for (let i = 1; i <= 7; i += 1) {
      const { status, headers } = await fetch(`${one.url}/api/webhooks/datacapture/det`, {
        method: 'POST',
        headers: { 'X-Forwarded-For': `${network}::${i}` },
        body: new URLSearchParams({ project_id: unique('nobody'), record: '1', instrument: 'enroll' }),
      });
      statuses.push([status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]);
    }
    expect(statuses).to.deep.equal([
      ...Array.from({ length: 6 }, (_, i) => [200, '6', String(5 - i)]),
      [429, '6', '0'],
    ]);
  });

  it('do not count what a browser asks in advance for a page of CORS_ORIGINS: everybody at one address would share it', async () => {
    const asked = async (origin: string, { headers }: { headers: Record<string, string> }) =>
      (
        await fetch(`${one.url}/api/studies`, {
          method: 'OPTIONS',
          headers: { ...headers, Origin: origin, 'Access-Control-Request-Method': 'GET' },
        })
      ).status;
    const [page, stranger] = [from(), from()];
    for (let i = 1; i <= 25; i += 1) expect(await asked('https://app.example.org', page)).to.equal(204);
    const statuses = [];
    for (let i = 1; i <= 25; i += 1) statuses.push(await asked('https://evil.example', stranger));
    expect(statuses).to.include(429);
  });

  it('count the addresses of an IPv6 network as one caller', async () => {
    const network = `2001:db8:${(address += 1).toString(16)}:1`;
    const at = async (ip: string) => {
      const options = { headers: { 'X-Forwarded-For': ip } };
      return (await loginAt(one.url, `${unique()}@example.org`, goodPassword, options)).status;
    };
    for (let i = 1; i <= AUTH; i += 1) expect(await at(`${network}::${i}`)).to.equal(401);
    expect(await at(`${network}:a:b:c:d`)).to.equal(429);
    expect(await at(`${network.slice(0, -1)}2::1`)).to.equal(401);
    const v4 = from().headers['X-Forwarded-For'];
    for (let i = 1; i <= AUTH; i += 1) expect(await at(i % 2 ? v4 : `::ffff:${v4}`)).to.equal(401);
    expect(await at(`::ffff:${v4}`)).to.equal(429);
  });

  it('count by user over all processes, and say what is left', async () => {
    const email = `${unique()}@example.org`;
    await root.expect(201, 'POST', '/api/auth/register', {
      email,
      name: 'N',
      password: goodPassword,
      role: 'coordinator',
    });
    const { tokens } = (await loginAt(one.url, email, goodPassword, from())).body;
    const remaining: number[] = [];
    for (let i = 0; i < 20; i++) {
      const answer = await new Http(i % 2 ? one.url : two.url, tokens.access_token).get('/api/studies');
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('x-ratelimit-limit')).to.equal('20');
      remaining.push(Number(answer.headers.get('x-ratelimit-remaining')));
    }
    expect(remaining).to.deep.equal(Array.from({ length: 20 }, (_, i) => 19 - i));
    for (const { url } of [one, two]) {
      const refused = await new Http(url, tokens.access_token).get('/api/studies');
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'RATE_LIMITED']);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      expect(refused.headers.get('x-ratelimit-remaining')).to.equal('0');
    }
  });

  it('count by address without a token, and bad tokens too', async () => {
    const options = from();
    const statuses = await Promise.all(
      Array.from({ length: 25 }, (_, i) =>
        new Http(i % 2 ? one.url : two.url, 'nonsense').get('/api/studies', options).then((a) => a.status),
      ),
    );
    expect(statuses.filter((s) => s === 401).length).to.equal(20);
    expect(statuses.filter((s) => s === 429).length).to.equal(5);
    expect((await new Http(one.url, 'nonsense').get('/api/studies', from())).status, 'another address').to.equal(401);
  });

  it('count by address what no route answers', async () => {
    const options = from();
    const statuses = [];
    for (let i = 0; i < 21; i++) statuses.push((await new Http(one.url).get('/api/nothing/here', options)).status);
    expect(statuses).to.deep.equal([...Array<number>(20).fill(404), 429]);
  });

  it('the last forwarded address counts: the ones before it are whatever the client wrote', async () => {
    const own = from().headers['X-Forwarded-For'];
    for (let i = 0; i < 20; i++)
      await new Http(one.url).get('/api/studies', { headers: { 'X-Forwarded-For': `1.2.3.${i}, ${own}` } });
    expect(
      (await new Http(one.url).get('/api/studies', { headers: { 'X-Forwarded-For': `9.9.9.9, ${own}` } })).status,
    ).to.equal(429);
  });

  it('login: by address', async () => {
    const options = from();
    const statuses = [];
    for (let i = 0; i <= AUTH; i++)
      statuses.push((await loginAt(one.url, `nobody-${i}-${address}@example.org`, 'x', options)).status);
    expect(statuses).to.deep.equal([...Array<number>(AUTH).fill(401), 429]);
  });

  it('login: by account, from however many addresses', async () => {
    const email = `nobody-${address}@example.org`;
    const statuses = [];
    for (let i = 0; i <= AUTH; i++)
      statuses.push(
        (await loginAt(i % 2 ? one.url : two.url, i % 3 ? email : email.toUpperCase(), 'x', from())).status,
      );
    expect(statuses).to.deep.equal([...Array<number>(AUTH).fill(401), 429]);
  });

  it('registration: by the admin who registers, whatever else comes from that address', async () => {
    const options = from();
    const email = `${unique('admin')}@example.org`;
    await root.expect(201, 'POST', '/api/auth/register', { email, name: 'N', password: goodPassword, role: 'admin' });
    const entered = await loginAt(one.url, email, goodPassword, options);
    expect(entered.status, entered.text).to.equal(200);
    const { tokens } = entered.body;
    for (let i = 0; i < AUTH; i++) await loginAt(one.url, `nobody-${i}-${address}@example.org`, 'x', options);
    const register = () =>
      new Http(one.url, tokens.access_token).post(
        '/api/auth/register',
        { email: `${unique()}@example.org`, name: 'N', password: goodPassword, role: 'coordinator' },
        options,
      );
    const statuses = [];
    for (let i = 0; i <= AUTH; i++) statuses.push((await register()).status);
    expect(statuses).to.deep.equal([...Array<number>(AUTH).fill(201), 429]);
  });

  it('a second factor, a portal link and a forgotten password use nothing of the logins of their address up', async () => {
    const options = from();
    const nobody = new Http(one.url);
    const answers = [
      await nobody.post('/api/auth/mfa/login', { mfa_token: 'nonsense', code: '123456' }, options),
      await nobody.post('/api/portal/session', { token: 'nonsense' }, options),
      await nobody.post('/api/auth/password/forgot', { email: `${unique()}@example.org` }, options),
      await nobody.post('/api/portal/logout', undefined, options),
    ];
    expect(answers.map((answer) => answer.headers.get('x-ratelimit-limit'))).to.deep.equal(['20', '20', '20', '20']);
    const login = await loginAt(one.url, `nobody-${address}@example.org`, 'x', options);
    expect([login.headers.get('x-ratelimit-limit'), login.headers.get('x-ratelimit-remaining')]).to.deep.equal([
      String(AUTH),
      String(AUTH - 1),
    ]);
  });

  it('a Redis that is away: each process counts for itself, and health says so', async () => {
    const alone = await startApi({
      AUTH_RATE_LIMIT_PER_MINUTE: String(AUTH),
      TRUST_PROXY: 'true',
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
    });
    try {
      const options = from();
      const statuses = [];
      for (let i = 0; i <= AUTH; i++)
        statuses.push((await loginAt(alone.url, `nobody-${i}-${address}@example.org`, 'x', options)).status);
      expect(statuses).to.deep.equal([...Array<number>(AUTH).fill(401), 429]);
      const health = await new Http(alone.url).get('/api/health/redis');
      expect([health.status, health.body.status]).to.deep.equal([503, 'down']);
      // Another part may be slow to answer for a moment.
      await until(async () => (await new Http(alone.url).get('/api/health/detailed')).body.status === 'degraded', {
        what: 'a service that works without Redis',
      });
      await until(() => alone.output().includes('redis is not reached'), { what: 'the log' });
    } finally {
      await alone.stop();
    }
  });

  it('health is never refused', async () => {
    const options = from();
    for (let i = 0; i < 30; i++) expect((await new Http(one.url).get('/api/health', options)).status).to.equal(200);
  });
});
