import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { asMuchAs } from '../support/in-full.js';
import { until } from '../support/until.js';
import { OF_TRIGGERS, triggersInOutages } from './outages-of-triggers.js';
import { PushStage, QUICK } from './push-stage.js';
import type { AttemptView, Ended, PushStudy, StatusView } from './push-stage.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

/** PUSH_RETRY_MAX_DAYS: fewer than by default. */
const TRIED_FOR_DAYS = 2;
const IMPORT = 'record:import';
const pidOf = async (tx: Tx): Promise<number> => (await tx.raw('select pg_backend_pid() as pid')).rows[0].pid;
const isLong = ({ at, next_attempt_at: next }: AttemptView) =>
  next !== null && Date.parse(next) - Date.parse(at) > 1_800_000;
const told = (attempts: AttemptView[]) => attempts.map(({ status, error_type }) => error_type ?? status);

describe('a capture system that is away, flaps or lies about what it wrote', function () {
  this.timeout(240_000);
  let stage: PushStage;
  let database: Database;
  const rows = async (statement: string, values: readonly unknown[]): Promise<unknown[]> =>
    (await database.raw(statement, values as never)).rows;
  before(async () => {
    stage = await PushStage.set({
      ...QUICK,
      ...OF_TRIGGERS,
      LOG_LEVEL: 'info',
      PUSH_RETRY_MAX_DAYS: String(TRIED_FOR_DAYS),
    });
    database = openDatabase({ url: stage.run.database_url, poolMax: 2, name: 'outage-tests', asOwner: true });
  });
  after(async () => {
    await database?.destroy();
    await stage?.clear();
  });

  const log = () =>
    readFileSync(join(stage.own!.dataDir, 'logs', 'worker.log'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  /** An answer of each kind: what it is called, and what is done to the call. */
  const failures = [
    ['http_error', { status: 503 }],
    ['invalid_response', { html: true }],
    ['invalid_response', { html: true, status: 404 }],
    ['invalid_response', { status: 404, body: '404 page not found\n', content_type: 'text/plain' }],
    ['connection_error', { drop: 'before' as const }],
    ['invalid_response', { html: true, after_write: true }],
    ['connection_error', { drop: 'after' as const }],
    ['invalid_response', { truncate_json: true }],
  ] as const;

  /** Each failure is followed by a success: none of them stands in the way of the next. */
  let failing: PushStudy | undefined;
  for (const [type, fault] of failures) {
    it(`${JSON.stringify(fault)} is ${type}: failed for now, repeated by itself, and lands once`, async () => {
      const study = (failing ??= await stage.study());
      const before = study.calls(IMPORT);
      study.fault({ ...fault, content: [IMPORT], times: 1 });
      const { session, visit, record } = await study.ended();
      const first = await study.attempt(session, () => true, 'the failed attempt');
      expect(first).to.include({ status: 'failed', error_type: type, records_imported: null });
      expect(Date.parse(first.next_attempt_at!)).to.be.at.least(Date.parse(first.at));
      await study.synced(session);
      const attempts = await study.attempts(session);
      expect(told(attempts)).to.deep.equal([type, 'success']);
      expect(study.writes(record!)).to.have.length(1);
      // What was written although nobody said so is found there and not written again.
      const imports = study.calls(IMPORT) - before;
      expect(imports, 'imports').to.equal(
        'after_write' in fault || 'truncate_json' in fault || ('drop' in fault && fault.drop === 'after') ? 1 : 2,
      );
      expect(attempts[1]!.already_there).to.equal(imports === 1);
      expect((await study.seeVisit(visit)).data_sync_status).to.equal('synced');
      expect((await study.status()).breaker).to.deep.equal({
        state: 'closed',
        consecutive_failures: 0,
        opened_at: null,
        next_attempt_at: null,
        last_error: null,
      });
    });
  }

  it('a failed push is told: session and visit failed, the participant’s portal, a critical log entry with ids only; success clears it', async () => {
    const study = await stage.study();
    const person = await study.person();
    const portal = await study.portal(person);
    study.fault({ status: 502 });
    const { session, visit, record } = await study.ended({ person });
    await study.attempt(session, () => true, 'the failed attempt');
    expect([
      (await study.see(session)).sync_status,
      (await study.seeVisit(visit)).data_sync_status,
      await portal(),
    ]).to.deep.equal(['failed', 'failed', true]);
    const {
      items: [failure],
    } = await study.failures();
    expect(failure).to.include({ session_id: session, final: false });
    const entry = await until(
      () => log().find((line) => line['session_id'] === session && line['fallback_used'] === false),
      { what: 'the log entry' },
    );
    expect(entry).to.include({ level: 60, severity: 'critical', study_id: study.id, visit_id: visit });
    // As a number of its own: digits of ids and instants may hold any other.
    expect(JSON.stringify(entry))
      .to.not.include(record!)
      .and.not.match(/\b412\b/);
    study.fault();
    await study.synced(session);
    expect(await portal()).to.equal(false);
    expect((await study.failures()).total).to.equal(0);
  });

  describe('the circuit breaker', () => {
    let study: PushStudy;
    let sessions: Ended[];
    before(async () => {
      study = await stage.study();
      study.fault({ status: 503 });
      sessions = [];
    });

    it('opens after so many failures in a row, says so, and lets nothing through', async () => {
      sessions.push(await study.ended());
      const { breaker } = await until(
        async () => {
          const status = await study.status();
          return status.breaker.state === 'open' ? status : undefined;
        },
        { what: 'the breaker to open' },
      );
      expect(breaker.consecutive_failures).to.be.at.least(3);
      expect(breaker.last_error).to.match(/^http_error: .*503/);
      expect(Date.parse(breaker.next_attempt_at!)).to.be.above(Date.parse(breaker.opened_at!));
      // Those that come now meet it open, or one of them is the probe of each second.
      sessions.push(...(await Promise.all(Array.from({ length: 4 }, () => study.ended()))));
      const met = await until(
        async () => {
          for (const { session } of sessions) {
            const found = (await study.attempts(session)).find(({ error_type }) => error_type === 'circuit_open');
            if (found) return { session, ...found };
          }
          return undefined;
        },
        { what: 'an attempt that met the open breaker' },
      );
      expect(met).to.include({ status: 'failed', records_imported: null });
      expect(Date.parse(met.next_attempt_at!)).to.be.at.least(Date.parse(met.at));
      expect((await study.see(met.session)).sync_status).to.equal('failed');
    });

    it('lets one attempt a cooldown through while the capture system is away', async () => {
      const before = study.calls(),
        began = performance.now();
      // Cooldowns of a second; an attempt is two calls, since a dictionary that cannot be read does not stop it.
      await until(async () => study.calls() >= before + 6, { what: 'three probes' });
      expect(study.calls() - before).to.be.at.most(2 * (Math.ceil((performance.now() - began) / 1_000) + 1));
    });

    it('closes at the first success, and what waited is there, each once', async () => {
      study.fault();
      // Asked for, since each waits by itself for about as long as the outage has lasted.
      await study.push(sessions[0]!.session);
      for (const { session } of sessions) await study.synced(session);
      for (const { record } of sessions) expect(study.writes(record!)).to.have.length(1);
      expect(await study.status()).to.deep.include({
        breaker: { state: 'closed', consecutive_failures: 0, opened_at: null, next_attempt_at: null, last_error: null },
        pushes: { pending: 0, synced: sessions.length, failed: 0 },
      });
    });

    it('closes while one that met it open is not ended yet: that one is tried at once as well', async () => {
      const study = await stage.study();
      study.fault({ status: 503 });
      const [late, first] = await Promise.all([study.ended(), study.ended()]);
      const breaker = (change: string) =>
        rows(`update datacapture_breakers set ${change} where study_id = ? and state = 'open' returning 1`, [study.id]);
      // Nobody probes.
      await until(async () => (await breaker("next_attempt_at = now() + interval '1 hour'")).length === 1, {
        what: 'the breaker to open',
      });
      await study.attempt(late.session, isLong, 'the push to wait for an hour');
      const lock = await database.transaction();
      try {
        await lock.raw('select 1 from assessment_sessions where id = ? for no key update', [late.session]);
        await study.push(late.session);
        const pid = await pidOf(lock);
        await until(
          async () =>
            (await rows('select 1 from pg_stat_activity where ? = any(pg_blocking_pids(pid))', [pid])).length > 0,
          { what: 'the end of its attempt to wait' },
        );
        // It has waited so often that its next wait is an hour again.
        await database.raw('update result_pushes set waits = 30 where session_id = ?', [late.session]);
        study.fault();
        await breaker('next_attempt_at = now()');
        await study.push(first.session);
        await study.synced(first.session);
      } finally {
        await lock.rollback();
      }
      await study.synced(late.session);
      expect(told(await study.attempts(late.session)).slice(-2)).to.deep.equal(['circuit_open', 'success']);
    });

    it('is of its configuration: others push, and another address or token starts closed', async () => {
      study.fault({ status: 503 });
      const stuck = await study.ended();
      await until(async () => (await study.status()).breaker.state === 'open', { what: 'the breaker to open' });
      const other = await stage.study();
      const { session } = await other.ended();
      await other.synced(session);
      study.fault();
      await study.configure({ api_url: `${stage.simulator.apiUrl}?moved` });
      await study.push(stuck.session);
      await study.synced(stuck.session);
    });

    for (const [what, change] of [
      ['address', () => ({ api_url: `${stage.simulator.apiUrl}?moved=again` })],
      ['token', (to: PushStudy) => ({ api_token: to.token })],
    ] as const)
      it(`what waits is tried at once when another ${what} is saved, and the status has the outage no more`, async () => {
        const study = await stage.study();
        study.fault({ status: 503 });
        const { session } = await study.ended();
        const anHour = `update datacapture_breakers set next_attempt_at = now() + interval '1 hour'
          where study_id = ? and state = 'open' returning 1`;
        await until(async () => (await rows(anHour, [study.id])).length === 1, { what: 'the breaker to open' });
        await study.attempt(session, isLong, 'the push to wait for an hour');
        study.fault();
        await study.configure(change(study));
        expect((await study.status()).breaker).to.include({ state: 'closed', last_error: null });
        await study.synced(session);
      });
  });

  it('a waiting push is tried at once when somebody asks', async () => {
    const study = await stage.study();
    study.fault({ content: [IMPORT], status: 500, times: 2 });
    const { session } = await study.ended();
    await study.attempt(session, () => true, 'the failed attempt');
    await study.push(session);
    await study.synced(session);
  });

  it('results through a capture system that fails in every way: each lands once, and the status told the truth throughout', async () => {
    const study = await stage.study();
    const RESULTS = asMuchAs(8, 40);
    const total = ({ pushes }: StatusView) => pushes.pending + pushes.synced + pushes.failed;
    const ways = [
      { status: 503 },
      { html: true },
      { drop: 'before' as const },
      { drop: 'after' as const },
      { html: true, after_write: true },
      { truncate_json: true },
    ];
    // Half of the imports fail, each in its way: never as many in a row as open the breaker for good.
    study.fault(...ways.map((way, i) => ({ ...way, content: [IMPORT], skip: i, every: 12 })));
    const seen: StatusView[] = [];
    const sessions: Ended[] = [];
    for (let i = 0; i < RESULTS; i += 8) {
      sessions.push(...(await Promise.all(Array.from({ length: 8 }, () => study.ended()))));
      seen.push(await study.status());
      expect(total(seen.at(-1)!), 'every result is one of pending, synced, failed').to.equal(sessions.length);
    }
    // Down altogether, then up.
    study.fault({ status: 503 });
    await Promise.all(sessions.slice(0, 2).map(({ session }) => study.push(session)));
    await until(async () => (await study.status()).breaker.state !== 'closed', { what: 'the breaker to open' });
    study.fault();
    await until(
      async () => {
        const status = await study.status();
        const synced = stage.simulator.control.records(study.projectId).length;
        seen.push(status);
        expect(status.pushes.synced, 'no more are called synced than there are').to.be.at.most(synced);
        return status.pushes.synced === RESULTS;
      },
      // Each waits by itself for about as long as the outage has lasted, which is longer on a busy machine.
      { timeout: 180_000, interval: 200, what: 'all results to be synced' },
    );
    for (const { session, record } of sessions) {
      const changes = study.writes(record!).filter(({ changed }) => changed);
      expect(changes, record!).to.have.length(1);
      expect((await study.attempts(session)).filter(({ status }) => status === 'success').length).to.be.within(1, 2);
    }
  });

  describe('a capture system that does not come back', () => {
    it('a push is given up when it was tried for long enough: final, in the dead letters, and again when somebody asks', async () => {
      const study = await stage.study();
      study.fault({ status: 503 });
      const { session, visit, record } = await study.ended();
      await until(async () => (await study.attempts(session)).length > 3, { what: 'it to be tried again and again' });
      // Asked for so long ago that its time is over in a moment.
      const [asked] = (await rows(
        `update result_pushes set requested_at = clock_timestamp() - make_interval(days => ?) + interval '2 seconds'
          where session_id = ? returning requested_at`,
        [TRIED_FOR_DAYS, session],
      )) as { requested_at: Date }[];
      const last = await study.attempt(
        session,
        ({ next_attempt_at, error_type }) => next_attempt_at === null && error_type !== null,
        'the last attempt',
      );
      expect(last.message).to.match(/PUSH_RETRY_MAX_DAYS/);
      expect(
        Date.parse(last.at) - new Date(asked!.requested_at).getTime(),
        'the last try is when the time is over, not before',
        // An attempt that begins half a second before and ends after it is the last as well.
      ).to.be.at.least(TRIED_FOR_DAYS * 86_400_000 - 500);
      const {
        items: [failure],
      } = await study.failures();
      expect(failure).to.include({ session_id: session, final: true });
      expect([(await study.see(session)).sync_status, (await study.seeVisit(visit)).data_sync_status]).to.deep.equal([
        'failed',
        'failed',
      ]);
      expect((await study.status()).pushes).to.include({ pending: 0, failed: 1 });
      study.fault();
      await study.push(session);
      await study.synced(session);
      expect(study.writes(record!)).to.have.length(1);
      expect((await study.failures()).total).to.equal(0);
    });
  });

  it('a push whose turn does not come, as earlier ones are not answered, is tried again and counts as no failure', async () => {
    const study = await stage.study();
    study.fault({ content: [IMPORT], hold: true });
    // More than a worker sends to one server at a time.
    const sessions = await Promise.all(Array.from({ length: 12 }, () => study.ended()));
    const putOff = await until(
      async () =>
        (await Promise.all(sessions.map(({ session }) => study.attempts(session))))
          .flat()
          .find(({ status }) => status === 'failed'),
      { what: 'a push that is put off' },
    );
    expect(putOff).to.include({ error_type: 'timeout' });
    expect(putOff.message).to.match(/has not yet answered the calls before this one/);
    expect(Date.parse(putOff.next_attempt_at!)).to.be.at.least(Date.parse(putOff.at));
    expect((await study.status()).breaker).to.include({ state: 'closed', consecutive_failures: 0 });
    study.fault();
    for (const { session, record } of sessions) {
      await study.synced(session, 120_000);
      expect(study.writes(record!), 'written once').to.have.length(1);
    }
  });

  it('a worker that is killed in the middle of a push: another reads back what the first has written, and nothing is lost', async () => {
    const study = await stage.study();
    study.fault({ content: [IMPORT], slow_body_ms: 60_000 });
    const sessions = await Promise.all(Array.from({ length: 4 }, () => study.ended()));
    await until(() => stage.simulator.control.calls(study.projectId).some(({ applied }) => applied), {
      what: 'an import to be written',
    });
    const pid = stage.own!.current().pids['worker']!;
    process.kill(pid, 'SIGKILL');
    study.fault();
    for (const { session, record } of sessions) {
      await study.synced(session, 120_000);
      expect(study.writes(record!).filter(({ changed }) => changed)).to.have.length(1);
      expect(study.writes(record!), 'written once').to.have.length(1);
    }
    const attempts = await Promise.all(sessions.map(({ session }) => study.attempts(session)));
    expect(attempts.flat().some(({ already_there }) => already_there)).to.equal(true);
    expect(stage.own!.current().pids['worker']).to.not.equal(pid);
  });

  describe('triggers on a bad day of the service', () => triggersInOutages(() => stage.own!));
});
