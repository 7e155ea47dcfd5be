import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Answer, Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { imported } from '../data/stage.js';

/** How long a request waits for others, one statement may take, and a request may take to arrive. */
const WAIT = 1.5,
  STATEMENT = 4,
  ARRIVAL = 4;
/** Of connections to the database, so that few who wait would be enough to stop everybody. */
const POOL = 5;

describe('What bounds a request’s time', function suite() {
  this.timeout(120_000);
  let api: ApiProcess, http: Http, outside: pg.Client, study: Loose;
  before(async () => {
    api = await startApi({
      REQUEST_TIMEOUT_SECONDS: String(WAIT),
      STATEMENT_TIMEOUT_SECONDS: String(STATEMENT),
      REQUEST_ARRIVAL_SECONDS: String(ARRIVAL),
      DATABASE_POOL_MAX: String(POOL),
    });
    http = await admin(api.url);
    outside = new pg.Client({ connectionString: (await service()).database_url, application_name: 'outside' });
    await outside.connect();
  });
  after(async () => {
    await outside.end();
    await api.stop();
  });
  beforeEach(async () => {
    study = await newStudy(http);
  });

  /**
   * Sends `head` at once and then a byte now and then, for ever; what the service says until it ends the connection.
   */
  async function dripped(head: string): Promise<{ text: string; seconds: number }> {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    // It is reset in the midst of what is still sent: what was said before counts.
    socket.on('error', () => undefined);
    const began = performance.now();
    socket.write(head);
    const drip = setInterval(() => {
      socket.write('x');
    }, 100);
    const patience = AbortSignal.timeout((ARRIVAL + 15) * 1000);
    try {
      await once(socket, 'close', { signal: patience });
    } finally {
      clearInterval(drip);
      socket.destroy();
    }
    return { text, seconds: (performance.now() - began) / 1000 };
  }
  function expectTimeout({ text, seconds }: { text: string; seconds: number }): void {
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head)
      .to.match(/^HTTP\/1\.1 408 /)
      .and.match(/\r\nconnection: close/i)
      .and.match(/\r\nx-request-id: /i);
    expect(JSON.parse(body))
      .to.include({ code: 'REQUEST_TIMEOUT' })
      .and.have.property('request_id')
      .that.is.a('string');
    expect(seconds).to.be.within(ARRIVAL * 0.9, ARRIVAL + 10);
  }
  const head = (path: string, ...more: string[]) =>
    [`POST ${path} HTTP/1.1`, `Host: ${new URL(api.url).host}`, `Authorization: Bearer ${http.token}`, ...more].join(
      '\r\n',
    );

  it('headers that come a byte at a time: 408, and the connection ends', async () => {
    expectTimeout(await dripped(head('/api/studies', 'X-Slow: ')));
  });

  it('a body that comes a byte at a time, of a known length or in chunks: 408, while others are served', async () => {
    const slow = [
      dripped(head('/api/studies', 'Content-Type: application/json', 'Content-Length: 100000', '', '{')),
      dripped(head('/api/studies', 'Content-Type: application/json', 'Transfer-Encoding: chunked', '', 'fffff\r\n{')),
      dripped(
        head(
          `/api/studies/${study.id}/participants/import/csv`,
          'Content-Type: multipart/form-data; boundary=b',
          'Content-Length: 100000',
          '',
          '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n',
        ),
      ),
      dripped(
        head(
          '/api/webhooks/datacapture/det',
          'Content-Type: application/x-www-form-urlencoded',
          // Without a login a body is at most 64 KiB.
          'Content-Length: 60000',
          '',
          'project_id=',
        ),
      ),
    ];
    expect((await http.get('/api/studies')).status).to.equal(200);
    for (const answer of await Promise.all(slow)) expectTimeout(answer);
  });

  it('a body that a refused request never finishes: the connection ends all the same', async () => {
    const { text, seconds } = await dripped(
      [
        'POST /api/studies HTTP/1.1',
        `Host: ${new URL(api.url).host}`,
        'Content-Type: application/json',
        'Content-Length: 100000',
        '',
        '{',
      ].join('\r\n'),
    );
    expect(text).to.match(/^HTTP\/1\.1 401 /);
    expect(seconds).to.be.lessThan(ARRIVAL + 30);
  });

  /** Does `work` while a transaction from outside holds what `sql` locks. */
  async function whileLocked<T>(sql: string, work: () => Promise<T>): Promise<T> {
    await outside.query('begin');
    try {
      await outside.query(`select set_config('app.studies', '*', true)`);
      await outside.query(sql);
      return await work();
    } finally {
      await outside.query('rollback');
    }
  }
  /** Sends what has to wait, at most three times: on a busy machine an answer may be late for that reason alone. */
  async function expectBusyAfter(seconds: number, patience: number, send: () => Promise<Answer<Loose>>): Promise<void> {
    let soonest = Infinity;
    for (let times = 0; times < 3 && soonest > seconds + patience; times += 1) {
      const began = performance.now();
      expectBusy(await send());
      soonest = Math.min(soonest, (performance.now() - began) / 1000);
    }
    expect(soonest).to.be.within(seconds * 0.9, seconds + patience);
  }
  const lockedStudy = () => `select 1 from studies where id = '${study.id}' for update`;
  /** The API's sessions that wait for a lock just now. */
  async function waiting(): Promise<number> {
    const second = new pg.Client({ connectionString: (await service()).database_url });
    await second.connect();
    try {
      const { rows } = await second.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity where application_name = 'api' and wait_event_type = 'Lock'`,
      );
      return rows[0]!.n;
    } finally {
      await second.end();
    }
  }
  const expectBusy = (answer: Answer<Loose>): void => {
    expect([answer.status, answer.body.code], answer.text).to.deep.equal([503, 'DATABASE_UNAVAILABLE']);
    expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 60);
  };
  const records = async (): Promise<number> =>
    (await http.expect(200, 'GET', `/api/audit?study_id=${study.id}&limit=1`)).total;

  it('a row that is locked: 503 with Retry-After, nothing half-written, and the same again is done', async () => {
    const before = await records();
    const rename = () => http.patch(`/api/studies/${study.id}`, { study_name: 'Renamed' });
    await expectBusyAfter(WAIT, 5, () => whileLocked(lockedStudy(), rename));
    expect((await http.expect(200, 'GET', `/api/studies/${study.id}`)).study_name).to.equal('A study');
    expect(await records()).to.equal(before);
    expect((await rename()).status).to.equal(200);
    expect(await records()).to.equal(before + 1);
  });

  it('under an Idempotency-Key, the key of what gave up is free again', async () => {
    const enroll = () =>
      http.post(
        `/api/studies/${study.id}/participants`,
        { participant_code: 'P-1' },
        { headers: { 'Idempotency-Key': 'enroll-1' } },
      );
    expectBusy(await whileLocked(lockedStudy(), enroll));
    expect((await http.expect(200, 'GET', `/api/participants?study_id=${study.id}`)).total).to.equal(0);
    expect((await enroll()).status).to.equal(201);
    expect((await http.expect(200, 'GET', `/api/participants?study_id=${study.id}`)).total).to.equal(1);
  });

  it('a statement that takes too long: 503 with Retry-After, and nothing is written', async () => {
    const name = unique('slow').replaceAll('-', '_');
    await outside.query(
      `create function ${name}() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$`,
    );
    try {
      await outside.query(
        `create trigger ${name} before insert on sites for each row when (new.site_code = '${name}') execute function ${name}()`,
      );
      await expectBusyAfter(STATEMENT, 10, () =>
        http.post(`/api/studies/${study.id}/sites`, { site_code: name, name: 'Slow' }),
      );
      expect((await http.expect(200, 'GET', `/api/studies/${study.id}/sites`)).total).to.equal(0);
    } finally {
      await outside.query(`drop function ${name} cascade`);
    }
  });

  it('a worker that is stopped: 503 with Retry-After', async () => {
    const { id } = await newParticipant(http, study.id);
    const { pids } = await service();
    process.kill(pids.worker!, 'SIGSTOP');
    try {
      const { answer, seconds } = await until(
        async () => {
          const began = performance.now();
          const reply = await http.post(`/api/studies/${study.id}/participants/${id}/anchor-date`, {
            enrollment_date: '2026-01-05',
          });
          // On a busy machine a probe of the Temporal server may be late; then it is what is said to be away.
          return reply.body.code === 'TEMPORAL_UNAVAILABLE'
            ? undefined
            : { answer: reply, seconds: (performance.now() - began) / 1000 };
        },
        { what: 'an answer on the worker' },
      );
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([503, 'WORKER_UNAVAILABLE']);
      expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 60);
      expect(seconds).to.be.within(WAIT * 0.9, WAIT + 10);
    } finally {
      process.kill(pids.worker!, 'SIGCONT');
    }
  });

  /** As many clients as connections: they go away when all of them wait, or one has been answered. */
  async function leftWaiting(): Promise<('gone' | 'answered')[]> {
    const impatience = new AbortController();
    let answered = false;
    const ends = Array.from({ length: POOL }, (_, i) =>
      fetch(`${api.url}/api/studies/${study.id}`, {
        method: 'PATCH',
        signal: impatience.signal,
        headers: { Authorization: `Bearer ${http.token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ study_name: `Gone ${i}` }),
      }).then(
        () => {
          answered = true;
          return 'answered' as const;
        },
        () => 'gone' as const,
      ),
    );
    await until(async () => answered || (await waiting()) === POOL, { what: 'all of them to wait for the row' });
    impatience.abort();
    return Promise.all(ends);
  }

  it('clients that go away while they wait: what they held is free, nothing of theirs is written', async () => {
    await whileLocked(lockedStudy(), async () => {
      // Who is answered before all of them wait, and go, was kept from it by the machine: others come in their place.
      await until(async () => (await leftWaiting()).every((end) => end === 'gone'), {
        what: 'all of them to wait for the row, and go away',
      });
      await until(async () => (await waiting()) === 0, {
        what: 'nobody to wait any more, though the row is still locked',
      });
      expect((await http.get('/api/studies')).status).to.equal(200);
    });
    expect((await http.expect(200, 'GET', `/api/studies/${study.id}`)).study_name).to.equal('A study');
  });

  it('files in and out have limits of their own: an import and an export wait longer', async () => {
    // Both at once, each with a lock of its own to wait for.
    const begun = await whileLocked(lockedStudy(), async () => {
      await outside.query('lock table scheduled_visits in access exclusive mode');
      const running = Promise.all([
        imported(http, study.id, 'participant_code\nL-1\n'),
        http.post('/api/exports/csv', { study_id: study.id, dataset: 'visits' }),
      ]);
      running.catch(() => undefined);
      await until(async () => (await waiting()) === 2, { what: 'both to wait' });
      // No condition to wait for: nothing is to happen for so long.
      await sleep((STATEMENT + 1) * 1000);
      expect(await waiting(), 'both wait longer than a statement of a request may take').to.equal(2);
      return { running };
    });
    const [report, exported] = await begun.running;
    expect(report).to.include({ success: true, imported_count: 1 });
    expect(exported.status, exported.text).to.equal(200);
    expect(exported.text).to.contain('participant_code');
  });
});
