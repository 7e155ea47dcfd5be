import { expect } from 'chai';
import { DAY, Stage } from './stage.js';

describe('A reason of blanks', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('is none: where a date is set, evaluated or cancelled, the history has no reason', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false, require_eligibility_confirmed: true },
    });
    const person = await study.person();
    const said = async () => (await person.history()).map(({ event_type, reason }) => [event_type, reason]);
    expect((await person.set(DAY, undefined, { reason: ' \n' })).status).to.equal(200);
    expect((await person.post('/cancel', { reason: '   ' })).status).to.equal(200);
    expect(await said()).to.deep.equal([
      ['CHANGED', null],
      ['PROPOSED', null],
    ]);
    expect((await person.set(DAY, undefined, { reason: ' by telephone ' })).status).to.equal(200);
    expect((await person.post('/evaluate', { reason: ' ' })).status).to.equal(200);
    expect((await said())[0]).to.deep.equal(['PROPOSED', ' by telephone ']);
    const [kept] = await stage.sql<{ reason: string | null }>(
      'select reason from manual_anchor_entries where participant_id = ? and withdrawn_at is null',
      [person.id],
    );
    expect(kept!.reason).to.equal(' by telephone ');
  });
});
