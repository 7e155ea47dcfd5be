import { expect } from 'chai';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

/** More than the relay takes for a burst (activities/outbox/claimer.ts). */
const TRIGGERS = 60;

describe('a burst of triggers', function () {
  this.timeout(180_000);
  let stage: Stage;
  let study: CaptureStudy;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
    study = await stage.study();
  });
  after(() => stage?.clear());

  it('is accepted whole, and worked off whole when it is over', async () => {
    const records = Array.from({ length: TRIGGERS }, (_, i) => `R-${i}`);
    for (const record of records) await study.enroll(record, { enrolled: '2024-03-04' }, { trigger: false });
    const replies = await Promise.all(records.map((record) => study.trigger({ record })));
    expect(new Set(replies.map((reply) => reply.status))).to.deep.equal(new Set([200]));
    const events = await study.settled(TRIGGERS, 120_000);
    expect(new Set(events.map((event) => event.status))).to.deep.equal(new Set(['processed']));
    expect((await study.participants()).map((p) => p.external_id).sort()).to.deep.equal([...records].sort());
  });
});
