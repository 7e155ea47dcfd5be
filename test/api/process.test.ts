import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect, createServer as createTcp } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { expect } from 'chai';
import pg from 'pg';
import { Visitor } from '../console/stage.js';
import { failedApi, freePort, startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

describe('The API process', function suite() {
  it('says in one sentence why it does not start, and exits with 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const nowhere = await freePort();
    const cases: [Record<string, string>, RegExp][] = [
      [{ PORT: String(port) }, new RegExp(`Port ${port} is taken: set PORT`)],
      [{ JWT_SECRET: '' }, /JWT_SECRET is not set/],
      [{ DATABASE_URL: '' }, /DATABASE_URL is not set/],
      [{ DATABASE_URL: `postgres://nobody@127.0.0.1:${nowhere}/x` }, /DATABASE_URL is not reached/],
      [{ RATE_LIMIT_PER_MINUTE: 'many' }, /RATE_LIMIT_PER_MINUTE is not a number/],
    ];
    for (const [overrides, sentence] of cases) {
      const { code, output } = await failedApi(overrides);
      expect([code, output], JSON.stringify(overrides)).to.satisfy(() => code === 1 && sentence.test(output));
      expect(output.trim().split('\n').at(-1), 'the last line').to.match(sentence);
    }
    taken.close();
  });

  it('refuses a schema that is not the latest', async () => {
    const { database_url } = await service();
    const name = unique('old').replace('-', '_');
    const owner = new pg.Client({ connectionString: database_url });
    await owner.connect();
    await owner.query(`create database ${name}`);
    const url = new URL(database_url);
    url.pathname = `/${name}`;
    try {
      const { code, output } = await failedApi({ DATABASE_URL: url.toString() });
      expect(code).to.equal(1);
      expect(output).to.match(/schema is at revision none, this program needs \d{4}-\w[\w-]*: run "npm run migrate"/);
    } finally {
      await owner.query(`drop database ${name} with (force)`);
      await owner.end();
    }
  });

  describe('from its first line to its end', () => {
    let api: ApiProcess;
    // A door in front of the database that can be shut.
    let open = true;
    const sockets = new Set<Socket>();
    let door: Server;
    before(async () => {
      const url = new URL((await service()).database_url);
      const [port, host] = [Number(url.port), url.hostname];
      door = createTcp((socket) => {
        if (!open) {
          socket.destroy();
          return;
        }
        const through = connect(port, host);
        socket.pipe(through).pipe(socket);
        for (const [one, other] of [
          [socket, through],
          [through, socket],
        ] as const)
          one.on('error', () => other.destroy()).on('close', () => other.destroy());
        sockets.add(socket);
      });
      door.listen(0, '127.0.0.1');
      await once(door, 'listening');
      url.port = String((door.address() as AddressInfo).port);
      url.hostname = '127.0.0.1';
      api = await startApi({ DATABASE_URL: url.toString(), PUBLIC_URL: 'https://study.example.org' });
    });
    after(async () => {
      await api?.kill();
      door?.close();
      sockets.forEach((socket) => socket.destroy());
    });

    it('writes one line for each request, without what may be personal', async () => {
      const http = await admin(api.url);
      await http.get('/api/participants?search=secret.person%40example.org');
      await http.post('/api/auth/login', { email: 'secret.person@example.org', password: 'x' });
      const lines = await until(
        () => {
          const found = api
            .output()
            .split('\n')
            .filter((line) => line.includes('"msg":"request"'))
            .map((line) => JSON.parse(line) as Loose);
          return found.length >= 3 ? found : undefined;
        },
        { what: 'three lines' },
      );
      expect(lines.map((l) => [l.method, l.route, l.status])).to.deep.include(['GET', '/api/participants', 200]);
      expect(lines.find((l) => l.route === '/api/participants')).to.include({ user_id: http.userId });
      expect(api.output()).not.to.include('secret.person');
    });

    it('answers 503 with Retry-After while the database is away, and serves again when it is back', async () => {
      const http = await admin(api.url);
      open = false;
      sockets.forEach((socket) => socket.destroy());
      const answers = await Promise.all(Array.from({ length: 5 }, () => http.get('/api/studies')));
      for (const answer of answers) {
        expect([answer.status, answer.headers.get('retry-after')], answer.text).to.deep.equal([503, '1']);
        expect(answer.body.code).to.equal('DATABASE_UNAVAILABLE');
      }
      const down = await http.get('/api/health/db');
      expect([down.status, down.body.status, down.headers.get('retry-after')]).to.deep.equal([503, 'down', '1']);
      open = true;
      await until(async () => (await http.get('/api/studies')).status === 200 || undefined, {
        what: 'the API to serve again',
      });
      expect((await http.get('/api/health/db')).body.status).to.equal('ok');
    });

    it('a console’s cookies are the browser’s alone, and behind https are only sent there', async () => {
      const visitor = new Visitor(api.url);
      const first = await visitor.get('/console/login');
      const { admin_email, admin_password } = await service();
      const entered = await visitor.login(admin_email, admin_password ?? '');
      const lines = [...first.headers.getSetCookie(), ...entered.headers.getSetCookie()];
      expect(lines.length).to.be.at.least(2);
      for (const line of lines)
        for (const flag of ['HttpOnly', 'Secure', 'SameSite=Lax', 'Path=/console']) expect(line).to.include(flag);
    });

    it('on SIGTERM finishes what runs, takes nothing new, and exits with 0', async () => {
      const root = await admin(api.url);
      // A connection of its own for each is there before: one that is still being made would be refused. Few enough to
      // be done within the seconds that a stop waits, on a machine that does much else.
      await Promise.all(Array.from({ length: 6 }, () => root.get('/api/health')));
      const running = Array.from({ length: 6 }, () =>
        root.post('/api/auth/register', {
          email: `${unique()}@example.org`,
          name: 'N',
          role: 'coordinator',
          password: 'correct blue staple 42',
        }),
      );
      await Promise.race(running);
      const [code, ...answers] = await Promise.all([api.stop(), ...running]);
      expect(code).to.equal(0);
      expect(answers.map((a) => a.status)).to.deep.equal(Array(6).fill(201));
      expect(
        await fetch(api.url).then(
          () => 'answered',
          () => 'refused',
        ),
      ).to.equal('refused');
    });
  });

  it('answers and says so while Temporal is away; 503 for what needs it', async () => {
    const api = await startApi({ TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` });
    try {
      const http = await admin(api.url);
      expect((await http.get('/api/studies')).status).to.equal(200);
      const { status, body } = await http.get<Loose & { dependencies: Record<string, { status: string }> }>(
        '/api/health/detailed',
      );
      expect([
        status,
        body.status,
        body.dependencies.temporal?.status,
        body.dependencies.database?.status,
      ]).to.deep.equal([503, 'down', 'down', 'ok']);
      expect((await http.get('/api/health')).status).to.equal(200);
      const study = await newStudy(http);
      const anchor = `/api/studies/${study.id}/participants/${(await newParticipant(http, study.id)).id}/anchor-date`;
      // The key of a request that failed is free again.
      for (let i = 0; i < 2; i++) {
        const answer = await http.post(
          anchor,
          { enrollment_date: '2026-01-05' },
          { headers: { 'Idempotency-Key': 'again' } },
        );
        expect([answer.status, answer.headers.get('retry-after') !== null], answer.text).to.deep.equal([503, true]);
      }
    } finally {
      await api.stop();
    }
  });

  it('health tells environment and version; Redis that is not there is not configured', async () => {
    const http = new Http((await service()).api);
    for (const path of ['/api/health', '/api/metrics/health']) {
      const { status, body } = await http.get(path);
      expect([status, body.status, body.environment, body.version]).to.deep.equal([200, 'ok', 'development', '0.1.0']);
    }
    const redis = await http.get('/api/health/redis');
    expect([redis.status, redis.body]).to.deep.equal([200, { status: 'not_configured', latency_ms: null }]);
  });
});
