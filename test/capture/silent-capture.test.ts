import { expect } from 'chai';
import { until } from '../support/service.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

/** More than the slots of a worker, for normal activities and for local ones. */
const TRIGGERS = 200;

describe('a capture system that accepts connections and never answers', function () {
  this.timeout(240_000);
  let silent: Stage;
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    [silent, stage] = await Promise.all([Stage.set({ polls: false }), Stage.set({ polls: false })]);
  });
  after(async () => {
    await silent?.clear();
    await stage?.clear();
  });

  const question = (study: CaptureStudy, words: string) =>
    study.stage.call('GET', `/api/datacapture/config/${study.id}/${words}`);

  it('holds up no other study, and gets all of its own triggers once it answers', async () => {
    const [quiet, other] = await Promise.all([silent.study(), stage.study()]);
    const records = Array.from({ length: TRIGGERS }, (_, n) => `S-${n}`);
    for (const record of records) await quiet.enroll(record, { enrolled: '2026-01-15' }, { trigger: false });
    silent.simulator.control.setFaults([{ project_id: Number(quiet.projectId), hold: true }]);
    const held = () => silent.simulator.control.faults()[0]!.done;
    await Promise.all(records.map((record) => quiet.trigger({ record })));
    await until(() => held() >= 8, { what: 'the capture system to be called' });

    await other.enroll('O-1', { enrolled: '2026-01-15' });
    const [listed, [event]] = await Promise.all([question(other, 'events'), other.settled(1)]);
    expect(listed.status).to.equal(200);
    expect(event).to.include({ status: 'processed', outcome: 'created' });
    const [participant] = await other.participants();
    expect((await other.versions(participant!.id)).map((each) => each.anchor_date_used)).to.deep.equal(['2026-01-15']);
    // None of its calls has been given up yet: nobody waited for the end of one.
    expect(held(), 'calls to one server at a time').to.equal(8);

    const refused = await until(
      async () => {
        const answer = await question(quiet, 'events');
        return answer.status === 400 && String(answer.body['detail']).includes('before this one') ? answer : undefined;
      },
      { what: 'a question that is not asked any more' },
    );
    expect(refused.body).to.include({ code: 'CONNECTION_FAILED', error_type: 'timeout' });

    silent.simulator.control.clearFaults();
    const events = await quiet.settled(TRIGGERS, 180_000);
    expect(new Set(events.map(({ status, outcome }) => `${status} ${outcome}`))).to.deep.equal(
      new Set(['processed created']),
    );
    expect((await quiet.participants()).map((each) => each.external_id).sort()).to.deep.equal([...records].sort());
    expect((await question(quiet, 'events')).status).to.equal(200);
  });
});
