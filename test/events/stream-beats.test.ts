import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { until } from '../support/until.js';
import { FINAL_AT_ONCE, follow } from './stage.js';

describe('A stream of events of one type in a busy study', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('says that it is still there while all events are of other types: a proxy ends a silent connection', async () => {
    const study = await stage.study(FINAL_AT_ONCE, { days: [] });
    const stream = await follow(stage.admin, study.id, {}, '?type=ENROLLMENT_DATE_CHANGED');
    let isBusy = true;
    const others = (async () => {
      while (isBusy) {
        await stage.sql(`insert into domain_events (type, study_id, data) values ('ENROLLMENT_DATE_SET', ?, '{}')`, [
          study.id,
        ]);
        await sleep(1_000);
      }
    })();
    try {
      expect(stream.status).to.equal(200);
      // More than a beat lies between, and less than what proxies wait for.
      await until(() => stream.texts.includes(': still here'), { what: 'a sign of life' });
      expect(stream.events).to.deep.equal([]);
      expect(stream.ended).to.equal(false);
    } finally {
      isBusy = false;
      await others;
      stream.stop();
    }
  });
});
