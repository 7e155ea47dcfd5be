import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { brokenInvariants } from '../anchor/invariants.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { trials } from '../assessment/stage.js';
import { dayIn } from '../notifications/stage.js';
import { Cluster } from '../support/cluster.js';
import { Http } from '../support/http.js';
import type { Answer, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { until } from '../support/until.js';
import { scheduleIds } from '../../workflows/contract.js';
import { EVENT, SETTINGS, Setting } from './setting.js';

const TOGETHER = 12,
  WARM_UP = 12;
const FINAL_AT_ONCE = {
  prerequisites: { require_consent_signed: false },
  sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
};

describe('Two API and three worker processes on one PostgreSQL and one Temporal', function () {
  this.timeout(300_000);
  let cluster: Cluster, setting: Setting, stage: Stage, study: AnchorStudy, apis: Http[];
  before(async () => {
    cluster = await Cluster.start({
      apis: 2,
      workers: 3,
      settings: {
        ...SETTINGS,
        RATE_LIMIT_PER_MINUTE: '1900',
        DATACAPTURE_BREAKER_FAILURES: '3',
        DATACAPTURE_BREAKER_COOLDOWN_SECONDS: '600',
        DATABASE_POOL_MAX: '8',
      },
    });
    [setting, stage] = [await Setting.make(cluster), await Stage.open(cluster.run)];
    study = await stage.study(FINAL_AT_ONCE);
    apis = cluster.apiUrls.map((url) => new Http(url, stage.admin.token, stage.admin.userId));
    // Each worker has worked before they are all asked at once: the first task of a process is a slow one.
    const first = await stage.study(FINAL_AT_ONCE);
    for (let n = 0; n < WARM_UP; n += 1) await (await first.person()).set(DAY);
  });
  after(async () => {
    await stage?.close();
    await setting?.close();
    await cluster?.stop();
  });

  it('behave as one: the same key at both at once is one, every stream tells each event once and in order, the breaker and the jobs are shared', async () => {
    const [one, two] = apis as [Http, Http];
    const abort = new AbortController();
    const streams = await Promise.all(apis.map((api) => follow(api, study.id, abort.signal)));
    await Promise.all(
      Array.from({ length: TOGETHER }, async (_, n) => {
        const key = { headers: { 'Idempotency-Key': `both-${n}` } };
        const made = await Promise.all(
          apis.map((api) =>
            api.expect<Loose>(
              201,
              'POST',
              `/api/studies/${study.id}/participants`,
              { participant_code: `P-${n}` },
              key,
            ),
          ),
        );
        expect(made[1]!.id, 'one participant').to.equal(made[0]!.id);
        const dates = await Promise.all(
          apis.map((api) =>
            api.expect<Loose>(
              200,
              'POST',
              `/api/studies/${study.id}/participants/${made[0]!.id}/anchor-date`,
              { enrollment_date: DAY, reason: 'both' },
              key,
            ),
          ),
        );
        expect(dates.map(({ version }) => version)).to.deep.equal([2, 2]);
      }),
    );
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
    const events = (
      await one.expect<{ items: { id: string }[] }>(200, 'GET', `/api/studies/${study.id}/events?limit=500`)
    ).items.map(({ id }) => id);
    expect(events).to.have.length(TOGETHER);
    for (const stream of streams) {
      await until(() => stream.length >= TOGETHER, { what: 'the stream to tell everything' });
      expect([...stream].sort(), 'each once').to.deep.equal([...events].sort());
      expect(stream, 'in one order for all').to.deep.equal(streams[0]);
    }
    abort.abort();

    // Three failures open the breaker for both, whichever worker met them; then nothing more goes out.
    setting.simulator.control.setFaults([{ status: 503, content: ['record:import', 'record'] }]);
    const { capture } = setting.studies,
      [day, tomorrow] = [dayIn('UTC'), dayIn('UTC', 1)];
    for (let n = 0; n < 5; n += 1) {
      const { id } = await one.expect<Loose>(201, 'POST', `/api/studies/${capture}/participants`, {
        participant_code: `B-${n}`,
        external_id: `B-${n}`,
      });
      const visit = await two.expect<Loose>(201, 'POST', '/api/schedules/visits', {
        participant_id: id,
        name: 'A visit',
        target_date: day,
        window_open: day,
        window_close: tomorrow,
        datacapture_event: EVENT,
      });
      const { sessionId } = await one.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', {
        participant_id: id,
        language: 'en',
        visit_id: visit.id,
      });
      const device = { headers: { 'X-Session-ID': sessionId } };
      await two.expect(
        200,
        'POST',
        '/api/submit',
        {
          session_id: sessionId,
          task_summaries: { stroop: { mean_rt: 300, total_trials: 2 } },
          raw_trials: trials('stroop', 2),
        },
        device,
      );
      await one.expect(200, 'POST', '/api/session/end', { session_id: sessionId }, device);
    }
    const breakers = await until(
      async () => {
        const seen = await Promise.all(
          apis.map((api) =>
            api.expect<{ breaker: { state: string } }>(200, 'GET', `/api/datacapture/status/${capture}`),
          ),
        );
        // A failure that was on its way when it opened may be counted between the two answers.
        return seen.every(({ breaker }) => breaker.state === 'open') &&
          isDeepStrictEqual(seen[0]!.breaker, seen[1]!.breaker)
          ? seen
          : undefined;
      },
      { timeout: 60_000, what: 'the breaker to be open, for both alike' },
    );
    expect(breakers).to.have.length(2);
    // What was on its way when it opened is counted before, not after.
    await until(
      async () =>
        (
          await stage.sql(
            `select 1 from result_pushes where study_id = ? and error_type is distinct from 'circuit_open'`,
            [capture],
          )
        ).length === 0,
      { what: 'all of them to be stopped by the breaker' },
    );
    const calls = setting.simulator.control.calls().length;
    const session = (await stage.sql<{ id: string }>('select session_id as id from result_pushes limit 1'))[0]!.id;
    await one.expect(202, 'POST', `/api/sessions/${session}/push`);
    await until(
      async () =>
        (await stage.sql(`select 1 from push_attempts where session_id = ? and error_type = 'circuit_open'`, [session]))
          .length > 0,
      { what: 'an attempt that the breaker stops' },
    );
    expect(setting.simulator.control.calls().length, 'calls while it is open').to.equal(calls);

    // Three workers made them, and there is one of each.
    const jobs: string[] = [];
    for await (const { scheduleId } of stage.temporal.schedule.list()) jobs.push(scheduleId);
    expect(jobs.sort()).to.deep.equal(Object.values(scheduleIds).sort());
    const health = await Promise.all(
      apis.map((api) => api.expect<{ status: string }>(200, 'GET', '/api/health/detailed')),
    );
    expect(health.map(({ status }) => status)).to.deep.equal(['ok', 'ok']);
  });

  it('stay within their connections', async () => {
    const rows = await stage.sql<{ name: string; n: number }>(
      `select application_name as name, count(*)::int as n from pg_stat_activity where application_name in ('api', 'worker') group by 1`,
    );
    const used = Object.fromEntries(rows.map(({ name, n }) => [name, n]));
    expect(used['api']).to.be.within(1, 2 * 8);
    expect(used['worker']).to.be.within(1, 3 * 8);
  });

  it('without a worker, and with PostgreSQL frozen, answer 503 with Retry-After in their time, all of sixty at once, and go on afterwards', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => study.person()));
    const timed = async (call: () => Promise<Answer<Loose>>) => {
      const began = performance.now();
      const { status, headers } = await call();
      return { status, again: headers.get('retry-after'), seconds: (performance.now() - began) / 1000 };
    };
    const workers = ['worker1', 'worker2', 'worker3'].map((name) => cluster.member(name));
    await Promise.all(workers.map((worker) => worker.kill()));
    const refused = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        timed(() =>
          apis[n % 2]!.post(
            `${people[n % 10]!.path}/anchor-date`,
            { enrollment_date: DAY, reason: 'pressed' },
            { headers: { 'Idempotency-Key': `pressed-${n}` } },
          ),
        ),
      ),
    );
    expect(new Set(refused.map(({ status }) => status))).to.deep.equal(new Set([503]));
    for (const { again } of refused) expect(Number(again)).to.be.within(1, 60);
    // Five seconds are waited for a worker; the rest is a busy machine's.
    expect(Math.max(...refused.map(({ seconds }) => seconds))).to.be.below(20);
    expect((await apis[0]!.get(`/api/studies/${study.id}`)).status, 'what needs no worker').to.equal(200);
    // With one of them it goes on as with all.
    await Promise.all(workers.slice(0, asMuchAs(1, workers.length)).map((worker) => worker.start()));
    for (const [n, person] of people.entries())
      await until(
        async () =>
          (
            await apis[0]!.post(
              `${person.path}/anchor-date`,
              { enrollment_date: DAY, reason: 'pressed' },
              { headers: { 'Idempotency-Key': `pressed-${n}` } },
            )
          ).status === 200,
        { what: 'the date to be taken' },
      );
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);

    await cluster.member('postgres').freeze();
    const rounds: Awaited<ReturnType<typeof timed>>[][] = [];
    try {
      // First with connections that were open before, then with those that are asked for; reads, and what writes.
      for (const call of [
        (n: number) => apis[n % 2]!.get(`/api/studies/${study.id}`),
        (n: number) => apis[n % 2]!.post(`/api/studies/${study.id}/participants`, { participant_code: `F-${n}` }),
      ]) {
        rounds.push(await Promise.all(Array.from({ length: 60 }, (_, n) => timed(() => call(n)))));
      }
    } finally {
      cluster.member('postgres').thaw();
    }
    for (const answers of rounds) {
      expect(
        answers.every(({ status, again }) => status === 503 && Number(again) >= 1),
        JSON.stringify(answers),
      ).to.equal(true);
      expect(Math.max(...answers.map(({ seconds }) => seconds))).to.be.below(20);
    }
    await until(async () => (await apis[1]!.get(`/api/studies/${study.id}`)).status === 200, {
      what: 'the service to answer again',
    });
  });

  it('count one limit together', async () => {
    const asked = async (api: Http) => {
      const { headers } = await api.get('/api/studies?limit=1');
      const [left, ends] = ['remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)));
      return { left: left!, ends: ends! };
    };
    // Within one minute, by its end; how long it takes on a busy machine is no matter.
    const counted = await until(
      async () => {
        const first = await asked(apis[0]!),
          seen: number[] = [];
        for (let n = 1; n <= 10; n += 1) {
          const { left, ends } = await asked(apis[n % 2]!);
          if (Math.abs(ends - first.ends) > 30) return undefined;
          seen.push(first.left - left);
        }
        return seen;
      },
      { what: 'ten requests within one minute' },
    );
    expect(counted).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

/** Ids of a study's events, as they come over an API's stream. */
async function follow(by: Http, studyId: string, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  const response = await fetch(`${by.base}/api/studies/${studyId}/events`, {
    headers: { Authorization: `Bearer ${by.token!}`, Accept: 'text/event-stream' },
    signal,
  });
  const read = async () => {
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (text + chunk).split('\n\n');
      text = parts.pop()!;
      for (const part of parts) {
        const id = /^id: (.*)$/m.exec(part)?.[1];
        if (id && !part.includes('event: end')) ids.push(id);
      }
    }
  };
  read().catch((fault: Error) => {
    if (fault.name !== 'AbortError') throw fault;
  });
  return ids;
}
