import { expect } from 'chai';
import { imported } from '../data/stage.js';
import { until } from '../support/service.js';
import { PushStage } from './push-stage.js';
import type { Person } from './push-stage.js';

describe('results of a participant whose record in the capture system is corrected', function () {
  this.timeout(120_000);
  let stage: PushStage;
  before(async function () {
    this.timeout(240_000);
    stage = await PushStage.set();
  });
  after(() => stage?.clear());

  it('that went to the former record are delivered to the present one, whoever corrects it', async () => {
    const study = await stage.study();
    const [person, other] = [await study.person(), await study.person()];
    for (const record of ['by-hand', 'by-file']) study.exists(record);
    const one = await study.ended({ person });
    const two = await study.ended({ person: other });
    for (const { session } of [one, two]) await study.synced(session);
    expect(study.standing(one.record!)).to.include({ mean_rt: '412.35' });

    await study.http.expect(200, 'PATCH', `/api/participants/${person.id}`, { external_id: 'by-hand' });
    const { participant_code } = await study.http.expect<{ participant_code: string }>(
      200,
      'GET',
      `/api/participants/${other.id}`,
    );
    const file = `participant_code,external_id\n${participant_code},by-file\n`;
    expect(await imported(study.http, study.id, file, '?mode=upsert')).to.include({ updated_count: 1 });
    for (const [{ session, visit }, record] of [
      [one, 'by-hand'],
      [two, 'by-file'],
    ] as const) {
      await until(() => Promise.resolve(study.standing(record)?.['mean_rt'] === '412.35'), {
        what: `the results to be in ${record}`,
      });
      await study.synced(session);
      expect((await study.seeVisit(visit)).data_sync_status).to.equal('synced');
      expect(await study.attempts(session)).to.have.length(2);
    }
  });

  it('that had no record go out once there is one; a correction of nothing else sends nothing again', async () => {
    const study = await stage.study();
    const person: Person = await study.person({ external_id: null });
    const { session } = await study.ended({ person });
    await study.attempt(session, ({ error_type }) => error_type === 'configuration', 'the push to fail');
    study.exists('found');
    await study.http.expect(200, 'PATCH', `/api/participants/${person.id}`, { external_id: 'found' });
    await study.synced(session);
    expect(study.standing('found')).to.include({ mean_rt: '412.35' });
    await study.http.expect(200, 'PATCH', `/api/participants/${person.id}`, { external_id: 'found', arm: 'B' });
    await study.http.expect(200, 'PATCH', `/api/participants/${person.id}`, { external_id: null });
    expect((await study.see(session)).sync_status).to.equal('synced');
    expect(await study.attempts(session)).to.have.length(2);
  });
});
