import { expect } from 'chai';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

/** Longer than the local first attempt of a trigger. */
const SLOW_MS = 17_000;

describe('a capture system that takes its time', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const calls = (study: CaptureStudy, content: string, since = 0) =>
    stage.simulator.control
      .calls(Number(study.projectId))
      .slice(since)
      .filter((call) => call.content === content);
  const slow = (study: CaptureStudy, ms: number) => ({
    project_id: Number(study.projectId),
    content: ['record', 'record:export'],
    latency_ms: ms,
    times: 1,
  });

  it('is waited for, and asked for nothing again that it may still answer', async () => {
    const [reading, triggering, testing] = [await stage.study(), await stage.study(), await stage.study()];
    await reading.enroll('1', { enrolled: '2026-01-15' }, { trigger: false });
    const before = [reading, triggering].map((study) => stage.simulator.control.calls(Number(study.projectId)).length);
    stage.simulator.control.setFaults([slow(reading, SLOW_MS), slow(triggering, SLOW_MS), slow(testing, 12_000)]);
    await triggering.enroll('1', { enrolled: '2026-01-15' });
    const [report, tested] = await Promise.all([
      synced(reading),
      stage.call('POST', `/api/datacapture/config/${testing.id}/test-connection`),
      triggering.settled(1, 60_000),
    ]);
    expect(tested.status).to.equal(200);
    expect(report).to.include({ status: 'completed' });
    expect(report.progress).to.include({ created: 1 });
    // The list of the records and the one batch; the one record of the trigger.
    expect(calls(reading, 'record', before[0])).to.have.length(2);
    expect(calls(triggering, 'record', before[1])).to.have.length(1);
    expect((await triggering.events())[0]).to.include({ status: 'processed', outcome: 'created' });
    stage.simulator.control.clearFaults();
  });

  for (const custom_rule of [undefined, "forms.enroll.enrolled != '' && participant.status == 'enrolled'"])
    it(`a dictionary is read of the forms that are needed alone${custom_rule ? ', whatever words the policy has' : ''}`, async () => {
      const forms = Array.from({ length: 40 }, (_, n) => `extra_${n}`);
      const dictionary = [
        'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number',
        'subject_id,start,text,Subject,,',
        'enrolled,enroll,text,Enrolled,,date_ymd',
        'rt_mean,cognition,text,Mean,,number',
        ...forms.map((form) => `${form}_field,${form},text,${'x'.repeat(500)},,`),
      ].join('\n');
      const events = [
        {
          event_name: 'Baseline',
          day_offset: 0,
          offset_min: 0,
          offset_max: 7,
          forms: ['start', 'enroll', 'cognition'],
        },
      ];
      const policy = custom_rule && { config: { enrollment_date_policy: { prerequisites: { custom_rule } } } };
      const study = await stage.study({
        project: { events, instruments: [] },
        dictionary,
        connect: false,
        ...(policy && { study: policy }),
      });
      await study.connect({
        event_battery_mapping: study.mapped({ baseline_arm_1: { target_day: 0 } }),
        participant_field_mapping: { enrollment_date: 'enrolled' },
        data_field_mapping: { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } } },
      });
      await study.enroll('1', { enrolled: '2026-01-15' });
      await study.settled(1);
      expect((await synced(study)).status).to.equal('completed');
      const read = calls(study, 'metadata');
      expect(read.length).to.be.greaterThan(1);
      for (const { parameters } of read)
        expect(JSON.stringify(parameters), 'the extra forms are left out')
          .to.contain('forms')
          .and.not.to.contain('extra_');
    });
});
