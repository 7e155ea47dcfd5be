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

  it('nor is one of signs that nobody sees: where a reason is needed, it is missing', async () => {
    const unseen = ' \u200b\u2060\ufeff';
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      permissions: { override_requires_approval: true, override_approver_roles: ['researcher'] },
    });
    const approver = await study.as('researcher');
    const person = await study.person();
    expect((await person.set(DAY, undefined, { reason: unseen })).status).to.equal(200);
    expect((await person.history())[0]!.reason).to.equal(null);
    const answers = async (...sent: Promise<{ status: number; body: { code?: string } }>[]) =>
      (await Promise.all(sent)).map(({ status, body }) => [status, body.code]);
    expect(
      await answers(
        person.override('2024-03-12', undefined, { reason: unseen }),
        person.post('/override-back', { reason: unseen }),
      ),
    ).to.deep.equal([
      [400, 'REASON_REQUIRED'],
      [400, 'REASON_REQUIRED'],
    ]);
    const { override_request_id: request } = (await person.override('2024-03-12')).body;
    expect(
      await answers(
        person.decide(request, 'deny', approver, { reason: unseen }),
        approver.post(`/api/studies/${study.id}/approvals/${request}/authorization`, {
          decision: 'deny',
          reason: unseen,
        }),
      ),
    ).to.deep.equal([
      [400, 'REASON_REQUIRED'],
      [400, 'REASON_REQUIRED'],
    ]);
    const refused = await stage.admin.post(`/api/participants/${person.id}/withdraw`, { reason: unseen });
    expect([refused.status, refused.body.errors]).to.deep.equal([
      422,
      [{ path: 'reason', code: 'BLANK', message: 'reason must not be blank' }],
    ]);
    expect((await person.history()).map(({ event_type }) => event_type)).to.deep.equal(['OVERRIDE_REQUESTED', 'SET']);
  });
});
