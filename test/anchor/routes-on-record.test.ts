import { expect } from 'chai';
import { overrideDecision, requestOverride, setEnrollmentDate } from '../../workflows/contract.js';
import { Visitor, hiddenIn } from '../console/stage.js';
import { user } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, AuditView, Person } from './stage.js';

const LATER = '2024-03-12';

describe('the audit says by which route a decision on an anchor came, and whether its sender is proved', () => {
  let stage: Stage;
  let study: AnchorStudy;
  let approver: Awaited<ReturnType<typeof user>>;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      permissions: {
        can_set: ['admin', 'researcher'],
        can_override: ['admin'],
        override_requires_approval: true,
        override_approver_roles: ['researcher'],
      },
    });
    approver = await user(stage.admin, 'researcher', { study_ids: [study.id] });
  });
  after(() => stage.close());

  const recordsOf = async ({ id }: Person, action: string): Promise<AuditView[]> =>
    (await study.audit(action)).filter(({ resource_id }) => resource_id === id);
  const routes = (records: readonly AuditView[]) =>
    records.map(({ audit_metadata: { code, via, identity } }) => [code, via, identity]);
  const refusals = (person: Person, count: number) =>
    until(
      async () => {
        const records = await recordsOf(person, 'override_decision_refused');
        return records.length >= count ? routes(records) : undefined;
      },
      { what: `${count} refusals on record` },
    );
  async function asked(): Promise<{ person: Person; request: string }> {
    const person = await study.person();
    expect((await person.set(DAY)).status).to.equal(200);
    return { person, request: (await person.override(LATER)).body.override_request_id };
  }

  it('a refused signal: without a sender, with an authorization that the API did not sign, or that is for another', async () => {
    const { person, request } = await asked();
    const decision = { request_id: request, decision: 'approve' as const, reason: 'checked' };
    const { authorization } = await approver.expect<{ authorization: string }>(
      200,
      'POST',
      `/api/studies/${study.id}/approvals/${request}/authorization`,
      { decision: 'approve', reason: 'checked' },
    );
    const by = { ...decision, approver_user_id: approver.userId! };
    for (const [index, message] of [
      { ...decision, approver_user_id: null },
      { ...by, authorization: 'no token' },
      { ...by, reason: 'another', authorization },
    ].entries()) {
      await stage.handle(person.id).signal(overrideDecision, message as never);
      await refusals(person, index + 1);
    }
    expect(await refusals(person, 3)).to.deep.equal([
      ['INVALID_MESSAGE', 'signal', undefined],
      ['AUTHORIZATION_INVALID', 'signal', 'claimed'],
      ['AUTHORIZATION_MISMATCH', 'signal', 'claimed'],
    ]);
  });

  it('a refused update: without a sender, or with fields that are none', async () => {
    const person = await study.person();
    expect((await person.set(DAY)).status).to.equal(200);
    const update = stage.handle(person.id);
    await update.executeUpdate(setEnrollmentDate, { args: [{ enrollment_date: LATER }] });
    await update.executeUpdate(requestOverride, {
      args: [{ new_enrollment_date: LATER, reason: 7 as never, actor_user_id: stage.admin.userId! }],
    });
    expect(routes(await recordsOf(person, 'anchor_set_refused'))).to.deep.equal([
      ['INVALID_MESSAGE', 'update', undefined],
    ]);
    expect(routes(await recordsOf(person, 'anchor_override_refused'))).to.deep.equal([
      ['INVALID_MESSAGE', 'update', 'claimed'],
    ]);
  });

  it('a decision that the API refuses before it asks the workflow', async () => {
    const { person, request } = await asked();
    const stranger = await (await stage.study()).as('researcher');
    expect((await person.decide(request, 'approve', stranger)).status).to.equal(404);
    const at = `/api/studies/${study.id}/approvals/${request}/authorization`;
    expect((await stage.admin.post(at, { decision: 'approve' })).status).to.equal(403);
    expect(await refusals(person, 2)).to.deep.equal([
      ['NOT_FOUND', 'rest', 'verified'],
      ['SELF_APPROVAL', 'rest', 'verified'],
    ]);
  });

  it('what is sent and decided in the console comes from a page', async () => {
    const visitor = await Visitor.of(stage.run.api, approver.email);
    const set = await study.person();
    const own = `/console/participants/${set.id}`;
    const saved = await visitor.post(`${own}?tab=date`, `${own}/date`, {
      action: 'set',
      date: DAY,
      reason: 'first visit',
    });
    expect(saved.status, saved.text.slice(0, 300)).to.equal(303);
    expect(routes(await recordsOf(set, 'anchor_set'))).to.deep.equal([[undefined, 'page', 'verified']]);

    const { person, request } = await asked();
    const path = `/console/approvals/${request}`;
    const page = await visitor.get(path);
    const sent = { decision: 'approve', reason: 'checked', preview_hash: hiddenIn(page.text, 'preview_hash') };
    expect((await visitor.post(path, path, sent)).status).to.equal(303);
    expect(routes(await recordsOf(person, 'anchor_override_granted'))).to.deep.equal([[undefined, 'page', 'verified']]);
    expect((await visitor.post(path, path, { ...sent, reason: 'again' })).status).to.equal(409);
    expect(await refusals(person, 1)).to.deep.equal([['NOT_PENDING', 'page', 'verified']]);
  });

  it('a change of the whole study comes from a workflow', async () => {
    const other = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false, require_randomization: true },
    });
    const person = await other.person();
    expect((await person.set(DAY)).body.status).to.equal('provisional');
    await other.policy({ sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } });
    await person.becomes({ status: 'finalized' });
    const [record] = await other.audit('anchor_finalized');
    expect(record!.audit_metadata).to.include({ via: 'workflow' });
    await other.window(60);
    await other.settled();
    const generated = await other.audit('schedule_generated');
    expect(generated.map(({ audit_metadata }) => audit_metadata.via)).to.deep.equal(['workflow']);
  });
});
