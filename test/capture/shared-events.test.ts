import { expect } from 'chai';
import { EVENT, PushStage, SECOND, SUMMARY } from './push-stage.js';

describe('two visits of a participant at one event of the capture system', function () {
  let stage: PushStage;
  before(async function () {
    this.timeout(240_000);
    stage = await PushStage.set();
  });
  after(() => stage?.clear());

  const second = { stroop: { ...SUMMARY, mean_rt: 777 } };

  it('never replace each other’s results: the later ones are refused until they have a place of their own', async () => {
    const study = await stage.study();
    const person = await study.person();
    const first = await study.ended({ person });
    await study.synced(first.session);
    const later = await study.ended({ person, summaries: second });
    const refused = await study.attempt(later.session, () => true, 'an attempt');
    expect(refused).to.include({ error_type: 'rejected', next_attempt_at: null });
    expect(refused.message).to.match(/^EVENT_TAKEN: .*mean_rt.*datacapture_event/);
    expect(study.standing(person.record!)).to.include({ mean_rt: '412.35' });
    await study.push(first.session);
    await study.synced(first.session);
    const correction = { datacapture_event: SECOND, reason: 'The visit of month 3' };
    await study.http.expect(200, 'PATCH', `/api/visits/${later.visit}`, correction);
    await study.synced(later.session);
    expect(study.standing(person.record!)).to.include({ mean_rt: '412.35' });
    expect(study.standing(person.record!, SECOND)).to.include({ mean_rt: '777' });
  });

  it('nor where some of the first ones were refused: the others stand', async () => {
    const study = await stage.study();
    const person = await study.person();
    const summary = { ...SUMMARY, total_trials: 40.5, accuracy: 1.5 };
    const first = await study.ended({ person, summaries: { stroop: summary } });
    const attempt = await study.attempt(first.session, () => true, 'an attempt');
    expect(attempt).to.include({ error_type: 'rejected', records_imported: 1 });
    expect(
      attempt.warnings.map(({ code, field }) => [code, field]),
      'of what stands there',
    ).to.deep.equal([['OUT_OF_RANGE', 'accuracy']]);
    const later = await study.ended({ person, summaries: second });
    const refused = await study.attempt(later.session, () => true, 'an attempt');
    expect(refused.message).to.match(/^EVENT_TAKEN: /);
    expect(study.standing(person.record!)).to.include({ mean_rt: '412.35' });
  });

  it('share it where their results are in different fields', async () => {
    const study = await stage.study();
    const person = await study.person();
    await study.synced((await study.ended({ person })).session);
    await study.synced((await study.ended({ person, summaries: { digit_span: { span: 6 } } })).session);
    expect(study.standing(person.record!)).to.include({ mean_rt: '412.35', span: '6.0' });
  });

  it('take the place of one whose event was corrected', async () => {
    const study = await stage.study();
    const person = await study.person();
    const wrong = await study.ended({ person });
    await study.synced(wrong.session);
    const correction = { datacapture_event: SECOND, reason: 'It was the visit of month 3' };
    await study.http.expect(200, 'PATCH', `/api/visits/${wrong.visit}`, correction);
    await study.synced((await study.ended({ person, summaries: second })).session);
    await study.synced(wrong.session);
    expect(study.standing(person.record!, EVENT)).to.include({ mean_rt: '777' });
    expect(study.standing(person.record!, SECOND)).to.include({ mean_rt: '412.35' });
  });
});
