import { expect } from 'chai';
import { unique } from '../support/http.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const LATER = '2024-03-17';

describe('An Idempotency-Key of more than 24 hours ago', () => {
  let stage: Stage;
  let study: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      permissions: {
        can_override: ['admin'],
        override_requires_approval: true,
        override_approver_roles: ['researcher'],
      },
    });
  });
  after(() => stage.close());

  const under = (key: string) => ({ headers: { 'Idempotency-Key': key } });
  /** As if what was done so far of the participant had been done a day earlier. */
  const aDayPasses = async ({ id }: Person) => {
    await stage.sql(
      `update anchor_commands set created_at = created_at - interval '25 hours' where participant_id = ?`,
      [id],
    );
    await stage.sql(`update idempotency_keys set created_at = created_at - interval '25 hours' where path like ?`, [
      `%${id}%`,
    ]);
  };
  /** As if the API had died before it stored its answer. */
  const answerIsLost = (key: string) => stage.sql('delete from idempotency_keys where key = ?', [key]);

  it('is free: the same request is executed again, and is once more repeatable', async () => {
    const person = await study.person();
    const key = unique();
    const reopen = () => person.post('/override-back', { reason: 'wrong form' }, undefined, under(key));
    await person.set(DAY);
    expect((await reopen()).body).to.include({ status: 'provisional' });
    expect((await person.post('/evaluate', {})).body.anchor).to.include({ status: 'finalized' });
    const before = (await person.anchor()).version;
    await answerIsLost(key);
    expect((await reopen()).status, 'within a day it is the same request').to.equal(200);
    expect(await person.anchor()).to.include({ status: 'finalized', version: before });
    for (let day = 1; day <= 2; day += 1) {
      await aDayPasses(person);
      const { version } = await person.anchor();
      expect((await reopen()).body).to.include({ status: 'provisional', version: version + 1 });
      await answerIsLost(key);
      expect((await reopen()).body).to.include({ status: 'provisional', version: version + 1 });
      expect((await person.post('/evaluate', {})).body.anchor).to.include({ status: 'finalized' });
    }
  });

  it('decides a request as a new decision', async () => {
    const person = await study.person();
    const key = unique();
    const approver = await study.as('researcher');
    await person.set(DAY);
    const { body } = await person.override(LATER);
    const deny = () =>
      person.post(`/override-requests/${body.override_request_id}/deny`, { reason: 'no' }, approver, under(key));
    expect((await deny()).body).to.include({ status: 'denied' });
    await answerIsLost(key);
    expect((await deny()).body).to.include({ status: 'denied' });
    await aDayPasses(person);
    const late = await deny();
    expect([late.status, late.body.code]).to.deep.equal([409, 'NOT_PENDING']);
  });
});
