import { expect } from 'chai';
import { PushStage } from './push-stage.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const DICTIONARY = [
  'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number',
  'subject_id,enroll,text,Subject,,',
  'enrolled,enroll,text,Enrolled,,date_ymd',
  'code,enroll,text,Code,,',
  'arms,enroll,checkbox,Arm,"Treat-A, A | b.1, B"',
].join('\n');

/** A worker that has just started knows nothing of a project yet. */
describe('a project that cannot be described for a moment', function () {
  this.timeout(120_000);
  let stage: Stage;
  let pushes: PushStage;
  before(async function () {
    this.timeout(240_000);
    [stage, pushes] = [await Stage.set({ polls: false }), await PushStage.set()];
  });
  after(async () => {
    await stage?.clear();
    await pushes?.clear();
  });

  const arms = async (study: CaptureStudy) => (await study.participants()).map(({ arm }) => arm);
  const fault = (study: CaptureStudy, content: string, times: number) =>
    stage.simulator.control.setFaults([
      { project_id: Number(study.projectId), content: [content], status: 503, times },
    ]);
  const mapped = (field: string) => ({
    dictionary: DICTIONARY,
    project: { instruments: [{ name: 'enroll', label: 'Enrollment' }], events: [] },
    config: { enrollment_event: null, participant_field_mapping: { enrollment_date: 'enrolled', arm: field } },
  });
  const save = (study: CaptureStudy, record: string, values: Record<string, string>, trigger = true) =>
    stage.simulator.control.saveForm(Number(study.projectId), { record, instrument: 'enroll', values, trigger });

  it('has its codes for missing values nevertheless when a trigger is read, and when a sync is', async () => {
    const [triggering, reading] = [await stage.study(mapped('code')), await stage.study(mapped('code'))];
    fault(triggering, 'project', 3);
    await save(triggering, 'u', { enrolled: '2026-01-15', code: 'UNK' });
    expect((await triggering.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
    expect(await arms(triggering)).to.deep.equal([null]);
    fault(reading, 'project', 2);
    await save(reading, 'u', { enrolled: '2026-01-15', code: 'UNK' }, false);
    expect((await synced(reading)).progress).to.include({ created: 1 });
    expect(await arms(reading)).to.deep.equal([null]);
    stage.simulator.control.clearFaults();
  });

  it('has the codes of its boxes, not the names of their columns', async () => {
    const study = await stage.study(mapped('arms'));
    fault(study, 'metadata', 1);
    await save(study, 'b', { enrolled: '2026-01-15', arms___treat_a: '1' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
    expect(await arms(study)).to.deep.equal(['Treat-A']);
    stage.simulator.control.clearFaults();
  });

  it('whose dictionary is refused or empty is connected, and its triggers enroll by what is mapped', async () => {
    const study = await stage.study({
      ...mapped('code'),
      dictionary: DICTIONARY.replace('subject_id', 'record_id'),
    });
    const saveIncomplete = (record: string, values: Record<string, string>) =>
      stage.simulator.control.saveForm(Number(study.projectId), {
        record,
        instrument: 'enroll',
        values,
        complete: '0',
        trigger: true,
      });
    for (const [index, refusal] of [{ status: 400 }, { body: '[]', content_type: 'application/json' }].entries()) {
      stage.simulator.control.setFaults([{ project_id: Number(study.projectId), content: ['metadata'], ...refusal }]);
      await saveIncomplete(`filled-${index}`, { enrolled: '2026-01-15' });
      await saveIncomplete(`empty-${index}`, {});
      const tested = await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
      expect([tested.status, tested.body['status'], tested.body['record_count']]).to.deep.equal([
        200,
        'connected',
        2 * (index + 1),
      ]);
      await study.settled(2 * (index + 1));
    }
    stage.simulator.control.clearFaults();
    const outcomes = (await study.events()).map(({ record, status, outcome }) => [record, status, outcome]);
    expect(outcomes).to.have.deep.members([
      ['filled-0', 'processed', 'created'],
      ['empty-0', 'processed', 'ignored'],
      ['filled-1', 'processed', 'created'],
      ['empty-1', 'processed', 'ignored'],
    ]);
    expect((await study.participants()).map(({ external_id }) => external_id)).to.have.members([
      'filled-0',
      'filled-1',
    ]);
  });

  it('without events has its results later, and they are not refused for good', async () => {
    const study = await pushes.study({}, {}, 'subject_id', []);
    study.fault({ content: ['project'], status: 503, times: 2 });
    const { session, record } = await study.ended();
    await study.synced(session);
    expect((await study.attempts(session)).map(({ error_type }) => error_type)).to.deep.equal(['http_error', null]);
    expect(study.standing(record!, '')).to.include({ mean_rt: '412.35' });
  });
});
