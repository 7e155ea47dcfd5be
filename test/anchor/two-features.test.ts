import { expect } from 'chai';
import { user } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from './stage.js';
import type { Person } from './stage.js';

const manual = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };

describe('What one feature does while another is at work', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  describe('a final date that follows re-consents', () => {
    const latest = {
      sources: [{ type: 'consent_workflow' }],
      multi_consent: { anchor_consent: 'latest', reconsent_updates_anchor: true },
    };
    // In Berlin it is the next day already.
    const EVENING = '2024-03-01T23:30:00Z';

    it('stays where it is when the time zone of its study changes: nobody has consented anew', async () => {
      const study = await stage.study(latest);
      const person = await study.person();
      await person.consent(EVENING);
      const before = await person.becomes({ status: 'finalized', enrollment_date: '2024-03-01' });
      await study.settled();
      await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { timezone: 'Europe/Berlin' });
      await study.settled();
      await person.settled();
      expect(await person.anchor()).to.deep.equal(before);
      expect((await person.post('/evaluate')).body.result).to.equal('override_required');
      expect(await person.versions()).to.have.length(1);
      await person.consent('2024-04-01T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-04-01', version: 3 });
    });

    it('nor when its participant moves to a site in another time zone, but does when the signature is corrected', async () => {
      const study = await stage.study(latest);
      await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
        site_code: 'BERLIN',
        timezone: 'Europe/Berlin',
      });
      const person = await study.person();
      const { id } = await person.consent(EVENING);
      const before = await person.becomes({ status: 'finalized', enrollment_date: '2024-03-01' });
      await study.settled();
      await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { site_code: 'BERLIN' });
      await person.settled();
      expect(await person.anchor()).to.deep.equal(before);
      await stage.admin.expect(200, 'PATCH', `${person.path}/consents/${id as string}`, {
        signed_at: '2024-03-05T09:00:00Z',
      });
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-05' });
    });
  });

  describe('a date whose sources rest: nothing is decided of it until one changes', () => {
    const EVENING = '2024-03-01T23:30:00Z';
    const moved = async (person: Person) => {
      const site_code = 'BERLIN';
      await stage.admin.expect(201, 'POST', `/api/studies/${person.study.id}/sites`, {
        site_code,
        timezone: 'Europe/Berlin',
      });
      await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { site_code });
      await person.settled();
    };
    const zoned = async (person: Person) => {
      await stage.admin.expect(200, 'PATCH', `/api/studies/${person.study.id}`, { timezone: 'Asia/Tokyo' });
      await person.study.settled();
      await person.settled();
    };

    const ruled = (change: (policy: { sources: object[] }) => object) => async (person: Person) => {
      const path = `/api/studies/${person.study.id}/config/enrollment-policy`;
      const policy = await stage.admin.expect<{ sources: object[] }>(200, 'GET', path);
      await person.study.policy({ ...policy, ...change(policy) });
      await person.study.settled();
      await person.settled();
    };
    const timed = ruled(() => ({ time_precision: { precision: 'datetime' } }));
    const listed = ruled(({ sources }) => ({ sources: [{ type: 'randomization' }, ...sources] }));

    for (const [change, otherwise] of [
      ['its participant moves to a site in another time zone', moved],
      ['the time zone of its study is corrected', zoned],
      ['its study comes to keep times of day', timed],
      ['its study comes to list a source of which there is nothing', listed],
    ] as const) {
      it(`a proposal that was cancelled is not made again when ${change}, but by another consent`, async () => {
        const study = await stage.study({
          sources: [{ type: 'consent_workflow' }],
          prerequisites: { require_eligibility_confirmed: true },
        });
        const person = await study.person();
        const { id } = await person.consent(EVENING);
        await person.becomes({ status: 'provisional', enrollment_date: '2024-03-01' });
        expect((await person.post('/cancel', {})).status).to.equal(200);
        await otherwise(person);
        expect(await person.anchor()).to.include({ status: 'unset', version: 3 });
        expect(await person.history()).to.have.length(2);
        await stage.admin.expect(200, 'PATCH', `${person.path}/consents/${id}`, { signed_at: '2024-03-04T09:00:00Z' });
        await person.becomes({ status: 'provisional', enrollment_date: '2024-03-04', version: 4 });
      });

      it(`one that an override-back reopened stays provisional when ${change}`, async () => {
        const study = await stage.study({ sources: [{ type: 'consent_workflow' }] });
        const person = await study.person();
        await person.consent(EVENING);
        await person.becomes({ status: 'finalized', enrollment_date: '2024-03-01' });
        await person.override('2024-03-10');
        expect((await person.post('/override-back', { reason: 'the form was right' })).status).to.equal(200);
        await otherwise(person);
        expect(await person.anchor()).to.include({ status: 'provisional', enrollment_date: '2024-03-01', version: 4 });
        expect((await person.post('/evaluate')).body.result).to.equal('finalized');
      });
    }
  });

  it('the baseline that a study chooses while somebody has withdrawn is theirs when they are reinstated', async () => {
    const study = await stage.study(
      {
        ...manual,
        prerequisites: { ...manual.prerequisites, require_baseline_visit: true },
        schedule_on_provisional: true,
      },
      { days: [] },
    );
    await study.window(0, { is_baseline: true });
    const second = await study.window(30, { is_baseline: false });
    const person = await study.person();
    await person.set(DAY);
    await study.settled();
    const done = (await person.standing()).find((visit) => visit.visit_window_id === second.id)!;
    await person.complete(done.id);
    await person.withdraw();
    await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${second.id as string}`, { is_baseline: true });
    await study.settled();
    await stage.admin.expect(200, 'POST', `/api/participants/${person.id}/reinstate`, { reason: 'a slip' });
    await person.becomes({ status: 'finalized', enrollment_date: DAY });
    expect(await stage.admin.expect(200, 'GET', `/api/visits/${done.id}`)).to.include({
      status: 'completed',
      is_baseline: true,
    });
  });

  it('the approvers of a site to which a participant moves are told of the override that waits', async () => {
    const study = await stage.study({
      ...manual,
      permissions: {
        can_override: ['coordinator'],
        override_requires_approval: true,
        override_approver_roles: ['investigator'],
      },
    });
    const site = (site_code: string) =>
      stage.admin.expect<{ id: string }>(201, 'POST', `/api/studies/${study.id}/sites`, { site_code, name: site_code });
    const [here, there] = await Promise.all([site('HERE'), site('THERE')]);
    const approverAt = (site_ids: string[]) => user(stage.admin, 'investigator', { study_ids: [study.id], site_ids });
    const [own, other] = await Promise.all([approverAt([here.id]), approverAt([there.id])]);
    const person = await study.person({ site_code: 'HERE' });
    await person.set(DAY);
    const asked = await person.override('2024-03-17', await study.as('coordinator'));
    expect(asked.status, asked.text).to.equal(202);
    const told = async () =>
      (
        await stage.sql<{ user_id: string }>(
          `select user_id from notifications where study_id = ? and kind = 'override_pending' order by created_at`,
          [study.id],
        )
      ).map(({ user_id }) => user_id);
    expect(await told()).to.deep.equal([own.userId]);
    await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { site_code: 'THERE' });
    await until(async () => (await told()).length > 1, { what: 'the approver of the other site to be told' });
    await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { preferred_language: 'de' });
    await person.settled();
    expect(await told(), 'each once').to.deep.equal([own.userId, other.userId]);
    const granted = await person.decide(asked.body.override_request_id, 'approve', other);
    expect(granted.status, granted.text).to.equal(200);
  });
});
