import { expect } from 'chai';
import { EVENT, EVENTS, PushStage, SECOND } from './push-stage.js';

describe('a project that gets or loses its events while results are pushed', function () {
  let stage: PushStage;
  before(async function () {
    this.timeout(240_000);
    stage = await PushStage.set();
  });
  after(() => stage?.clear());

  it('has the results in the visit’s event from the first push on, never in the first event', async () => {
    const study = await stage.study({}, {}, 'subject_id', []);
    const person = await study.person();
    await study.synced((await study.ended({ person })).session);
    expect(study.standing(person.record!, '')).to.include({ mean_rt: '412.35' });
    study.convert(EVENTS);
    await study.synced((await study.ended({ person, visit: { datacapture_event: SECOND } })).session);
    expect(study.standing(person.record!, SECOND)).to.include({ mean_rt: '412.35' });
    expect(study.standing(person.record!, EVENT)).to.equal(undefined);
  });

  it('and in the record itself once it has none', async () => {
    const study = await stage.study();
    const person = await study.person();
    await study.synced((await study.ended({ person })).session);
    study.convert([]);
    await study.synced((await study.ended({ person })).session);
    expect(study.standing(person.record!, '')).to.include({ mean_rt: '412.35' });
  });
});
