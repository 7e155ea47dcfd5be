import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { until } from '../support/service.js';
import { PushStage } from './push-stage.js';
import type { Person, PushStudy } from './push-stage.js';

/** DATACAPTURE_PUSHES_PER_MINUTE as it is by default. A push makes three calls. */
const CALLS_PER_MINUTE = 300,
  APART_MS = (60_000 / CALLS_PER_MINUTE) * 3,
  /** A push that has so little to wait does not. */
  NEAR_MS = 20;

describe('pushes that are refused, and their pace', () => {
  let stage: PushStage;
  before(async () => {
    stage = await PushStage.set();
  });
  after(() => stage?.clear());

  describe('results that the capture system does not accept', function () {
    const statusOf = (study: PushStudy) =>
      stage.http.expect<{ sync_status: string; sync_error_message: string | null }>(
        200,
        'GET',
        `/api/datacapture/status/${study.id}`,
      );
    const refused = (study: PushStudy, session: string) =>
      study.attempt(session, ({ error_type }) => error_type === 'rejected', 'the push to be refused');
    const retry = (study: PushStudy, body: object) =>
      stage.http.expect<{ session_ids: string[]; skipped: { session_id: string }[] }>(
        202,
        'POST',
        `/api/studies/${study.id}/push-failures/retry`,
        body,
      );

    it('go out by themselves when a token is saved that works; meanwhile the status says what is wrong', async () => {
      const study = await stage.study();
      await study.configure({ api_token: 'F'.repeat(32) });
      const sessions: string[] = [];
      for (let n = 0; n < 3; n += 1) sessions.push((await study.ended()).session);
      for (const session of sessions) await refused(study, session);
      const status = await until(
        async () => {
          const now = await statusOf(study);
          return now.sync_status === 'error' ? now : undefined;
        },
        { what: 'the status to say so' },
      );
      expect(status.sync_error_message).to.match(/403/);
      // Another one that does not work: one push tries it, and all of them stay.
      await study.configure({ api_token: 'E'.repeat(32) });
      await until(async () => (await Promise.all(sessions.map((each) => study.attempts(each)))).flat().length === 4, {
        what: 'one push to try the token',
      });
      await study.configure({ api_token: study.token });
      for (const session of sessions) await study.synced(session);
      await until(async () => (await statusOf(study)).sync_status === 'active', { what: 'the status to be active' });
      expect((await statusOf(study)).sync_error_message).to.equal(null);
    });

    for (const [what, undo, told] of [
      ['whose record was deleted', (study: PushStudy, { record }: Person) => study.delete(record!), 'rejected'],
      [
        'whose participant has no record id any more',
        (_study: PushStudy, { id }: Person) =>
          stage.http.expect(200, 'PATCH', `/api/participants/${id}`, { external_id: null }),
        'configuration',
      ],
    ] as const)
      it(`go out although the one that tries the token is one ${what}`, async () => {
        const study = await stage.study();
        await study.configure({ api_token: 'F'.repeat(32) });
        const person = await study.person();
        const first = await study.ended({ person });
        await refused(study, first.session);
        const second = await study.ended();
        await refused(study, second.session);
        await undo(study, person);
        await study.configure({ api_token: study.token });
        await study.synced(second.session);
        const [, ...tries] = await study.attempts(first.session);
        expect(tries.map(({ error_type }) => error_type)).to.deep.equal([told]);
      });

    it('go out when the connection is tested with success, though nothing was saved', async () => {
      const study = await stage.study();
      study.fault({ content: ['record:export', 'record'], status: 403, times: 1 });
      const { session } = await study.ended();
      await refused(study, session);
      study.fault();
      await stage.http.expect(200, 'POST', `/api/datacapture/config/${study.id}/test-connection`);
      await study.synced(session);
    });

    it('are tried by one of them alone when what is proved is that the token may read', async () => {
      const study = await stage.study();
      const [user] = stage.simulator.control.project(study.projectId).design.users;
      user!.api_import = false;
      const sessions: string[] = [];
      for (let n = 0; n < 3; n += 1) sessions.push((await study.ended()).session);
      for (const session of sessions) await refused(study, session);
      const attempts = async () => (await Promise.all(sessions.map((each) => study.attempts(each)))).flat().length;
      for (const tries of [4, 5]) {
        await stage.http.expect(200, 'POST', `/api/datacapture/config/${study.id}/test-connection`);
        await until(async () => (await attempts()) >= tries && (await study.failures('?final=true')).total === 3, {
          what: 'a push to try the token',
        });
        expect(await attempts()).to.equal(tries);
      }
      user!.api_import = true;
      await stage.http.expect(200, 'POST', `/api/datacapture/config/${study.id}/test-connection`);
      for (const session of sessions) await study.synced(session);
    });

    it('are retried on demand, all of them or those that are named', async () => {
      const study = await stage.study();
      study.fault({ content: ['record:export', 'record', 'metadata'], status: 403 });
      const sessions = [(await study.ended()).session, (await study.ended()).session, (await study.ended()).session];
      for (const session of sessions) await refused(study, session);
      study.fault();
      const unknown = '00000000-0000-4000-8000-000000000000';
      const named = await retry(study, { session_ids: [sessions[0], unknown] });
      expect(named.session_ids).to.deep.equal([sessions[0]]);
      expect(named.skipped.map(({ session_id }) => session_id)).to.deep.equal([unknown]);
      // The first that arrives shows that the others are accepted as well.
      await study.synced(sessions[0]!);
      await retry(study, {});
      for (const session of sessions) await study.synced(session);
      expect((await retry(study, {})).session_ids).to.deep.equal([]);
    });

    it('a value that is refused is no fault of the connection', async () => {
      const study = await stage.study();
      await study
        .ended({ summaries: { stroop: { mean_rt: 1, total_trials: 1.5 } } })
        .then(({ session }) => refused(study, session));
      const other = await study.ended();
      await study.synced(other.session);
      expect((await statusOf(study)).sync_status).to.equal('pending');
    });
  });

  it('another address that is saved and the next attempt of a push never wait for each other in a circle', async () => {
    const owner = openDatabase({ url: stage.run.database_url, poolMax: 2, name: 'push-refused', asOwner: true });
    try {
      const study = await stage.study();
      study.fault({ status: 503 });
      const { session } = await study.ended();
      await study.attempt(session, ({ next_attempt_at }) => next_attempt_at !== null, 'the push to wait');
      study.fault();
      // As an attempt does: the push first, then the breaker.
      const attempt = await owner.transaction();
      let saving: Promise<void>;
      try {
        const { pid } = (await attempt.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid')).rows[0]!;
        await attempt.raw('select 1 from result_pushes where session_id = ? for update', [session]);
        saving = study.configure({ api_url: `${stage.simulator.apiUrl}?moved` });
        await until(
          async () =>
            (
              await owner.raw<{ rows: unknown[] }>(
                'select 1 from pg_stat_activity where ? = any(pg_blocking_pids(pid))',
                [pid],
              )
            ).rows.length > 0,
          { what: 'the new address to wait for the push' },
        );
        await attempt.raw('select 1 from datacapture_breakers where study_id = ? for update', [study.id]);
      } finally {
        await attempt.rollback();
      }
      await saving;
      await study.synced(session);
    } finally {
      await owner.destroy();
    }
  });

  /** A capture system bans an address for ever that calls too often, whichever of its projects are called. */
  it('their pace is one for all studies whose projects are on one server', async () => {
    const studies = [await stage.study(), await stage.study(), await stage.study()];
    const pushed = await Promise.all(
      [...studies, ...studies].map(async (study) => ({ study, session: (await study.ended()).session })),
    );
    for (const { study, session } of pushed) await study.synced(session);
    const seen = await Promise.all(pushed.map(({ study, session }) => study.see(session)));
    const asked = Math.min(...seen.map(({ completed_at }) => Date.parse(String(completed_at))));
    const at = studies
      .flatMap(({ projectId }) => stage.simulator.control.calls(projectId))
      .filter(({ content, action }) => content === 'record' && action === 'import')
      .map((call) => Date.parse(call.at) - asked)
      .sort((a, b) => a - b);
    expect(at).to.have.length(pushed.length);
    // The first may begin at once.
    for (const [n, time] of at.entries()) expect(time, `push ${n + 1}`).to.be.at.least(n * APART_MS - NEAR_MS);
  });
});
