import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { expect } from 'chai';
import { SignJWT } from 'jose';
import { digestOf } from '../../db/anchor/message-authorization.js';
import {
  cancelProposal,
  decideOverride,
  evaluate,
  overrideBack,
  overrideDecision,
  requestOverride,
  setEnrollmentDate,
  withdrawn,
} from '../../workflows/contract.js';
import { unique, user } from '../support/http.js';
import type { Http } from '../support/http.js';
import { countingTurns } from '../support/loop-turns.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { enterPortalOf } from '../support/portal.js';
import { POLICY } from './authorizations-policy.js';
import { stepsAreShared } from './shared-steps.js';

const LATER = '2024-03-17';

/** The same as in production: the sender of a message proves who it is. The service has no console. */
describe('Messages that claim a person', function () {
  this.timeout(180_000);
  const counting = countingTurns();
  let service: Service;
  let stage: Stage;
  let study: AnchorStudy;
  let [asker, approver] = [] as unknown as [Http, Http];
  before(async function () {
    this.timeout(240_000);
    service = await startService({ UNSIGNED_MESSAGES: 'refuse', ENABLE_CONSOLE: 'false', ...counting.settings });
    stage = await Stage.open(service.run);
    study = await stage.study(POLICY);
    [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
  });
  after(async () => {
    await stage?.close();
    await service?.stop();
  });

  const asked = async (): Promise<{ person: Person; request: string }> => {
    const person = await study.person();
    expect((await person.set(DAY)).status).to.equal(200);
    const { body } = await person.override(LATER, asker);
    return { person, request: body.override_request_id };
  };
  interface Given {
    authorization: string;
    approver_user_id: string;
    expires_at: string;
  }
  const authorized = (request: string, decision: object, by = approver) =>
    by.expect<Given>(200, 'POST', `/api/studies/${study.id}/approvals/${request}/authorization`, decision);
  const approve = { decision: 'approve' as const, reason: 'checked' };
  const codes = async (person: Person, action: string) =>
    (await study.audit(action))
      .filter(({ resource_id }) => resource_id === person.id)
      .map(({ audit_metadata }) => audit_metadata.code);
  const refusedDecision = async (person: Person, code: string) =>
    until(async () => (await codes(person, 'override_decision_refused')).includes(code as never), {
      what: `the refusal ${code}`,
    });
  const pending = async (request: string) => {
    const [row] = await stage.sql<{ status: string }>('select status from override_requests where id = ?', [request]);
    expect(row!.status).to.equal('pending');
  };

  it('REST does what it did, and the audit says that the sender is verified', async () => {
    const { person, request } = await asked();
    expect(
      (await approver.post(`${person.path}/anchor-date/override-requests/${request}/approve`, { reason: 'yes' }))
        .status,
    ).to.equal(200);
    for (const action of ['manual_date_entered', 'anchor_override_requested', 'anchor_override_granted']) {
      const record = (await study.audit(action)).find(({ resource_id }) => resource_id === person.id)!;
      expect(record.audit_metadata, action).to.include({ via: 'rest', identity: 'verified' });
    }
    expect(await person.anchor()).to.include({ enrollment_date: LATER, is_override: true });
  });

  it('a participant sets its own date through the portal', async () => {
    const person = await study.person();
    const portal = await enterPortalOf(service.run, stage.admin, person.id);
    const answer = await portal.post(`${person.path}/anchor-date`, { enrollment_date: DAY });
    expect(answer.status, answer.text.slice(0, 300)).to.equal(200);
  });

  it('an approver’s signal with its authorization is carried out, once', async () => {
    const { person, request } = await asked();
    const { authorization, approver_user_id } = await authorized(request, approve);
    expect(approver_user_id).to.equal(approver.userId);
    const message = { request_id: request, ...approve, approver_user_id, authorization };
    await stage.handle(person.id).signal(overrideDecision, message);
    await until(async () => (await person.anchor()).enrollment_date === LATER, { what: 'the override' });
    const granted = (await study.audit('anchor_override_granted')).find(
      ({ resource_id }) => resource_id === person.id,
    )!;
    expect(granted.audit_metadata).to.include({ via: 'signal', identity: 'verified', approver_user_id });
    await stage.handle(person.id).signal(overrideDecision, message);
    await refusedDecision(person, 'AUTHORIZATION_USED');
  });

  it('an authorization that is refused is a record of the study, and none is kept under a key', async () => {
    const { person, request } = await asked();
    const at = `/api/studies/${study.id}/approvals/${request}/authorization`;
    const refused = await asker.post(at, approve);
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'SELF_APPROVAL']);
    const [record] = (await study.audit('override_decision_refused')).filter(
      ({ resource_id }) => resource_id === person.id,
    );
    expect(record).to.deep.include({ user_id: asker.userId });
    expect(record!.audit_metadata).to.include({ code: 'SELF_APPROVAL', override_request_id: request });
    const key = { headers: { 'Idempotency-Key': unique() } };
    const given = await approver.post<Given>(at, approve, key);
    expect(given.status).to.equal(200);
    const stored = await stage.sql('select 1 from idempotency_keys where body like ?', [
      `%${given.body.authorization}%`,
    ]);
    expect(stored).to.deep.equal([]);
  });

  it('the admin’s name alone approves nothing', async () => {
    const { person, request } = await asked();
    await stage.handle(person.id).signal(overrideDecision, {
      request_id: request,
      ...approve,
      approver_user_id: approver.userId!,
    });
    await refusedDecision(person, 'AUTHORIZATION_REQUIRED');
    await pending(request);
  });

  it('an authorization is for its participant, request, decision, reason, preview and person', async () => {
    const [one, other] = [await asked(), await asked()];
    const { authorization } = await authorized(one.request, approve);
    const own = { request_id: one.request, ...approve, approver_user_id: approver.userId!, authorization };
    const colleague = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const wrong: [Person, typeof own & { preview_hash?: string }][] = [
      [other.person, own],
      [other.person, { ...own, request_id: other.request }],
      [one.person, { ...own, reason: 'another' }],
      [one.person, { ...own, decision: 'deny' as never }],
      [one.person, { ...own, preview_hash: '0'.repeat(64) }],
      [one.person, { ...own, approver_user_id: colleague.userId! }],
      [one.person, { ...own, authorization: `${authorization.slice(0, -4)}AAAA` }],
      [one.person, { ...own, authorization: 'eyJhbGciOiJub25lIn0.e30.' }],
      [one.person, { ...own, authorization: 'nonsense' }],
    ];
    for (const [i, [person, message]] of wrong.entries()) {
      const fault = await stage
        .handle(person.id)
        .executeUpdate(decideOverride, { args: [message] })
        .then(
          (outcome) => outcome.refused,
          (failure: unknown) => {
            if (failure instanceof WorkflowUpdateFailedError) return { code: failure.message };
            throw failure;
          },
        );
      expect(fault?.code, `attempt ${i}`).to.match(/^AUTHORIZATION_(MISMATCH|INVALID)$/);
    }
    await pending(one.request);
    await pending(other.request);
    expect(await codes(one.person, 'override_decision_refused')).to.have.length(7);
    // It was refused with what it is not for, and is still good for what it is.
    const outcome = await stage.handle(one.person.id).executeUpdate(decideOverride, { args: [own] });
    expect(outcome.result).to.equal('applied');
  });

  it('an authorization that has run out, and one of a key that is gone, are refused', async () => {
    const { person, request } = await asked();
    const { authorization } = await authorized(request, approve);
    const own = { request_id: request, ...approve, approver_user_id: approver.userId!, authorization };
    const decide = async () =>
      (await stage.handle(person.id).executeUpdate(decideOverride, { args: [own] })).refused?.code;
    await stage.sql(`update message_keys set superseded_at = clock_timestamp() - interval '25 hours'`);
    expect(await decide()).to.equal('AUTHORIZATION_UNKNOWN_KEY');
    await stage.sql(`update message_keys set superseded_at = clock_timestamp() - interval '23 hours'`);
    expect(await decide()).to.equal(undefined);
    await stage.sql('update message_keys set superseded_at = null');
  });

  it('who has lost the right, is not active, or asked, decides nothing with an earlier authorization', async () => {
    const { request } = await asked();
    const path = `/api/studies/${study.id}/approvals/${request}/authorization`;
    expect((await asker.post(path, approve)).body).to.include({ code: 'SELF_APPROVAL' });
    const manager = await study.as('data_manager');
    expect((await manager.post(path, approve)).status).to.equal(403);
    expect((await approver.post(path, { decision: 'deny' })).body).to.include({ code: 'REASON_REQUIRED' });
    const leaves = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    const { person, request: second } = await asked();
    const { authorization } = await authorized(second, approve, leaves);
    await stage.sql(`update users set status = 'inactive' where id = ?`, [leaves.userId]);
    const outcome = await stage.handle(person.id).executeUpdate(decideOverride, {
      args: [{ request_id: second, ...approve, approver_user_id: leaves.userId!, authorization }],
    });
    expect(outcome.refused?.code).to.equal('FORBIDDEN');
    await pending(second);
  });

  it('who may not decide any more in role, study or site decides nothing, with an authorization of before', async () => {
    const ofInvestigators = await stage.study({
      ...POLICY,
      permissions: { ...POLICY.permissions, override_approver_roles: ['investigator'] },
    });
    const site = await stage.admin.expect<{ id: string }>(201, 'POST', `/api/studies/${ofInvestigators.id}/sites`, {
      site_code: unique('S'),
      name: 'nobody is of it',
    });
    const changes = [
      { role: 'researcher', of: study, change: { role: 'data_manager' } },
      { role: 'researcher', of: study, change: { study_ids: [ofInvestigators.id] } },
      { role: 'investigator', of: ofInvestigators, change: { site_ids: [site.id] } },
    ] as const;
    for (const { role, of, change } of changes) {
      const person = await of.person();
      expect((await person.set(DAY)).status).to.equal(200);
      const { body } = await person.override(LATER, await of.as('coordinator'));
      const request = body.override_request_id as string;
      const leaves = await user(stage.admin, role, { study_ids: [of.id] });
      const { authorization } = await leaves.expect<Given>(
        200,
        'POST',
        `/api/studies/${of.id}/approvals/${request}/authorization`,
        approve,
      );
      await stage.admin.expect(200, 'PATCH', `/api/users/${leaves.userId}`, change);
      const outcome = await stage.handle(person.id).executeUpdate(decideOverride, {
        args: [{ request_id: request, ...approve, approver_user_id: leaves.userId!, authorization }],
      });
      expect(outcome.refused?.code, JSON.stringify(change)).to.equal('FORBIDDEN');
      await pending(request);
    }
  });

  it('an authorization for another study, kind of message, sort of person or service, or without an end, is refused', async () => {
    const { person, request } = await asked();
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const kid = unique('key');
    await stage.sql('insert into message_keys (key_id, public_key) values (?, ?)', [
      kid,
      publicKey.export({ type: 'spki', format: 'pem' }),
    ]);
    const content = { request_id: request, ...approve };
    const stated = {
      participant_id: person.id,
      study_id: study.id,
      kind: 'decide_override',
      digest: digestOf(content),
      person: { user_id: approver.userId! },
      via: null,
    };
    const now = Math.floor(Date.now() / 1000);
    const signed = (
      changed: object,
      { audience = 'participant-anchor', ends = (now + 3600) as number | null } = {},
    ) => {
      const token = new SignJWT({ ...stated, ...changed })
        .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'authorization+jwt' })
        .setAudience(audience)
        .setJti(randomUUID());
      return (ends === null ? token : token.setExpirationTime(ends)).sign(privateKey);
    };
    const decide = async (authorization: string) => {
      const message = { ...content, approver_user_id: approver.userId!, authorization };
      return (await stage.handle(person.id).executeUpdate(decideOverride, { args: [message] })).refused?.code;
    };
    const other = await stage.study(POLICY);
    const refused: [string, Promise<string>][] = [
      ['MISMATCH', signed({ study_id: other.id })],
      ['MISMATCH', signed({ kind: 'evaluate' })],
      ['MISMATCH', signed({ person: { participant: true, caregiver_id: null } })],
      ['MISMATCH', signed({ digest: digestOf({ ...content, decision: 'deny' }) })],
      ['EXPIRED', signed({}, { ends: now - 86_400 })],
      ['INVALID', signed({}, { ends: null })],
      ['INVALID', signed({}, { audience: 'api' })],
    ];
    for (const [i, [code, token]] of refused.entries())
      expect(await decide(await token), `attempt ${i}`).to.equal(`AUTHORIZATION_${code}`);
    await pending(request);
    expect(await decide(await signed({})), 'the same key, and what is right').to.equal(undefined);
  });

  it('no message of any kind is carried out in a person’s name without one', async () => {
    const person = await study.person();
    const me = { actor_user_id: stage.admin.userId! };
    const before = await person.anchor();
    const handle = stage.handle(person.id);
    await until(() => handle.describe(), { what: 'the workflow to start' });
    const updates = [
      handle.executeUpdate(setEnrollmentDate, { args: [{ enrollment_date: DAY, ...me }] }),
      handle.executeUpdate(setEnrollmentDate, { args: [{ enrollment_date: DAY, actor_type: 'participant' }] }),
      handle.executeUpdate(requestOverride, { args: [{ new_enrollment_date: LATER, reason: 'x', ...me }] }),
      handle.executeUpdate(cancelProposal, { args: [me] }),
      handle.executeUpdate(overrideBack, { args: [{ reason: 'x', ...me }] }),
      handle.executeUpdate(evaluate, { args: [me] }),
    ];
    for (const outcome of await Promise.all(updates)) expect(outcome.refused?.code).to.equal('AUTHORIZATION_REQUIRED');
    await handle.signal(withdrawn, me);
    await until(async () => (await codes(person, 'anchor_withdrawn_refused')).length === 1);
    expect(await codes(person, 'anchor_set_refused')).to.deep.equal([
      'AUTHORIZATION_REQUIRED',
      'AUTHORIZATION_REQUIRED',
    ]);
    expect(await person.anchor()).to.deep.equal(before);
  });

  it('what the service does by itself goes on: a consent, a withdrawal, a changed policy', async () => {
    const consenting = await stage.study({ sources: [{ type: 'consent_workflow' }] });
    const person = await consenting.person();
    await stage.admin.expect(201, 'POST', `${person.path}/consents`, {
      status: 'signed',
      signed_at: `${DAY}T10:00:00Z`,
    });
    await until(async () => (await person.anchor()).enrollment_date === DAY, { what: 'the consent to count' });
    await stage.admin.expect(200, 'POST', `/api/participants/${person.id}/withdraw`, { reason: 'moved away' });
    await until(async () => (await stage.handle(person.id).describe()).status.name === 'COMPLETED', {
      what: 'the workflow to end',
    });
    const refused = await stage.sql(`select action from audit_log where study_id = ? and action like '%\\_refused'`, [
      consenting.id,
    ]);
    expect(refused).to.deep.equal([]);
  });
  it('a notice on an account leads to no page to log in at, where the console is off: there is none', async () => {
    expect((await fetch(`${service.run.api}/console/login`)).status).to.equal(404);
    const study_ids = [study.id];
    const owner = await user(stage.admin, 'researcher', { study_ids });
    await owner.expect(201, 'POST', '/api/v1/tokens', { name: 'export', scopes: ['studies:read'], study_ids });
    const mail = await until(
      async () => {
        const found = await fetch(`${service.run.mail_ui}/email?to.address=${encodeURIComponent(owner.email)}`);
        return ((await found.json()) as { text: string; html: string }[])[0];
      },
      { what: 'the notice' },
    );
    expect(mail.text).to.include('An access token was created').and.to.include('choose a new password');
    expect(`${mail.text} ${mail.html}`).not.to.match(/https?:|Log in|<a /);
  });

  describe('The rules of a policy on the same service', () =>
    stepsAreShared(() => ({ service, stage, turns: counting.folder })));
});
