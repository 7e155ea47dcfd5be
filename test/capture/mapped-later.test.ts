import { expect } from 'chai';
import { until } from '../support/until.js';
import { MAPPING, PushStage, SUMMARY } from './push-stage.js';

describe('results of a task that gets its fields in the capture system later', function () {
  this.timeout(120_000);
  let stage: PushStage;
  before(async function () {
    this.timeout(240_000);
    stage = await PushStage.set();
  });
  after(() => stage?.clear());

  it('go out once it is mapped; what was delivered, or has no field yet, is left alone', async () => {
    const study = await stage.study({ data_field_mapping: { stroop: MAPPING.stroop } });
    const results: Record<string, Record<string, number>>[] = [
      { digit_span: { span: 5.5 } },
      { stroop: SUMMARY },
      { flanker: { mean_rt: 300 } },
    ];
    const [unmapped, mapped, other] = await Promise.all(results.map((summaries) => study.ended({ summaries })));
    await study.synced(mapped!.session);
    for (const { session } of [unmapped!, other!])
      await study.attempt(session, ({ status }) => status === 'skipped', 'a session without mapped results');

    await study.configure({ data_field_mapping: { digit_span: MAPPING.digit_span } });
    await study.synced(unmapped!.session);
    expect(study.standing(unmapped!.record!)).to.include({ span: '5.5' });
    // No session has this metric.
    await study.configure({ data_field_mapping: { digit_span: { fields: { total: 'trials' } } } });
    expect((await study.seeVisit(unmapped!.visit)).data_sync_status).to.equal('synced');
    const attempts = await Promise.all([unmapped!, mapped!, other!].map(({ session }) => study.attempts(session)));
    expect(attempts.map((all) => all.map(({ status }) => status))).to.deep.equal([
      ['skipped', 'success'],
      ['success'],
      ['skipped'],
    ]);
  });

  it('go out beside those of another task of the session, which were delivered', async () => {
    const study = await stage.study({ data_field_mapping: { stroop: MAPPING.stroop } });
    const { session, record } = await study.ended({ summaries: { stroop: SUMMARY, digit_span: { span: 5.5 } } });
    await study.synced(session);
    expect(study.standing(record!)).not.to.have.property('span', '5.5');
    await study.configure({ data_field_mapping: { digit_span: MAPPING.digit_span } });
    await until(() => study.standing(record!)?.['span'] === '5.5', { what: 'the results that are mapped now' });
    await study.synced(session);
  });

  it('go out again where a metric of a mapped task gets a field, or another one', async () => {
    const study = await stage.study({
      data_field_mapping: { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'mean_rt' } } },
    });
    const [whole, part] = await Promise.all(
      [SUMMARY, { mean_rt: 300 }].map((stroop) => study.ended({ summaries: { stroop } })),
    );
    for (const { session } of [whole!, part!]) await study.synced(session);
    await study.configure({ data_field_mapping: { stroop: { fields: { total_trials: 'trials' } } } });
    await until(() => study.standing(whole!.record!)?.['trials'] === '40', { what: 'the metric that is mapped now' });
    await study.synced(whole!.session);
    await study.configure({ data_field_mapping: { stroop: { fields: { total_trials: 'median_rt' } } } });
    await until(() => study.standing(whole!.record!)?.['median_rt'] === '40.0', {
      what: 'the metric in its other field',
    });
    await study.synced(whole!.session);
    // A metric less is nothing to deliver.
    await study.configure({ data_field_mapping: { stroop: { fields: { total_trials: null } } } });
    expect(await study.see(whole!.session)).to.include({ sync_status: 'synced' });
    const attempts = await Promise.all([whole!, part!].map(({ session }) => study.attempts(session)));
    expect(attempts.map((all) => all.length)).to.deep.equal([3, 1]);
  });

  it('go out again where a mapped task gets another form, whose status says so', async () => {
    const fields = { mean_rt: 'mean_rt' };
    const study = await stage.study({ data_field_mapping: { stroop: { datacapture_instrument: 'memory', fields } } });
    const { session, record } = await study.ended();
    await study.synced(session);
    await study.configure({ data_field_mapping: { stroop: { datacapture_instrument: 'cognition' } } });
    await until(() => study.standing(record!)?.['cognition_complete'] === '2', { what: 'the status of the form' });
    await study.synced(session);
  });

  it('go out, too, where nothing was mapped before, or the study had no configuration yet', async () => {
    const [unmapped, unconfigured] = [await stage.study({ data_field_mapping: {} }), await stage.study(null)];
    const ended = await Promise.all([unmapped, unconfigured].map((study) => study.ended()));
    for (const [n, study] of [unmapped, unconfigured].entries()) {
      const failed = await study.attempt(ended[n]!.session, ({ status }) => status === 'failed', 'a failed attempt');
      expect(failed.error_type).to.equal('configuration');
    }
    await unmapped.configure({ data_field_mapping: MAPPING });
    const { apiUrl: api_url } = stage.simulator;
    await unconfigured.configure({ api_url, api_token: unconfigured.token, data_field_mapping: MAPPING }, 201);
    for (const [n, study] of [unmapped, unconfigured].entries()) {
      await study.synced(ended[n]!.session);
      expect(study.standing(ended[n]!.record!)).to.include({ mean_rt: '412.35' });
    }
  });
});
