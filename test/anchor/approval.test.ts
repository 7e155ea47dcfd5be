import { expect } from 'chai';
import { user } from '../support/http.js';
import type { Http } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const withApproval = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_set: ['admin', 'coordinator'],
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};
const types = (list: { event_type: string }[]) => list.map((h) => h.event_type);

describe('overrides that need an approval', function () {
  let stage: Stage;
  let study: AnchorStudy;
  let [asker, approver, second] = [] as unknown as [Http, Http, Http];
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(withApproval);
    [asker, approver, second] = await Promise.all([
      study.as('coordinator'),
      study.as('researcher'),
      study.as('researcher', 'second'),
    ]);
  });
  after(() => stage.close());

  const asked = async (date = '2024-03-17', by = asker): Promise<{ person: Person; request: string }> => {
    const person = await study.person();
    await person.set(DAY);
    const { status, body } = await person.override(date, by);
    expect(status).to.equal(202);
    return { person, request: body.override_request_id };
  };
  const refusals = async (person: Person) =>
    (await study.audit('override_decision_refused')).filter((r) => r.resource_id === person.id);

  it('a request is 202 pending_approval with its impact: OVERRIDE_REQUESTED in the history, the anchor untouched', async () => {
    const person = await study.person();
    await person.set(DAY);
    const { status, body } = await person.override('2024-03-17', asker);
    expect(status).to.equal(202);
    expect(body).to.include({ status: 'pending_approval' });
    expect(body.impact).to.include({
      new_schedule_version: 2,
      pending_visits_to_reschedule: 2,
      completed_visits_to_reconcile: 0,
    });
    expect(await person.anchor()).to.include({
      enrollment_date: DAY,
      version: 2,
      status: 'finalized',
      is_override: false,
    });
    const [entry] = await person.history();
    expect(entry).to.include({
      event_type: 'OVERRIDE_REQUESTED',
      status_before: 'finalized',
      status_after: 'finalized',
      enrollment_date_value: DAY,
      actor_user_id: asker.userId,
      reason: 'the form was misread',
      anchor_version: 2,
    });
    expect(await person.versions()).to.have.length(1);
  });

  it('with regenerate_schedule false the answer warns already, with what the date itself deserves beside it', async () => {
    const careful = await stage.study({ ...withApproval, re_anchoring: { max_shift_days: 3 } });
    const person = await careful.person();
    await person.set(DAY);
    const { status, body } = await person.override('2024-03-17', await careful.as('coordinator'), {
      regenerate_schedule: false,
    });
    expect([status, body.warnings.map((w) => w.code)]).to.deep.equal([
      202,
      ['LARGE_SHIFT', 'SCHEDULE_NOT_REGENERATED'],
    ]);
    const granted = await person.decide(body.override_request_id, 'approve', await careful.as('researcher'));
    expect(
      (granted.body.warnings as { code: string }[]).map((w) => w.code),
      'as its approval does',
    ).to.deep.equal(['LARGE_SHIFT', 'SCHEDULE_NOT_REGENERATED']);
    expect((await person.versions()).map((v) => v.anchor_date_used)).to.deep.equal([DAY]);
  });

  it('an approver of another site is not told of it, as they may not decide it', async () => {
    const sites = await stage.study({
      ...withApproval,
      permissions: { ...withApproval.permissions, override_approver_roles: ['investigator'] },
    });
    const site = (site_code: string) =>
      stage.admin.expect<{ id: string }>(201, 'POST', `/api/studies/${sites.id}/sites`, { site_code, name: site_code });
    const [here, there] = await Promise.all([site('HERE'), site('THERE')]);
    const approverAt = (site_ids: string[]) => user(stage.admin, 'investigator', { study_ids: [sites.id], site_ids });
    const [own, other, everywhere] = await Promise.all([approverAt([here.id]), approverAt([there.id]), approverAt([])]);
    const person = await sites.person({ site_code: 'HERE' });
    await person.set(DAY);
    expect((await person.override('2024-03-17', await sites.as('coordinator'))).status).to.equal(202);
    const told = await stage.sql<{ user_id: string }>(
      `select user_id from notifications where study_id = ? and kind = 'override_pending'`,
      [sites.id],
    );
    expect(told.map((n) => n.user_id))
      .to.have.members([own.userId, everywhere.userId])
      .and.not.include(other.userId);
  });

  it('who approves by a later policy is told of what waits, once', async () => {
    const own = await stage.study(withApproval);
    const [former, next, coordinator] = await Promise.all([
      own.as('researcher'),
      own.as('investigator'),
      own.as('coordinator'),
    ]);
    const person = await own.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17', coordinator);
    const told = async () =>
      (
        await stage.sql<{ user_id: string }>(
          `select user_id from notifications where subject_id = ? and kind = 'override_pending' order by created_at, id`,
          [body.override_request_id],
        )
      ).map((notice) => notice.user_id);
    expect(await told()).to.deep.equal([former.userId]);
    const approvedBy = (roles: string[]) =>
      own.policy({
        ...withApproval,
        permissions: { ...withApproval.permissions, override_approver_roles: roles },
      });
    await approvedBy(['investigator']);
    await until(async () => expect(await told()).to.deep.equal([former.userId, next.userId]));
    await approvedBy(['researcher', 'investigator']);
    await own.settled();
    await person.settled();
    expect(await told()).to.deep.equal([former.userId, next.userId]);
    expect((await person.decide(body.override_request_id, 'approve', next)).status).to.equal(200);
  });

  it('it stands in the approver’s inbox and in the participant’s list', async () => {
    const { person, request } = await asked();
    const { items } = await approver.expect<{ items: Record<string, unknown>[] }>(
      200,
      'GET',
      `/api/studies/${study.id}/approvals?status=pending&limit=500`,
    );
    const entry = items.find((r) => r.override_request_id === request)!;
    expect(entry).to.include({
      study_id: study.id,
      participant_id: person.id,
      enrollment_date: DAY,
      new_enrollment_date: '2024-03-17',
      reason: 'the form was misread',
      requested_by_id: asker.userId,
    });
    expect(entry.participant_code).to.be.a('string');
    expect(Date.parse(entry.expires_at as string) - Date.parse(entry.requested_at as string)).to.be.closeTo(
      168 * 3_600_000,
      2000,
    );
    const own = await stage.admin.expect(200, 'GET', `${person.path}/anchor-date/override-requests`);
    expect([own.items.map((r) => r.id), own.total]).to.deep.equal([[request], 1]);
  });

  it('a second request while one is pending is 409, and so is an override_back', async () => {
    const { person } = await asked();
    const again = await person.override('2024-03-18', asker);
    expect([again.status, again.body.code]).to.deep.equal([409, 'OVERRIDE_PENDING']);
    expect((await person.post('/override-back', { reason: 'x' })).status).to.equal(409);
  });

  it('approved: OVERRIDE_GRANTED with the requester’s reason and the delta, the approver on the anchor, schedule regenerated', async () => {
    const { person, request } = await asked();
    const { status, body } = await person.decide(request, 'approve', approver);
    expect(status).to.equal(200);
    expect(body).to.include({ status: 'applied', override_request_id: request });
    expect(await person.anchor()).to.include({
      enrollment_date: '2024-03-17',
      version: 3,
      is_override: true,
      override_reason: 'the form was misread',
      source_type: 'override',
    });
    const history = await person.history();
    expect(types(history)).to.deep.equal(['OVERRIDE_GRANTED', 'OVERRIDE_REQUESTED', 'SET']);
    expect(history[0]).to.include({
      reason: 'the form was misread',
      change_delta_days: 7,
      actor_user_id: approver.userId,
    });
    const [row] = await stage.sql(
      'select override_actor_id, override_approved, override_approved_by_id from anchor_dates where participant_id = ?',
      [person.id],
    );
    expect(row).to.deep.equal({
      override_actor_id: asker.userId,
      override_approved: true,
      override_approved_by_id: approver.userId,
    });
    const {
      items: [decided],
    } = await stage.admin.expect(200, 'GET', `${person.path}/anchor-date/override-requests`);
    expect(decided).to.include({ status: 'approved', decided_by_id: approver.userId, decision_reason: 'looked at it' });
    expect((await person.versions()).map((v) => [v.version_number, v.is_current])).to.deep.equal([
      [1, false],
      [2, true],
    ]);
  });

  it('denied: OVERRIDE_DENIED with the denial’s reason, nothing else moves; another request may follow', async () => {
    const { person, request } = await asked();
    const { status, body } = await person.decide(request, 'deny', approver, { reason: 'the form says otherwise' });
    expect([status, body.status]).to.deep.equal([200, 'denied']);
    expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
    expect((await person.history())[0]).to.include({
      event_type: 'OVERRIDE_DENIED',
      reason: 'the form says otherwise',
      actor_user_id: approver.userId,
    });
    expect((await person.override('2024-03-18', asker)).status).to.equal(202);
  });

  it('a denial without a reason is 400 REASON_REQUIRED and decides nothing', async () => {
    const { person, request } = await asked();
    const refused = await person.decide(request, 'deny', approver, {});
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'REASON_REQUIRED']);
    expect(refused.body.errors.map(({ path, code }) => [path, code])).to.deep.equal([['reason', 'REASON_REQUIRED']]);
    expect((await person.decide(request, 'approve', approver)).status).to.equal(200);
  });

  it('self-approval is 403 SELF_APPROVAL, whether the role might decide or not, and is in the audit log with user and request', async () => {
    for (const by of [asker, approver]) {
      const { person, request } = await asked('2024-03-17', by);
      const refused = await person.decide(request, 'approve', by);
      expect([refused.status, refused.body.code]).to.deep.equal([403, 'SELF_APPROVAL']);
      expect((await person.decide(request, 'deny', by)).body.code).to.equal('SELF_APPROVAL');
      expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
      const [record] = await refusals(person);
      expect(record).to.deep.include({ user_id: by.userId, request_id: refused.body.request_id });
      expect(record!.audit_metadata).to.deep.include({ code: 'SELF_APPROVAL', override_request_id: request });
    }
  });

  it('four eyes hold in the database too', async () => {
    const { request } = await asked();
    const fault = await stage
      .sql(
        `update override_requests set status = 'approved', decided_by_id = requested_by_id, decided_at = now() where id = ?`,
        [request],
      )
      .then(
        () => null,
        (e: { code: string }) => e.code,
      );
    expect(fault).to.equal('23514');
  });

  it('a role that is no approver is 403, an approver of another study 404; both change nothing', async () => {
    const { person, request } = await asked();
    const manager = await study.as('data_manager');
    expect((await person.decide(request, 'approve', manager)).status).to.equal(403);
    const elsewhere = await (await stage.study(withApproval)).as('researcher');
    expect((await person.decide(request, 'approve', elsewhere)).status).to.equal(404);
    expect((await person.history())[0]!.event_type).to.equal('OVERRIDE_REQUESTED');
    expect((await refusals(person)).map((r) => r.user_id)).to.deep.equal([manager.userId, elsewhere.userId]);
  });

  it('an approver who was deactivated since is refused', async () => {
    const { person, request } = await asked();
    const leaver = await study.as('researcher', 'leaver');
    await stage.admin.expect(200, 'PATCH', `/api/users/${leaver.userId}`, { status: 'inactive' });
    expect((await person.decide(request, 'approve', leaver)).status).to.equal(401);
    expect(await person.anchor()).to.include({ enrollment_date: DAY });
  });

  it('where override_approver_roles is empty, can_override decides who approves', async () => {
    const open = await stage.study({
      ...withApproval,
      permissions: { can_override: ['coordinator'], override_requires_approval: true, override_approver_roles: [] },
    });
    const person = await open.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17', await open.as('coordinator'));
    expect((await person.decide(body.override_request_id, 'approve', await open.as('researcher'))).status).to.equal(
      403,
    );
    expect(
      (await person.decide(body.override_request_id, 'approve', await open.as('coordinator', 'second'))).status,
    ).to.equal(200);
  });

  it('a decision on what is decided is 409, and an audit record; of two at once one counts', async () => {
    const { person, request } = await asked();
    const both = await Promise.all([
      person.decide(request, 'approve', approver),
      person.decide(request, 'deny', second),
    ]);
    expect(both.map((a) => a.status).sort()).to.deep.equal([200, 409]);
    const late = await person.decide(request, 'approve', second);
    expect([late.status, late.body.code]).to.deep.equal([409, 'NOT_PENDING']);
    expect((await refusals(person)).map((r) => r.audit_metadata.code)).to.deep.equal(['NOT_PENDING', 'NOT_PENDING']);
    expect(types(await person.history()).filter((t) => t !== 'SET' && t !== 'OVERRIDE_REQUESTED')).to.have.length(1);
  });

  it('an unknown request, or one of another participant, is 404', async () => {
    const [one, other] = [await asked(), await asked()];
    expect((await one.person.decide(other.request, 'approve', approver)).status).to.equal(404);
    expect((await other.person.anchor()).version).to.equal(2);
  });

  it('a withdrawal ends a pending request: denied with reason withdrawn; a decision after it is 409', async () => {
    const { person, request } = await asked();
    await person.withdraw();
    const decided = await until(
      async () => {
        const {
          items: [found],
        } = await stage.admin.expect(200, 'GET', `${person.path}/anchor-date/override-requests`);
        return found!.status === 'pending' ? undefined : found;
      },
      { what: 'the request to end' },
    );
    expect(decided).to.include({ status: 'denied', decision_reason: 'withdrawn', decided_by_id: null });
    const [record] = (await study.audit('anchor_override_denied')).filter((r) => r.resource_id === person.id);
    expect(record!.audit_metadata).to.include({ override_request_id: request, ended_by: 'withdrawn' });
    const late = await person.decide(request, 'approve', approver);
    expect(late.status).to.equal(409);
    expect(await person.anchor()).to.include({ enrollment_date: DAY });
  });

  it('a preview shows visit by visit what would happen; its hash is taken while nothing changed, then 409 PREVIEW_STALE with the new preview', async () => {
    const person = await study.person();
    await person.set(DAY);
    const [first] = await person.standing();
    const body = { new_enrollment_date: '2024-03-17', reason: 'x' };
    const preview = (
      await person.post<{
        preview_hash: string;
        visits: { visit_key: string; action: string; from: string; to: string }[];
      }>('/override/preview', body)
    ).body;
    expect(preview.visits.map((v) => [v.action, v.from, v.to])).to.deep.equal([
      ['move', '2024-03-10', '2024-03-17'],
      ['move', '2024-04-09', '2024-04-16'],
    ]);
    expect(await person.history(), 'a preview changes nothing').to.have.length(1);
    await person.complete(first!.id);
    const stale = await person.override('2024-03-17', asker, { preview_hash: preview.preview_hash });
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'PREVIEW_STALE']);
    const fresh = stale.body.preview as typeof preview;
    expect(fresh.visits.map((v) => v.action)).to.deep.equal(['keep', 'move']);
    const taken = await person.override('2024-03-17', asker, { preview_hash: fresh.preview_hash });
    expect(taken.status).to.equal(202);
    const approved = await person.decide(taken.body.override_request_id, 'approve', approver, {
      reason: 'ok',
      preview_hash: fresh.preview_hash,
    });
    expect(approved.status).to.equal(200);
  });

  it('an approval of a preview that has become stale is 409 and leaves the request pending', async () => {
    const { person, request } = await asked();
    const preview = (
      await person.post<{ preview_hash: string }>('/override/preview', {
        new_enrollment_date: '2024-03-17',
        reason: 'x',
      })
    ).body;
    await person.complete((await person.standing())[0]!.id);
    const stale = await person.decide(request, 'approve', approver, { preview_hash: preview.preview_hash });
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'PREVIEW_STALE']);
    expect((await person.decide(request, 'approve', approver)).status).to.equal(200);
  });

  it('the chain of audit records verifies after all of this', async () => {
    expect(await study.chainVerifies()).to.equal(true);
  });
});
