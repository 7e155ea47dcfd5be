import { expect } from 'chai';
import { PushStage, QUICK } from './push-stage.js';

/** A push makes three calls: with these there is one push a second. */
const CALLS_PER_MINUTE = 180;

/** A capture system bans an address for ever that calls too often, whichever of its projects are called. */
describe('The pace of pushes', function () {
  this.timeout(120_000);
  let stage: PushStage;
  before(async function () {
    this.timeout(240_000);
    stage = await PushStage.set({ ...QUICK, DATACAPTURE_PUSHES_PER_MINUTE: String(CALLS_PER_MINUTE) });
  });
  after(() => stage?.clear());

  it('is one for all studies whose projects are on one server', async () => {
    const studies = [await stage.study(), await stage.study(), await stage.study()];
    const pushed = await Promise.all(
      [...studies, ...studies].map(async (study) => ({ study, session: (await study.ended()).session })),
    );
    for (const { study, session } of pushed) await study.synced(session);
    const at = stage.simulator.control
      .calls()
      .filter(({ content, action }) => content === 'record' && action === 'import')
      .map((call) => Date.parse(call.at))
      .sort((a, b) => a - b);
    expect(at).to.have.length(pushed.length);
    // Five intervals; the first of them may have begun late.
    expect(at.at(-1)! - at[0]!).to.be.at.least(4_000);
  });
});
