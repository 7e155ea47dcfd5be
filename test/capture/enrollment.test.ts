import { expect } from 'chai';
import { until } from '../support/service.js';
import { compared } from './compared.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

describe('who is enrolled by a record of the capture system, and by which event', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const triggerOf = async (study: CaptureStudy, fields: Record<string, string>) => {
    const before = new Set((await study.events()).map(({ id }) => id));
    await study.trigger(fields);
    return until(
      async () =>
        (await study.events()).find(
          ({ id, status }) => !before.has(id) && ['processed', 'duplicate', 'failed'].includes(status),
        ),
      { what: 'the trigger to be settled' },
    );
  };
  const load = (study: CaptureStudy, rows: Record<string, string>[]) =>
    stage.simulator.control.load(Number(study.projectId), rows);

  for (const event of ['baseline_arm_1', null]) {
    it(`a record whose enrollment form was never opened enrolls nobody (enrollment_event ${event})`, async () => {
      const study = await stage.study({ config: { enrollment_event: event } });
      load(study, [
        { subject_id: 'imported', redcap_event_name: 'baseline_arm_1', rt_mean: '400.0', cognition_complete: '2' },
        { subject_id: 'typed', redcap_event_name: 'baseline_arm_1', lang: 'de' },
        { subject_id: 'saved', redcap_event_name: 'baseline_arm_1', enroll_complete: '1' },
      ]);
      const ignored = await triggerOf(study, { record: 'imported', redcap_event_name: 'baseline_arm_1' });
      expect(ignored).to.include({ status: 'processed', outcome: 'ignored', error: null, participant_id: null });
      expect(await triggerOf(study, { record: 'typed', redcap_event_name: 'baseline_arm_1' })).to.include({
        status: 'processed',
        outcome: 'created',
      });
      const report = await synced(study);
      expect(report.progress).to.include({ skipped: 1, unchanged: 1, created: 1 });
      expect((await study.participants()).map((p) => p.external_id)).to.have.members(['typed', 'saved']);
    });
  }

  it('with enrollment_event set, the same form in another event moves nothing, no matter who reads it', async () => {
    const study = await stage.study();
    await study.enroll('1', { enrolled: '2026-01-15', mail: 'first@example.org' });
    await study.settled(1);
    await study.enroll('1', { enrolled: '2026-03-01', mail: 'later@example.org' }, { event: 'month_3_arm_1' });
    expect((await study.settled(2)).at(-1)).to.include({ status: 'processed', outcome: 'ignored', error: null });
    expect((await synced(study)).progress).to.include({ unchanged: 1 });
    const [person] = await study.participants();
    expect(person).to.include({ enrollment_date: '2026-01-15', email: 'first@example.org' });
    expect(await study.versions(person!.id)).to.have.length(1);
  });

  it('a record that has the form only in another event is not enrolled by it', async () => {
    const study = await stage.study();
    await study.enroll('1', { enrolled: '2026-03-01' }, { event: 'month_3_arm_1' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'ignored' });
    await triggerOf(study, { record: '1' });
    await synced(study);
    expect(await study.participants()).to.deep.equal([]);
  });

  it('without enrollment_event the earliest event counts, for triggers of any event as for a sync', async () => {
    const study = await stage.study({ config: { enrollment_event: null } });
    await study.enroll('1', { enrolled: '2026-01-15', lang: 'de' });
    await study.settled(1);
    await study.enroll('1', { enrolled: '2026-03-01', mail: 'later@example.org' }, { event: 'month_3_arm_1' });
    expect((await study.settled(2)).at(-1)).to.include({ status: 'processed', outcome: 'unchanged' });
    expect((await synced(study)).progress).to.include({ unchanged: 1 });
    const [person] = await study.participants();
    expect(person).to.include({ enrollment_date: '2026-01-15', preferred_language: 'de', email: null });
    expect(await study.versions(person!.id)).to.have.length(1);
  });

  it('a record that has instances of a repeating form alone is found by a sync', async () => {
    const study = await stage.study({
      project: { events: [], repeating_instruments: [{ instrument: 'enroll' }] },
    });
    const instance = (number: string, enrolled: string) => ({
      subject_id: '1',
      redcap_repeat_instrument: 'enroll',
      redcap_repeat_instance: number,
      enrolled,
    });
    load(study, [instance('2', '2026-02-02'), instance('1', '2026-01-01')]);
    expect((await synced(study)).progress).to.include({ total: 1, created: 1, vanished: 0 });
    expect((await synced(study)).progress).to.include({ total: 1, unchanged: 1, vanished: 0 });
    expect((await study.participants()).map((p) => p.enrollment_date)).to.deep.equal(['2026-01-01']);
  });

  it('a trigger that writes the record in other cases is of the record', async () => {
    const study = await stage.study();
    await study.enroll('ABC-1', { enrolled: '2026-01-15' }, { trigger: false });
    expect(await triggerOf(study, { record: 'abc-1' })).to.include({ status: 'processed', outcome: 'created' });
    expect(await triggerOf(study, { record: 'abc-1' }), 'the same again').to.include({ status: 'duplicate' });
    expect((await synced(study)).progress).to.include({ unchanged: 1 });
    expect((await study.participants()).map((p) => p.external_id)).to.deep.equal(['ABC-1']);
  });

  it('a participant whose record id a person wrote in other cases is the record’s, and gets no second one', async () => {
    const study = await stage.study();
    const entered = async (external_id: string) => {
      const made = await stage.call('POST', `/api/studies/${study.id}/participants`, {
        participant_code: `P-${external_id}`,
        external_id,
      });
      expect(made.status).to.equal(201);
      return made.body['id'];
    };
    const byTrigger = await entered('Abc-1'),
      bySync = await entered('xyz-2');
    await study.enroll('ABC-1', { enrolled: '2026-01-15', lang: 'de' }, { trigger: false });
    expect(await triggerOf(study, { record: 'ABC-1' })).to.include({ status: 'processed', outcome: 'updated' });
    load(study, [{ subject_id: 'XYZ-2', redcap_event_name: 'baseline_arm_1', lang: 'fr' }]);
    expect((await synced(study)).progress).to.include({ created: 0, updated: 1, unchanged: 1, failed: 0 });
    expect((await study.participants()).map((p) => [p.id, p.external_id, p.preferred_language])).to.have.deep.members([
      [byTrigger, 'ABC-1', 'de'],
      [bySync, 'XYZ-2', 'fr'],
    ]);
  });

  it('a classic project has no events: whatever enrollment_event says, its records are read', async () => {
    const study = await stage.study({ project: { events: [] } });
    const check = await compared(() => study.configure({ enrollment_event: 'baseline_arm_1' }));
    expect((check.body['warnings'] as { code: string }[]).map(({ code }) => code)).to.not.include('UNKNOWN_EVENT');
    load(study, [{ subject_id: '1', lang: 'de' }]);
    expect((await synced(study)).progress).to.include({ created: 1 });
    expect(await triggerOf(study, { record: '1' })).to.include({ status: 'processed', outcome: 'unchanged' });
  });

  it('datacapture_enabled switches the exchange, and no schedule depends on it', async () => {
    const study = await stage.study();
    await study.enroll('1', { enrolled: '2026-01-15' });
    await study.settled(1);
    const [person] = await study.participants();
    const plan = () =>
      stage.sql<{ name: string }>(
        `select v.name from scheduled_visits v where v.participant_id = ? and v.status <> 'superseded' order by v.target_date, v.name`,
        [person!.id],
      );
    const withWindow = async (code: string, target_day: number, version: number) => {
      const window = { study_id: study.id, code, name: code, target_day };
      expect((await stage.call('POST', '/api/schedules/windows', window)).status).to.equal(201);
      await until(async () => (await study.versions(person!.id)).length >= version, { what: `version ${version}` });
      return (await plan()).map(({ name }) => name);
    };
    const before = (await plan()).map(({ name }) => name);
    expect(before).to.have.length(2);
    await stage.call('PATCH', `/api/studies/${study.id}`, { datacapture_enabled: false });
    expect(await withWindow('LATER', 200, 2)).to.deep.equal([...before, 'LATER']);
    expect(await study.anchor(person!.id)).to.include({ enrollment_date_value: '2026-01-15' });
    await stage.call('PATCH', `/api/studies/${study.id}`, { datacapture_enabled: true });
    expect(await withWindow('LAST', 300, 3)).to.deep.equal([...before, 'LATER', 'LAST']);
    expect(await study.versions(person!.id)).to.have.length(3);
  });
});
