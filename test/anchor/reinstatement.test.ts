import { expect } from 'chai';
import { anchorState, reinstated } from '../../workflows/contract.js';
import { addDays } from '../../workflows/domain/util/dates.js';
import { unique } from '../support/http.js';
import { until } from '../support/until.js';
import { Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const today = new Date().toISOString().slice(0, 10);
const DAY = addDays(today, -9);

describe('A withdrawal that is taken back', () => {
  let stage: Stage;
  let study: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(
      { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } },
      { days: [0, 10, 30] },
    );
  });
  after(() => stage.close());

  const reinstate = (person: Person, body: unknown = { reason: 'the wrong record was open' }, by = stage.admin) =>
    by.post(`/api/participants/${person.id}/reinstate`, body);
  const state = (person: Person) => stage.handle(person.id).query(anchorState);
  async function withdrawn(): Promise<Person> {
    const person = await study.person({ email: `${unique('p')}@example.org` });
    await person.set(DAY);
    await person.complete((await person.standing())[0]!.id);
    await person.withdraw();
    await until(async () => (await stage.handle(person.id).describe()).status.name === 'COMPLETED', {
      what: 'the workflow to end',
    });
    return person;
  }
  const notifications = async (person: Person) =>
    (
      await stage.admin.expect<{ items: { status: string; reason: string | null; visit_id: string }[] }>(
        200,
        'GET',
        `/api/notifications?participant_id=${person.id}&limit=500`,
      )
    ).items;

  it('the record is enrolled again, the schedule goes on as a new version, with reminders of what lies ahead', async () => {
    const person = await withdrawn();
    expect((await notifications(person)).filter((n) => n.status === 'pending')).to.have.length(0);
    const { status, body } = await reinstate(person);
    expect(status).to.equal(200);
    expect(body).to.include({ status: 'enrolled', withdrawn_at: null, withdrawal_reason: null });
    expect(body.reinstated_at).to.be.a('string');
    const [latest, before] = await until(
      async () => {
        const versions = await person.versions();
        return versions.length === 2 ? versions.sort((a, b) => b.version_number - a.version_number) : undefined;
      },
      { what: 'the new version' },
    );
    expect(latest).to.include({ version_number: 2, is_current: true, anchor_date_used: DAY, visits_generated: 2 });
    expect(before).to.include({ is_current: false, supersede_reason: 'reinstated' });
    const standing = await person.standing();
    expect(standing.map((v) => v.status).sort()).to.deep.equal(['completed', 'open', 'scheduled'].sort());
    expect(standing.every((v) => !v.anchor_reconciled)).to.equal(true);
    const ahead = (await notifications(person)).filter((n) => n.status === 'pending').map((n) => n.visit_id);
    expect(ahead).to.include(standing.find((v) => v.status === 'scheduled')!.id);
    await until(async () => expect(await state(person)).to.deep.include({ closed: false, waiting_for: [] }));
    expect((await person.override(addDays(today, -8))).status).to.equal(200);
  });

  it('a schedule that an override left as it was goes on from its own date', async () => {
    const person = await study.person();
    await person.set(DAY);
    const moved = await person.override(addDays(DAY, -3), stage.admin, { regenerate_schedule: false });
    expect(moved.status, moved.text).to.equal(200);
    const before = (await person.standing()).map((visit) => visit.target_date).sort();
    await person.withdraw();
    expect((await reinstate(person)).status).to.equal(200);
    const latest = await until(
      async () =>
        (await person.versions()).find(({ version_number, is_current }) => is_current && version_number === 2),
      { what: 'the new version' },
    );
    expect(latest.anchor_date_used).to.equal(DAY);
    expect((await person.standing()).map((visit) => visit.target_date).sort()).to.deep.equal(before);
    expect(await person.anchor()).to.include({ enrollment_date: addDays(DAY, -3), is_override: true });
  });

  it('goes on although its message was lost with the workflow: a start of that finds it', async () => {
    const person = await withdrawn();
    await stage.sql(
      `update participants set status = 'enrolled', withdrawn_at = null, withdrawal_reason = null, reinstated_at = clock_timestamp() where id = ?`,
      [person.id],
    );
    await stage.sql(`insert into outbox (topic, study_id, subject, payload) values ('participant-start', ?, ?, '{}')`, [
      study.id,
      person.id,
    ]);
    await stage.sql(`select pg_notify('outbox', '')`);
    await until(async () => (await person.versions()).length === 2, { what: 'the schedule to continue' });
    await stage.handle(person.id).signal(reinstated);
    expect((await person.post('/evaluate')).body).to.include({ result: 'unchanged' });
    expect(await person.versions()).to.have.length(2);
  });

  it('is audited, two events, and stands in the timeline', async () => {
    const person = await withdrawn();
    await reinstate(person);
    const events = (await person.events()).filter(({ type }) => type.startsWith('PARTICIPANT_'));
    expect(events.map(({ type }) => type).sort()).to.deep.equal(['PARTICIPANT_REINSTATED', 'PARTICIPANT_WITHDRAWN']);
    const [back, left] = ['PARTICIPANT_REINSTATED', 'PARTICIPANT_WITHDRAWN'].map((type) =>
      events.find((event) => event.type === type)!,
    );
    const actor = { user_id: stage.admin.userId, type: 'user' };
    expect(left!.data).to.deep.include({ status: 'withdrawn', reason: 'moved away', actor });
    expect(back!.data).to.deep.include({
      status: 'enrolled',
      reason: 'the wrong record was open',
      withdrawal_reason: 'moved away',
      withdrawn_at: left!.data.withdrawn_at,
      actor,
    });
    const [record] = (await study.audit('participant_reinstated')).filter((r) => r.resource_id === person.id);
    expect(record!.audit_metadata).to.include({ reason: 'the wrong record was open' });
    expect(record!.user_id).to.equal(stage.admin.userId);
    const { items } = await stage.admin.expect<{ items: { title: string }[] }>(
      200,
      'GET',
      `${person.path}/timeline?kind=participant`,
    );
    expect(items.map(({ title }) => title).slice(1)).to.deep.equal([
      'Withdrawn: moved away',
      'Withdrawal taken back: the wrong record was open',
    ]);
  });

  it('needs a withdrawn participant, a reason and the right to enroll', async () => {
    const person = await study.person();
    const enrolled = await reinstate(person);
    expect([enrolled.status, enrolled.body.code]).to.deep.equal([409, 'NOT_WITHDRAWN']);
    expect((await reinstate(person, {})).status).to.equal(422);
    expect((await reinstate(person, undefined, await study.as('data_manager'))).status).to.equal(403);
    await stage.admin.expect(200, 'POST', `/api/participants/${person.id}/erase`, { reason: 'asked for' });
    const erased = await reinstate(person);
    expect([erased.status, erased.body.code]).to.deep.equal([409, 'PARTICIPANT_ERASED']);
  });

  it('a signal alone, or one more of it, reinstates nobody: the schedule stays', async () => {
    const enrolled = await study.person();
    await enrolled.set(DAY);
    const back = await withdrawn();
    expect((await reinstate(back)).status).to.equal(200);
    await until(async () => (await back.versions()).length === 2, { what: 'the schedule to continue' });
    for (const person of [enrolled, back]) {
      const before = await person.versions();
      for (let i = 0; i < 2; i++) await stage.handle(person.id).signal(reinstated);
      // The workflow takes one message after the other: this one comes last.
      expect((await person.post('/evaluate')).body).to.include({ result: 'unchanged' });
      expect(await person.versions()).to.deep.equal(before);
    }
  });

  it('a withdrawal and its end, one right after the other, leave one running workflow and a new version each time', async () => {
    const person = await study.person();
    await person.set(DAY);
    for (let i = 0; i < 3; i++) {
      await person.withdraw();
      expect((await reinstate(person)).status).to.equal(200);
    }
    await until(async () => (await stage.sql('select id from outbox where subject = ?', [person.id])).length === 0);
    await until(async () => (await person.versions()).length >= 2);
    expect((await person.post('/evaluate')).body).to.include({ result: 'unchanged' });
    expect((await person.versions()).filter((v) => v.is_current)).to.have.length(1);
    expect(await study.chainVerifies()).to.equal(true);
  });
});
