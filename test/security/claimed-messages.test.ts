import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { evaluate, setEnrollmentDate } from '../../workflows/contract.js';
import { login, user } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from '../anchor/stage.js';
import { POLICY } from './authorizations-policy.js';

describe('Messages without authorization in development', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('name the row that holds their reason, and it is their own participant’s', async () => {
    const study = await stage.study(POLICY);
    const [person, other] = [await study.person(), await study.person()];
    await other.post('', { enrollment_date: DAY, reason: 'told on the phone' });
    const [kept] = await stage.sql<{ id: string }>('select id from message_details where participant_id = ?', [
      other.id,
    ]);
    const handle = stage.handle(person.id);
    await until(() => handle.describe(), { what: 'the workflow to start' });
    for (const details_id of [randomUUID(), kept!.id]) {
      const { refused } = await handle.executeUpdate(setEnrollmentDate, {
        args: [{ enrollment_date: DAY, actor_user_id: stage.admin.userId!, details_id }],
      });
      expect([refused?.status, refused?.code]).to.deep.equal([422, 'INVALID_MESSAGE']);
    }
    expect((await person.anchor()).status).to.equal('unset');
  });

  it('decide nothing for a user who may not: an evaluation names nobody of another study or role, nor a stranger', async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const person = await study.person();
    const handle = stage.handle(person.id);
    await until(() => handle.describe(), { what: 'the workflow to start' });
    const elsewhere = await user(stage.admin, 'coordinator');
    const reader = await user(stage.admin, 'data_manager', { study_ids: [study.id] });
    const own = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
    for (const actor_user_id of [elsewhere.userId!, reader.userId!, randomUUID()]) {
      const { refused } = await handle.executeUpdate(evaluate, { args: [{ actor_user_id }] });
      expect([refused?.status, refused?.code]).to.deep.equal([403, 'FORBIDDEN']);
    }
    for (const by of [{ actor_user_id: own.userId! }, {}])
      expect((await handle.executeUpdate(evaluate, { args: [by] })).result).to.equal('none');
  });

  it('are taken, and the audit says that the sender is claimed; a bad authorization is worse than none', async () => {
    const study = await stage.study(POLICY);
    const person = await study.person();
    const { http } = await login(stage.run.api, stage.run.admin_email, stage.run.admin_password ?? '');
    const me = { actor_user_id: http.userId! };
    const handle = stage.handle(person.id);
    await until(() => handle.describe(), { what: 'the workflow to start' });
    const refused = await handle.executeUpdate(setEnrollmentDate, {
      args: [{ enrollment_date: DAY, ...me, authorization: 'nonsense' }],
    });
    expect(refused.refused?.code).to.equal('AUTHORIZATION_INVALID');
    const taken = await handle.executeUpdate(setEnrollmentDate, { args: [{ enrollment_date: DAY, ...me }] });
    expect(taken.result).to.equal('set');
    const [record] = (await study.audit('manual_date_entered')).filter(({ resource_id }) => resource_id === person.id);
    expect(record!.audit_metadata).to.include({ via: 'update', identity: 'claimed' });
  });
});
