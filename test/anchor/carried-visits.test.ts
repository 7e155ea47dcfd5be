import { expect } from 'chai';
import { DAY, Stage } from './stage.js';
import type { VisitView } from './stage.js';

type Listed = VisitView & { carried: boolean };

describe('Visits of older versions that a schedule refers to', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('are reconciled with it by an override, as its own; those to do by hand are not', async () => {
    const study = await stage.study(
      { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } },
      { days: [0, 30, 30_000] },
    );
    const later = await study.window(31_000);
    const person = await study.person();
    await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: person.id,
      visit_window_id: later.id,
      target_date: '2109-01-05',
    });
    await person.set(DAY);
    const [done, cancelled] = (await person.standing()).sort((a, b) => (a.target_date < b.target_date ? -1 : 1));
    await person.complete(done!.id);
    await stage.admin.expect(200, 'POST', `/api/visits/${cancelled!.id}/cancel`, { reason: 'the device broke' });
    await study.window(90);
    await study.settled();
    const second = (await person.versions()).find(({ is_current }) => is_current)!;
    const { status, body } = await person.override('2024-03-17');
    expect([second.version_number, status]).to.deep.equal([2, 200]);
    const { visits } = await stage.admin.expect<{ visits: Listed[] }>(
      200,
      'GET',
      `${person.path}/schedule-versions/${second.id}`,
    );
    const found = visits.map(({ name, carried, anchor_reconciled }) => `${name} ${carried} ${anchor_reconciled}`);
    expect(found.sort()).to.deep.equal([
      'Day 0 true true',
      'Day 30 true true',
      'Day 30000 false true',
      'Day 31000 true false',
      'Day 90 false true',
    ]);
    for (const visit of visits.filter((one) => one.anchor_reconciled))
      expect(visit.anchor_reconciled_at, visit.name).to.be.a('string');
    const now = await stage.admin.expect<{ visits: Listed[] }>(
      200,
      'GET',
      `${person.path}/schedule-versions/${body.schedule_version!.id}`,
    );
    expect(now.visits.filter(({ carried }) => !carried).map((visit) => visit.anchor_reconciled)).to.deep.equal([
      false,
      false,
    ]);
  });
});
