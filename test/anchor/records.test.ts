import { expect } from 'chai';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, EventView, Person } from './stage.js';

const policy = {
  sources: [{ type: 'manual_entry' }],
  permissions: {
    can_set: ['admin', 'coordinator'],
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};

describe('what the anchor service leaves on record', function () {
  let stage: Stage;
  let study: AnchorStudy;
  let person: Person;
  let events: EventView[];
  const agent = { 'User-Agent': 'diary/1.0' };
  let ids: { coordinator: string; approver: string; consent: string };

  // One life: proposed, changed, finalized, an override denied, one granted.
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(policy);
    person = await study.person({ email: 'someone@example.org', phone: '+49 30 1234', date_of_birth: '1950-01-02' });
    const [coordinator, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
    await person.post('', { enrollment_date: DAY, reason: 'from the diary' }, coordinator, { headers: agent });
    await person.post('', { enrollment_date: '2024-03-12', reason: 'read again' }, coordinator, { headers: agent });
    const consent = await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized' });
    const first = await person.override('2024-03-20', coordinator);
    await person.decide(first.body.override_request_id, 'deny', approver, { reason: 'not shown' });
    const second = await person.override('2024-03-05', coordinator, { reason: 'shown now' });
    await person.decide(second.body.override_request_id, 'approve', approver, { reason: 'fine' });
    events = await person.events();
    ids = { coordinator: coordinator.userId!, approver: approver.userId!, consent: consent.id };
  });
  after(() => stage.close());

  const only = (type: string) => events.filter((e) => e.type === type);

  it('history is newest first, with every type, gap-free versions and deltas', async () => {
    const history = await person.history();
    expect(
      history.map((h) => [h.event_type, h.anchor_version, h.enrollment_date_value, h.change_delta_days]),
    ).to.deep.equal([
      ['OVERRIDE_GRANTED', 5, '2024-03-05', -7],
      ['OVERRIDE_REQUESTED', 4, '2024-03-12', null],
      ['OVERRIDE_DENIED', 4, '2024-03-12', null],
      ['OVERRIDE_REQUESTED', 4, '2024-03-12', null],
      ['FINALIZED', 4, '2024-03-12', 0],
      ['CHANGED', 3, '2024-03-12', 2],
      ['PROPOSED', 2, DAY, null],
    ]);
    const times = history.map((h) => h.created_at);
    expect([...times].sort().reverse()).to.deep.equal(times);
  });

  it('an entry keeps every stored field of the contract: who, from where, by what request', async () => {
    const [row] = await stage.sql<Record<string, unknown>>(
      `select * from anchor_date_history where participant_id = ? and event_type = 'CHANGED'`,
      [person.id],
    );
    expect(row).to.include({
      participant_id: person.id,
      study_id: study.id,
      event_type: 'CHANGED',
      enrollment_date_value: '2024-03-12',
      enrollment_datetime_value: null,
      precision: 'date',
      timezone: 'UTC',
      status_before: 'provisional',
      status_after: 'provisional',
      source_type: 'manual_entry',
      previous_enrollment_date: DAY,
      previous_source_type: 'manual_entry',
      actor_user_id: ids.coordinator,
      actor_type: 'user',
      reason: 'read again',
      user_agent: 'diary/1.0',
      schedule_version_created_id: null,
    });
    expect(row!.ip_address).to.match(/127\.0\.0\.1|::1/);
    expect(row!.request_id).to.match(/^[0-9a-f-]{36}$/);
    expect(row!.anchor_date_id).to.be.a('string');
  });

  it('history is insert-only by the database’s own force, also for its owner', async () => {
    for (const statement of [
      `update anchor_date_history set reason = 'x' where participant_id = ?`,
      `delete from anchor_date_history where participant_id = ?`,
    ]) {
      const fault = await stage.sql(statement, [person.id]).then(
        () => null,
        (e: Error) => e.message,
      );
      expect(fault, statement).to.be.a('string');
    }
    const truncated = await stage.sql('truncate anchor_date_history cascade').then(
      () => null,
      (e: Error) => e.message,
    );
    expect(truncated).to.be.a('string');
  });

  it('each entry keeps what was known: facts, trace, policy version; nothing that identifies a person', async () => {
    const rows = await stage.sql<{
      facts: Record<string, unknown>;
      trace: { sources: { type: string; outcome: string }[] };
      policy_version: number;
      approver_user_id: string | null;
      event_type: string;
    }>(
      'select d.*, h.event_type from anchor_decisions d join anchor_date_history h on h.id = d.history_id where d.participant_id = ? order by h.seq',
      [person.id],
    );
    expect(rows).to.have.length(7);
    expect(rows.every((r) => r.policy_version === 1)).to.equal(true);
    expect(rows[0]!.trace.sources).to.deep.equal([{ type: 'manual_entry', priority: 1, outcome: 'chosen', date: DAY }]);
    expect(rows.at(-1)!.approver_user_id).to.equal(ids.approver);
    const text = JSON.stringify(rows);
    for (const personal of ['someone@example.org', '+49 30 1234', '1950-01-02', 'email', 'phone', 'date_of_birth'])
      expect(text).not.to.contain(personal);
  });

  it('events come in the order in which things happened', () => {
    expect(events.map((e) => e.type.replace('ENROLLMENT_DATE_', ''))).to.deep.equal([
      'PROPOSED',
      'CHANGED',
      'FINALIZED',
      'OVERRIDE_REQUESTED',
      'OVERRIDE_DENIED',
      'OVERRIDE_REQUESTED',
      'OVERRIDE_GRANTED',
      'CHANGED',
    ]);
  });

  it('ENROLLMENT_DATE_PROPOSED and ENROLLMENT_DATE_SET carry source_type, source_ref, actor', async () => {
    const external = await (await stage.study(policy, { fields: { consent_mode: 'external' } })).person();
    await external.set(DAY);
    const set = (await external.events())[0]!;
    expect(set.type).to.equal('ENROLLMENT_DATE_SET');
    expect(set.data).to.deep.include({
      source_type: 'manual_entry',
      source_ref: { entered_by_user_id: stage.admin.userId },
      actor: { user_id: stage.admin.userId, type: 'user' },
    });
    expect(only('ENROLLMENT_DATE_PROPOSED')[0]!.data).to.deep.include({
      source_type: 'manual_entry',
      source_ref: { entered_by_user_id: ids.coordinator },
      actor: { user_id: ids.coordinator, type: 'user' },
    });
  });

  it('ENROLLMENT_DATE_CHANGED carries previous and new value, change_delta_days, reason: provisional, and after finalization', () => {
    const [early, late] = only('ENROLLMENT_DATE_CHANGED');
    expect(early!.data).to.include({
      previous_value: DAY,
      previous_enrollment_date: DAY,
      new_value: '2024-03-12',
      change_delta_days: 2,
      reason: 'read again',
    });
    expect(late!.data).to.include({
      previous_value: '2024-03-12',
      new_value: '2024-03-05',
      change_delta_days: -7,
      reason: 'shown now',
    });
  });

  it('ENROLLMENT_DATE_FINALIZED carries finalized_by', () => {
    expect(only('ENROLLMENT_DATE_FINALIZED')[0]!.data).to.deep.include({
      finalized_by: { user_id: stage.admin.userId, type: 'workflow' },
      finalized_by_id: stage.admin.userId,
    });
  });

  it('ENROLLMENT_DATE_OVERRIDE_REQUESTED carries actor and reason, _GRANTED approver and reason, _DENIED approver and denial reason', () => {
    expect(only('ENROLLMENT_DATE_OVERRIDE_REQUESTED')[0]!.data).to.deep.include({
      actor: { user_id: ids.coordinator, type: 'user' },
      reason: 'the form was misread',
    });
    expect(only('ENROLLMENT_DATE_OVERRIDE_GRANTED')[0]!.data).to.include({
      approver: ids.approver,
      reason: 'shown now',
    });
    expect(only('ENROLLMENT_DATE_OVERRIDE_DENIED')[0]!.data).to.include({
      approver: ids.approver,
      denial_reason: 'not shown',
      reason: 'not shown',
    });
  });

  it('an override that needs no approval was granted by who asked for it', async () => {
    const { permissions: _approval, ...free } = policy;
    const own = await (
      await stage.study(
        { ...free, permissions: { override_requires_approval: false } },
        { fields: { consent_mode: 'external' } },
      )
    ).person();
    await own.set(DAY);
    expect((await own.override('2024-03-17')).status).to.equal(200);
    const granted = (await own.events()).find((event) => event.type === 'ENROLLMENT_DATE_OVERRIDE_GRANTED');
    expect(granted!.data).to.include({ approver: stage.admin.userId, previous_enrollment_date: DAY });
  });

  it('an audit record of the study stands beside every entry, with the request that caused it, and the chain verifies', async () => {
    const rows = await stage.sql<{
      action: string;
      user_id: string;
      request_id: string;
      audit_metadata: { history_id: string };
    }>(
      `select action, user_id, request_id, audit_metadata from audit_log where study_id = ? and resource_id = ? and action like 'anchor\\_%' order by seq`,
      [study.id, person.id],
    );
    expect(rows.map((r) => r.action)).to.deep.equal([
      'anchor_proposed',
      'anchor_changed',
      'anchor_finalized',
      'anchor_override_requested',
      'anchor_override_denied',
      'anchor_override_requested',
      'anchor_override_granted',
    ]);
    const history = await person.history();
    expect(rows.map((r) => r.audit_metadata.history_id)).to.deep.equal(history.map((h) => h.id).reverse());
    expect(rows.map((r) => r.request_id)).to.deep.equal(history.map((h) => h.request_id).reverse());
    expect(await study.audit('manual_date_entered')).to.have.length(2);
    expect(await study.chainVerifies()).to.equal(true);
  });

  it('an audit record of an override says which request it is about, what was asked for, by whom, and who decided', async () => {
    const { items } = await stage.admin.expect(200, 'GET', `${person.path}/anchor-date/override-requests`);
    const [second, first] = items.map(({ id }) => id);
    const rows = await stage.sql<{ user_id: string; audit_metadata: Record<string, unknown> }>(
      `select user_id, audit_metadata from audit_log where study_id = ? and resource_id = ? and action like 'anchor\\_override%' order by seq`,
      [study.id, person.id],
    );
    const of = (name: string) => rows.map(({ audit_metadata }) => audit_metadata[name] ?? null);
    expect(of('override_request_id')).to.deep.equal([first, first, second, second]);
    expect(of('requested_value')).to.deep.equal(['2024-03-20', '2024-03-20', '2024-03-05', '2024-03-05']);
    expect(of('requested_by_id')).to.deep.equal([ids.coordinator, null, ids.coordinator, ids.coordinator]);
    expect(of('approver_user_id')).to.deep.equal([null, ids.approver, null, ids.approver]);
    expect(of('ended_by')).to.deep.equal([null, null, null, null]);
  });

  it('a date entered by hand is recorded before what it leads to, each time', async () => {
    const rows = await stage.sql<{ action: string }>(
      `select action from audit_log where study_id = ? and resource_id = ? and (action like 'anchor%' or action = 'manual_date_entered') order by seq`,
      [study.id, person.id],
    );
    expect(rows.slice(0, 4).map((r) => r.action)).to.deep.equal([
      'manual_date_entered',
      'anchor_proposed',
      'manual_date_entered',
      'anchor_changed',
    ]);
  });

  it('the version of the anchor has grown by each entry that changed value or status, and by nothing else', async () => {
    const moving = (await person.history()).filter(
      (h) => h.event_type !== 'OVERRIDE_REQUESTED' && h.event_type !== 'OVERRIDE_DENIED',
    );
    expect((await person.anchor()).version).to.equal(1 + moving.length);
  });

  for (const [handling, expected] of [
    ['preserve_original', { needs_review: false, reporting_target_date: null }],
    ['recalculate_reporting', { needs_review: false, reporting_target_date: '2024-03-17' }],
    ['flag_for_review', { needs_review: true, reporting_target_date: null }],
  ] as const) {
    it(`completed_visit_handling ${handling}: the completed visit stays, marked reconciled, ${JSON.stringify(expected)}`, async () => {
      const own = await stage.study(
        { ...policy, permissions: undefined, re_anchoring: { completed_visit_handling: handling } },
        { fields: { consent_mode: 'none' } },
      );
      const other = await own.person();
      await other.set(DAY);
      const [visit] = await other.standing();
      await other.complete(visit!.id);
      await other.override('2024-03-17');
      const after = (await other.visits()).find((v) => v.id === visit!.id)!;
      expect(after).to.include({ status: 'completed', target_date: DAY, anchor_reconciled: true, ...expected });
      expect(after.anchor_reconciled_at).to.be.a('string');
    });
  }
});
