import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { whileHeld } from '../support/held-row.js';
import { Http } from '../support/http.js';
import { until } from '../support/until.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
interface Person {
  id: string;
  record: string;
}

/**
 * Anyone who takes several rows of a participant takes them as the others do: anchor, participant, session, visit. In
 * each test one transaction is begun while its first row is held by the test, then another that would take the same
 * rows.
 */
describe('What changes a participant at the same time never waits for each other in a circle', function () {
  this.timeout(180_000);
  let stage: Stage, owner: Database, study: CaptureStudy, admin: Http;
  before(async function () {
    stage = await Stage.set({ polls: false });
    owner = openDatabase({ url: stage.run.database_url, poolMax: 3, name: 'lock-order', asOwner: true });
    admin = new Http(stage.run.api, stage.token);
    study = await stage.study();
  });
  after(async () => {
    await owner?.destroy();
    await stage?.clear();
  });

  let records = 0;
  async function person(): Promise<Person> {
    const record = `${study.projectId}-${(records += 1)}`;
    await study.enroll(record, { enrolled: day(9) }, { trigger: false });
    expect((await synced(study)).status).to.equal('completed');
    const found = (await study.participants()).find(({ external_id }) => external_id === record)!;
    await quiet();
    return { id: found.id, record };
  }
  const quiet = () =>
    until(
      async () => {
        const [open] = await stage.sql<{ open: number }>(
          'select count(*)::int as open from outbox where study_id = ?',
          [study.id] as never,
        );
        return open!.open === 0;
      },
      { timeout: 60_000, what: 'the study to be quiet' },
    );
  const circles = async () =>
    Number(
      (
        await owner.raw(
          'select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()',
        )
      ).rows[0].deadlocks,
    );
  /** Begins each while the row is held, one behind the other, then lets them go on. @returns circles that came of it */
  async function meanwhile(row: string, id: string, ...begun: (() => Promise<unknown>)[]): Promise<number> {
    const before = await circles();
    await whileHeld(owner, [row, id], ...begun);
    return (await circles()) - before;
  }
  const ANCHOR = 'select 1 from anchor_dates where participant_id = ? for update';
  const SESSION = 'select 1 from assessment_sessions where id = ? for update';
  const CAREGIVER = 'select 1 from caregivers where id = ? for update';

  const withdraw = (id: string) => admin.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: 'asked' });
  const erase = (id: string) => () =>
    admin.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'asked for it' });
  const read = () => synced(study);
  /** A session of somebody's first visit. */
  async function started(id: string): Promise<{ sessionId: string; visitId: string }> {
    const [visit] = await stage.sql<{ id: string }>(
      "select id from scheduled_visits where participant_id = ? and status in ('scheduled', 'open', 'missed') order by target_date limit 1",
      [id] as never,
    );
    return admin.expect(201, 'POST', '/api/session/start', {
      participant_id: id,
      language: 'en',
      visit_id: visit!.id,
    });
  }
  const end = (sessionId: string) => {
    const headers = { headers: { 'X-Session-ID': sessionId } };
    return new Http(stage.run.api).expect(200, 'POST', '/api/session/end', { session_id: sessionId }, headers);
  };
  /** One that has ended, and whose push too. */
  async function ended(id: string): Promise<{ sessionId: string; visitId: string }> {
    const session = await started(id);
    await end(session.sessionId);
    await pushEnded(session.sessionId);
    return session;
  }
  const pushEnded = (sessionId: string) =>
    until(
      async () =>
        (
          await stage.sql("select 1 from result_pushes where session_id = ? and status not in ('pending', 'waiting')", [
            sessionId,
          ] as never)
        ).length === 1,
      { what: 'its push to end' },
    );

  it('a withdrawal that is taken back, and a reading of the capture system', async () => {
    const { id, record } = await person();
    await withdraw(id);
    await quiet();
    await study.enroll(record, { enrolled: day(8) }, { trigger: false });
    const reinstate = () => admin.expect(200, 'POST', `/api/participants/${id}/reinstate`, { reason: 'by mistake' });
    expect(await meanwhile(ANCHOR, id, reinstate, read)).to.equal(0);
  });

  it('an erasure, and a reading', async () => {
    const { id, record } = await person();
    await study.enroll(record, { enrolled: day(7) }, { trigger: false });
    expect(await meanwhile(ANCHOR, id, erase(id), read)).to.equal(0);
  });

  it('a visit that is moved, and a reading', async () => {
    const { id, record } = await person();
    const [visit] = await stage.sql<{ id: string }>(
      "select id from scheduled_visits where participant_id = ? and status in ('scheduled', 'open') limit 1",
      [id] as never,
    );
    await study.enroll(record, { enrolled: day(6) }, { trigger: false });
    const cancel = () => admin.send('POST', `/api/visits/${visit!.id}/cancel`, { reason: 'away' });
    expect(await meanwhile(ANCHOR, id, cancel, read)).to.equal(0);
  });

  it('a session that ends, and an erasure', async () => {
    const { id } = await person();
    const { sessionId } = await started(id);
    await stage.sql('update assessment_sessions set device_id = ? where id = ? returning id', [
      'a device',
      sessionId,
    ] as never);
    expect(await meanwhile(SESSION, sessionId, () => end(sessionId), erase(id))).to.equal(0);
  });

  it('care that is taken over or ended, and an erasure', async () => {
    const { id } = await person();
    const at = `/api/studies/${study.id}/caregivers`;
    const { id: caregiver } = await admin.expect(201, 'POST', at, { name: 'Ada', email: 'ada@example.org' });
    const care = `/api/studies/${study.id}/caregivers/${caregiver}/participants/${id}`;
    expect((await admin.send('PUT', care, { relationship: 'parent' })).status).to.be.oneOf([200, 201]);
    const unassign = () => admin.send('DELETE', care);
    expect(await meanwhile(CAREGIVER, caregiver, unassign, erase(id))).to.equal(0);
  });

  it('the event of a completed visit that is corrected, and the end of its push', async () => {
    const mapped = { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } } };
    await study.configure({ data_field_mapping: mapped });
    const { id } = await person();
    const { sessionId, visitId } = await ended(id);
    const VISIT = 'select 1 from scheduled_visits where id = ? for update';
    const correct = () =>
      admin.expect(200, 'PATCH', `/api/visits/${visitId}`, {
        datacapture_event: 'month_3_arm_1',
        reason: 'another event there',
      });
    const push = () => admin.expect(202, 'POST', `/api/sessions/${sessionId}/push`);
    expect(await meanwhile(VISIT, visitId, correct, push)).to.equal(0);
  });

  describe('results that are to be pushed again, and the end of their push:', () => {
    const VISIT = 'select 1 from scheduled_visits where id = ? for update';
    async function pushed() {
      const { id } = await person();
      const { sessionId, visitId } = await started(id);
      const results = { session_id: sessionId, task_summaries: { flanker: { mean_rt: 400, accuracy: 1 } } };
      const headers = { headers: { 'X-Session-ID': sessionId } };
      await new Http(stage.run.api).expect(200, 'POST', '/api/submit', { ...results, raw_trials: [] }, headers);
      await end(sessionId);
      await pushEnded(sessionId);
      return { id, sessionId, visitId, push: () => admin.expect(202, 'POST', `/api/sessions/${sessionId}/push`) };
    }
    before(() =>
      study.configure({
        data_field_mapping: { flanker: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } } },
      }),
    );

    it('a metric of theirs gets a field, with another token', async () => {
      const { visitId, push } = await pushed();
      const mapping = { flanker: { fields: { mean_rt: null, accuracy: 'rt_mean' } } };
      const save = () => study.configure({ data_field_mapping: mapping, api_token: study.token });
      expect(await meanwhile(VISIT, visitId, push, save)).to.equal(0);
    });

    it('their participant gets another record', async () => {
      const { id, sessionId, push } = await pushed();
      const correct = () =>
        admin.expect(200, 'PATCH', `/api/participants/${id}`, { external_id: `${study.projectId}-corrected` });
      expect(await meanwhile(SESSION, sessionId, push, correct)).to.equal(0);
    });
  });
});
