import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { overrideDecision } from '../../workflows/contract.js';
import { Visitor, hiddenIn } from '../console/stage.js';
import { Http, user } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';

/** Refused before the participant's workflow is asked: the study's audit chain tells of these as well. */
describe('a decision on an override that the door refuses is an audit record of the study', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('by somebody of another study (404), by somebody deactivated (401), of a study that is not there (404, no record)', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      permissions: {
        can_override: ['coordinator', 'admin'],
        override_requires_approval: true,
        override_approver_roles: ['researcher'],
      },
    });
    const other = await stage.study();
    const stranger = await other.as('researcher');
    const leaver = await study.as('researcher', 'leaver');
    const person = await study.person();
    await person.set(DAY);
    const {
      body: { override_request_id },
    } = await person.override('2024-03-12');
    await stage.admin.expect(200, 'PATCH', `/api/users/${leaver.userId}`, { status: 'inactive' });

    const strange = await person.decide(override_request_id, 'approve', stranger);
    const gone = await person.decide(override_request_id, 'deny', leaver);
    expect([strange.status, gone.status]).to.deep.equal([404, 401]);
    expect(
      (await study.audit('override_decision_refused')).map((r) => [
        r.user_id,
        r.request_id,
        r.audit_metadata.code,
        r.audit_metadata.override_request_id,
      ]),
    ).to.deep.equal([
      [stranger.userId, strange.body.request_id, 'NOT_FOUND', override_request_id],
      [leaver.userId, gone.body.request_id, 'INVALID_TOKEN', override_request_id],
    ]);
    expect((await person.anchor()).enrollment_date).to.equal(DAY);

    // Capitals name the same user: who asked cannot decide by them, and the refusal is on record.
    await stage.handle(person.id).signal(overrideDecision, {
      request_id: override_request_id,
      decision: 'approve',
      approver_user_id: stage.admin.userId!.toUpperCase(),
      reason: 'x',
    });
    const refused = await until(async () => (await study.audit('override_decision_refused'))[2], {
      what: 'the refusal on record',
    });
    expect([refused.user_id, refused.audit_metadata.code]).to.deep.equal([stage.admin.userId, 'SELF_APPROVAL']);

    const nowhere = randomUUID();
    const answer = await new Http(stage.run.api, stranger.token).post(
      `/api/studies/${nowhere}/participants/${person.id}/anchor-date/override-requests/${override_request_id}/approve`,
      {},
    );
    expect(answer.status).to.equal(404);
    expect(await stage.sql('select 1 from audit_chains where chain = ?', [nowhere])).to.deep.equal([]);
    expect(await study.chainVerifies()).to.equal(true);
  });

  it('for want of a proof of identity, by REST and in the console (401)', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      permissions: { override_requires_approval: true, override_approver_roles: ['researcher'] },
    });
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, {
      config: { signatures: { reauthenticate: true } },
    });
    const approver = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const person = await study.person();
    await person.set(DAY);
    const {
      body: { override_request_id: request },
    } = await person.override('2024-03-12');
    const decide = (decision: string, headers: Record<string, string> = {}) =>
      approver.post(
        `/api/studies/${study.id}/participants/${person.id}/anchor-date/override-requests/${request}/${decision}`,
        { reason: 'x' },
        { headers },
      );
    const without = await decide('approve');
    const wrong = await decide('deny', { 'X-Reauthentication': 'not the password' });
    expect([without.body.code, wrong.body.code]).to.deep.equal([
      'REAUTHENTICATION_REQUIRED',
      'REAUTHENTICATION_FAILED',
    ]);
    const path = `/console/approvals/${request}`;
    const visitor = await Visitor.of(stage.run.api, approver.email);
    const page = await visitor.get(path);
    const sent = { decision: 'approve', reason: 'x', preview_hash: hiddenIn(page.text, 'preview_hash') };
    expect((await visitor.post(path, path, sent)).status).to.equal(401);
    const records = await study.audit('override_decision_refused');
    expect(
      records.map((r) => [r.user_id, r.resource_id, r.audit_metadata.code, r.audit_metadata.override_request_id]),
    ).to.deep.equal(
      ['REAUTHENTICATION_REQUIRED', 'REAUTHENTICATION_FAILED', 'REAUTHENTICATION_REQUIRED'].map((code) => [
        approver.userId,
        person.id,
        code,
        request,
      ]),
    );
    expect(records.slice(0, 2).map((r) => r.request_id)).to.deep.equal([without, wrong].map((r) => r.body.request_id));
  });
});
