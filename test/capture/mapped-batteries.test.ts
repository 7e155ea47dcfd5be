import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import { unique } from '../support/http.js';
import { Stage } from './support.js';
import type { Reply } from './support.js';

describe('A battery that the capture system’s mapping names', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('is not deleted while the mapping is being saved: nobody could be enrolled any more', async () => {
    const study = await stage.study();
    const made = await stage.call<{ id: number }>('POST', '/api/batteries', {
      study_id: study.id,
      code: unique('B'),
      name: 'Of the third month',
    });
    expect(made.status).to.equal(201);
    const battery_id = made.body.id;
    const owner = openDatabase({ url: stage.run.database_url, poolMax: 2, name: 'mapped-batteries', asOwner: true });
    try {
      const [saved, deleted] = await whileHeld<Reply>(
        owner,
        atItsCommit(study.id),
        () => study.configure({ event_battery_mapping: { month_3_arm_1: { battery_id, target_day: 90 } } }),
        () => stage.call('DELETE', `/api/batteries/${battery_id}`),
      );
      expect([saved!.status, deleted!.status, deleted!.body['code']]).to.deep.equal([200, 409, 'BATTERY_IN_USE']);
    } finally {
      await owner.destroy();
    }
  });
});
