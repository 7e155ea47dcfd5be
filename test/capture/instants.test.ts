import { expect } from 'chai';
import { Stage, synced } from './support.js';

describe('dates that the capture system has with a time', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const row = (record: string, values: Record<string, string>) => ({
    subject_id: record,
    redcap_event_name: 'baseline_arm_1',
    enroll_complete: '2',
    ...values,
  });

  it('are taken by their day, for the enrollment and for the birth alike; what is not taken is named', async () => {
    const study = await stage.study();
    const load = (rows: Record<string, string>[]) => stage.simulator.control.load(Number(study.projectId), rows);
    load([row('1', { enrolled: '2026-01-15T23:30:00Z', dob: '1950-03-04 00:30', mail: 'no address' })]);
    await study.trigger({ record: '1', redcap_event_name: 'baseline_arm_1' });
    const [event] = await study.settled(1);
    expect(event).to.include({ status: 'processed', outcome: 'created' });
    expect(event!.warnings.map(({ code }) => code)).to.deep.equal(['VALUE_NOT_TAKEN']);
    expect(event!.warnings[0]!.message).to.contain('email').and.not.to.contain('no address');
    expect((await study.participants())[0]).to.include({
      enrollment_date: '2026-01-15',
      date_of_birth: '1950-03-04',
      email: null,
    });
    load([
      row('3', { enrolled: '2026-01', dob: '1950' }),
      row('4', { enrolled: '2026-01-16 25:00', dob: '1950-03-05' }),
    ]);
    for (const record of ['3', '4']) await study.trigger({ record, redcap_event_name: 'baseline_arm_1' });
    const later = await study.settled(3);
    const named = (record: string) =>
      later
        .find((each) => each.record === record)!
        .warnings.map(({ code, message }) => `${code} ${/ for (\w+) was/.exec(message)?.[1]}`);
    expect(named('3')).to.deep.equal(['VALUE_NOT_TAKEN enrollment_date', 'VALUE_NOT_TAKEN date_of_birth']);
    expect(named('4')).to.deep.equal([]);
    const people = await study.participants();
    // The two triggers are processed in any order.
    expect(people.map(({ external_id, enrollment_date }) => [external_id, enrollment_date])).to.have.deep.members([
      ['1', '2026-01-15'],
      ['3', null],
      ['4', '2026-01-16'],
    ]);
    load([row('2', { enrolled: '2026-02-30 10:00', dob: '1950-03-04T00:30:00+02:00' })]);
    const report = await synced(study);
    const told = report.issues.items.find(({ record }) => record === '2')!;
    expect(told.issues.map(({ code, message }) => `${code} ${message}`).join()).to.match(
      /^VALUE_NOT_TAKEN .*enrollment_date/,
    );
    load([row('5', { enrolled: '2026-01-16', dob: '2999-01-01' })]);
    const ahead = (await synced(study)).issues.items.find(({ record }) => record === '5')!;
    expect(ahead.issues.map(({ code, message }) => `${code} ${message}`).join()).to.match(
      /^VALUE_NOT_TAKEN .*date_of_birth/,
    );
    const second = (await study.participants()).find(({ external_id }) => external_id === '2')!;
    expect(second).to.include({ enrollment_date: null, date_of_birth: '1950-03-04' });
  });
});
