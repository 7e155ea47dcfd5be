import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { expect } from 'chai';
import {
  anchorState,
  cancelProposal,
  decideOverride,
  overrideBack,
  overrideDecision,
  participantAnchorId,
  requestOverride,
  setEnrollmentDate,
  sourcesChanged,
  withdrawn,
} from '../../workflows/contract.js';
import type { OverrideDecision } from '../../workflows/contract.js';
import type { Http } from '../support/http.js';
import { refusing } from '../support/refusing.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const run = promisify(execFile);
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

describe('the participant’s workflow, by a Temporal client that is not the API', function () {
  let stage: Stage;
  let study: AnchorStudy;
  let plain: AnchorStudy;
  let [asker, approver] = [] as unknown as [Http, Http];
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(withApproval);
    plain = await stage.study({ sources: [{ type: 'manual_entry' }] });
    [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
  });
  after(() => stage.close());

  const started = async (of: AnchorStudy): Promise<Person> => {
    const person = await of.person();
    await until(() => stage.handle(person.id).describe(), { what: 'the workflow to start' });
    return person;
  };
  const asked = async (): Promise<{ person: Person; request: string }> => {
    const person = await study.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17', asker);
    return { person, request: body.override_request_id };
  };
  const state = (person: Person) => stage.handle(person.id).query(anchorState);
  const me = () => ({ actor_user_id: stage.admin.userId });
  const refusals = async (person: Person) =>
    (await study.audit('override_decision_refused')).filter((r) => r.resource_id === person.id);
  const lives = async (person: Person) =>
    expect((await stage.handle(person.id).describe()).status.name).to.equal('RUNNING');

  it('update setEnrollmentDate does what the POST does, and answers the outcome', async () => {
    const person = await started(plain);
    const outcome = await stage
      .handle(person.id)
      .executeUpdate(setEnrollmentDate, { args: [{ enrollment_date: DAY, reason: 'by hand', ...me() }] });
    expect(outcome).to.include({ result: 'proposed' });
    expect(outcome.waiting).to.deep.include({
      status: 'provisional',
      enrollment_date: DAY,
      version: 2,
      waiting_for: ['consent'],
    });
    expect(await person.anchor()).to.include({ status: 'provisional', enrollment_date: DAY });
    expect((await person.history())[0]).to.include({ reason: 'by hand', actor_user_id: stage.admin.userId });
  });

  it('update cancelProposal takes it back', async () => {
    const person = await started(plain);
    await person.set(DAY);
    expect((await stage.handle(person.id).executeUpdate(cancelProposal, { args: [me()] })).result).to.equal(
      'cancelled',
    );
    expect(await person.anchor()).to.include({ status: 'unset' });
  });

  it('decideOverride names its sender as every message does; a message without a sender is INVALID_MESSAGE', async () => {
    for (const field of ['actor_user_id', 'approver_user_id']) {
      const { person, request } = await asked();
      const decision = { request_id: request, decision: 'approve' as const, reason: 'checked' };
      const send = (more: Partial<OverrideDecision>) =>
        stage.handle(person.id).executeUpdate(decideOverride, { args: [{ ...decision, ...more } as OverrideDecision] });
      const nobody = await send({});
      expect(nobody.refused).to.include({ status: 422, code: 'INVALID_MESSAGE' });
      expect(nobody.refused!.detail).to.include('actor_user_id');
      expect((await send({ [field]: approver.userId })).result, field).to.equal('applied');
      expect(await person.anchor()).to.include({ enrollment_date: '2024-03-17' });
    }
  });

  it('updates requestOverride and overrideBack', async () => {
    const { person } = await asked();
    const pending = await stage
      .handle(person.id)
      .executeUpdate(requestOverride, { args: [{ new_enrollment_date: '2024-03-19', reason: 'x', ...me() }] });
    expect(pending.refused).to.include({ status: 409, code: 'OVERRIDE_PENDING' });
    const other = await started(study);
    await other.set(DAY);
    const outcome = await stage
      .handle(other.id)
      .executeUpdate(requestOverride, { args: [{ new_enrollment_date: '2024-03-17', reason: 'x', ...me() }] });
    expect(outcome.result).to.equal('pending_approval');
    const third = await started(study);
    await third.set(DAY);
    expect(
      (await stage.handle(third.id).executeUpdate(overrideBack, { args: [{ reason: 'x', ...me() }] })).result,
    ).to.equal('reverted');
    expect(await third.anchor()).to.include({ status: 'provisional' });
  });

  it('the rights are checked against the database, no matter who sends an update: nobody, a stranger, no uuid', async () => {
    const person = await started(plain);
    const stranger = await study.as('coordinator');
    for (const [actor_user_id, status] of [
      [undefined, 422],
      [stranger.userId, 403],
      ['somebody', 422],
    ] as const) {
      const { refused } = await stage.handle(person.id).executeUpdate(setEnrollmentDate, {
        args: [{ enrollment_date: DAY, ...(actor_user_id && { actor_user_id }) }],
      });
      expect(refused, String(actor_user_id)).to.include({ status });
    }
    expect(await person.anchor()).to.include({ status: 'unset', version: 1 });
    expect(
      (await plain.audit('anchor_set_refused')).filter((r) => r.resource_id === person.id).map((r) => r.user_id),
    ).to.deep.equal([null, stranger.userId, null]);
  });

  it('an update with wrong fields is refused, not a failed workflow', async () => {
    const person = await started(plain);
    for (const message of [
      { enrollment_date: 20240310 },
      { enrollment_date: '2024-02-30' },
      {},
      'not an object',
      null,
      [DAY],
      { enrollment_date: DAY, reason: { a: 1 } },
      { enrollment_date: DAY, expected_version: 'one' },
      { enrollment_date: DAY, actor_type: 'wizard' },
    ]) {
      const args = [
        typeof message === 'object' && message !== null && !Array.isArray(message) ? { ...me(), ...message } : message,
      ] as never;
      const { refused } = await stage.handle(person.id).executeUpdate(setEnrollmentDate, { args });
      expect(refused?.status, JSON.stringify(message)).to.be.oneOf([403, 422]);
    }
    expect(await person.anchor()).to.include({ version: 1 });
    await lives(person);
    const long = {
      enrollment_date: DAY,
      request_id: 'x'.repeat(300),
      user_agent: 'y'.repeat(3000),
      ip_address: 'z'.repeat(300),
      ...me(),
    };
    expect(
      (await stage.handle(person.id).executeUpdate(setEnrollmentDate, { args: [long] })).result,
      'what is too long for its column is cut',
    ).to.equal('proposed');
    expect((await person.history())[0]!.request_id).to.equal('x'.repeat(36));
  });

  it('signal sourcesChanged makes the sources be looked at; one with a wrong sender is refused and in the audit log', async () => {
    const person = await started(plain);
    await person.set(DAY);
    await stage.sql(
      `insert into consents (study_id, participant_id, status, signed_at) values (?, ?, 'signed', '2024-03-01T09:00:00Z')`,
      [plain.id, person.id],
    );
    await stage.handle(person.id).signal(sourcesChanged, { actor_user_id: 'nobody' });
    const record = await until(async () =>
      (await plain.audit('anchor_sources_changed_refused')).find((r) => r.resource_id === person.id),
    );
    expect(record.audit_metadata).to.include({ code: 'INVALID_MESSAGE' });
    await stage.handle(person.id).signal(sourcesChanged, 17 as never);
    await person.becomes({ status: 'finalized' });
    await lives(person);
  });

  it('signal withdrawn ends the workflow when the participant has withdrawn, and does nothing when not', async () => {
    const person = await started(plain);
    await person.set(DAY);
    await stage.handle(person.id).signal(withdrawn, {});
    await person.settled();
    await lives(person);
    await stage.sql(
      `update participants set status = 'withdrawn', withdrawn_at = now(), withdrawal_reason = 'moved' where id = ?`,
      [person.id],
    );
    await stage.handle(person.id).signal(withdrawn, {});
    await until(async () => (await stage.handle(person.id).describe()).status.name === 'COMPLETED', {
      what: 'the workflow to end',
    });
    expect(await person.anchor()).to.include({ status: 'provisional' });
  });

  it('query anchorState and the Web UI say what is waited for, since when, and the last decision in words', async () => {
    const { person, request } = await asked();
    const now = await state(person);
    expect(now).to.deep.include({
      status: 'finalized',
      version: 2,
      enrollment_date: DAY,
      waiting_for: ['approval'],
      closed: false,
    });
    expect(now!.last_decision).to.contain('override');
    expect(now!.pending_override!.request_id).to.equal(request);
    const waiting = await started(plain);
    await waiting.set(DAY);
    expect((await state(waiting))!.waiting_for).to.deep.equal(['consent']);
    const { searchAttributes } = await until(async () => {
      const described = await stage.handle(waiting.id).describe();
      return described.searchAttributes.AnchorStatus ? described : undefined;
    });
    expect(searchAttributes).to.deep.include({ AnchorStatus: ['provisional'], StudyId: [plain.id] });
  });

  it('a message that changes nothing leaves the last decision as it was, and stands on a line of its own', async () => {
    const { person, request } = await asked();
    const decide = (by: Http) =>
      stage.handle(person.id).executeUpdate(decideOverride, {
        args: [{ request_id: request, decision: 'approve', actor_user_id: by.userId, reason: 'x' } as OverrideDecision],
      });
    await decide(approver);
    const applied = await state(person);
    expect(applied).to.include({ last_decision: 'override decided: applied', last_message: null });
    await decide(asker);
    expect(await state(person)).to.include({
      last_decision: 'override decided: applied',
      last_message: 'override decided: refused, SELF_APPROVAL',
    });
    const details = (await stage.handle(person.id).query<{ currentDetails: string }>('__temporal_workflow_metadata'))
      .currentDetails;
    expect(details).to.contain('last decision: override decided: applied\n');
    expect(details).to.contain('last message, which changed nothing: override decided: refused, SELF_APPROVAL');
    // A run that starts again knows it from the record.
    await stage.handle(person.id).terminate('to be started again');
    await person.set('2024-03-20');
    expect((await state(person))!.last_decision).to.match(/^OVERRIDE_GRANTED 2024-03-17 at 20/);
  });

  it('signal overrideDecision by an approver: applied as by REST', async () => {
    const { person, request } = await asked();
    await stage.handle(person.id).signal(overrideDecision, {
      request_id: request,
      decision: 'approve',
      approver_user_id: approver.userId!,
      reason: 'looked',
    });
    await person.becomes({ enrollment_date: '2024-03-17', is_override: true, version: 3 });
    expect((await person.versions()).filter((v) => v.is_current).map((v) => v.version_number)).to.deep.equal([2]);
  });

  it('signal overrideDecision that denies', async () => {
    const { person, request } = await asked();
    await stage.handle(person.id).signal(overrideDecision, {
      request_id: request,
      decision: 'deny',
      approver_user_id: approver.userId!,
      reason: 'no',
    });
    await until(async () => (await person.history())[0]!.event_type === 'OVERRIDE_DENIED');
    expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
  });

  describe('a decision by signal that is not one: nothing changes, the workflow lives on, the audit log has it', () => {
    const rows: [
      name: string,
      code: string,
      message: (at: { request: string; other: string }) => Promise<unknown>,
      user: () => Promise<string | null>,
    ][] = [
      [
        'by the requester',
        'SELF_APPROVAL',
        async (at) => ({ request_id: at.request, decision: 'approve', approver_user_id: asker.userId }),
        async () => asker.userId!,
      ],
      [
        'by a role without the right',
        'FORBIDDEN',
        async (at) => ({
          request_id: at.request,
          decision: 'approve',
          approver_user_id: (await study.as('data_manager')).userId,
        }),
        async () => (await study.as('data_manager')).userId!,
      ],
      [
        'by an approver of another study',
        'FORBIDDEN',
        async (at) => ({
          request_id: at.request,
          decision: 'approve',
          approver_user_id: (await plain.as('researcher')).userId,
        }),
        async () => (await plain.as('researcher')).userId!,
      ],
      [
        'by a user that is none',
        'FORBIDDEN',
        async (at) => ({
          request_id: at.request,
          decision: 'approve',
          approver_user_id: '00000000-0000-4000-8000-000000000000',
        }),
        async () => '00000000-0000-4000-8000-000000000000',
      ],
      [
        'by nobody',
        'INVALID_MESSAGE',
        async (at) => ({ request_id: at.request, decision: 'approve' }),
        async () => null,
      ],
      [
        'for another participant’s request',
        'OVERRIDE_REQUEST_NOT_FOUND',
        async (at) => ({ request_id: at.other, decision: 'approve', approver_user_id: approver.userId }),
        async () => approver.userId!,
      ],
      [
        'for no request',
        'OVERRIDE_REQUEST_NOT_FOUND',
        async () => ({ request_id: 'x', decision: 'approve', approver_user_id: approver.userId }),
        async () => approver.userId!,
      ],
      [
        'that is neither approve nor deny',
        'INVALID_DECISION',
        async (at) => ({ request_id: at.request, decision: 'maybe', approver_user_id: approver.userId }),
        async () => approver.userId!,
      ],
      [
        'a denial without a reason',
        'REASON_REQUIRED',
        async (at) => ({ request_id: at.request, decision: 'deny', approver_user_id: approver.userId }),
        async () => approver.userId!,
      ],
      [
        'with fields of wrong types',
        'INVALID_MESSAGE',
        async (at) => ({ request_id: at.request, decision: 1, approver_user_id: approver.userId, reason: { a: 1 } }),
        async () => approver.userId!,
      ],
      [
        'with a request id of a wrong type',
        'INVALID_MESSAGE',
        async () => ({ request_id: 7, decision: 'approve', approver_user_id: approver.userId }),
        async () => approver.userId!,
      ],
      [
        'with an endless text',
        'INVALID_MESSAGE',
        async (at) => ({
          request_id: at.request,
          decision: 'approve',
          approver_user_id: approver.userId,
          reason: 'x'.repeat(100_000),
        }),
        async () => approver.userId!,
      ],
      [
        'with a null character',
        'INVALID_MESSAGE',
        async (at) => ({
          request_id: at.request,
          decision: 'approve',
          approver_user_id: approver.userId,
          reason: 'a\0b',
        }),
        async () => approver.userId!,
      ],
      ['a number', 'OVERRIDE_REQUEST_NOT_FOUND', async () => 17, async () => null],
      ['a list', 'OVERRIDE_REQUEST_NOT_FOUND', async () => [1, 2], async () => null],
      ['null', 'OVERRIDE_REQUEST_NOT_FOUND', async () => null, async () => null],
    ];
    it('each of them', async function () {
      const [{ person, request }, other] = [await asked(), await asked()];
      const before = [await person.anchor(), await person.history(), await person.plans()];
      for (const [name, code, message, user] of rows) {
        const seen = (await refusals(person)).length;
        const sent = await message({ request, other: other.request });
        await stage.handle(person.id).signal(overrideDecision, sent as OverrideDecision);
        const record = await until(async () => (await refusals(person))[seen], {
          what: `an audit record of a decision ${name}`,
        });
        expect(record.audit_metadata.code, name).to.equal(code);
        expect(record.user_id, name).to.equal(await user());
        const given = (sent as { request_id?: unknown } | null)?.request_id;
        if (typeof given === 'string') expect(record.audit_metadata.override_request_id, name).to.equal(given);
      }
      expect([await person.anchor(), await person.history(), await person.plans()]).to.deep.equal(before);
      await lives(person);
      await stage
        .handle(person.id)
        .signal(overrideDecision, { request_id: request, decision: 'approve', approver_user_id: approver.userId! });
      await person.becomes({ enrollment_date: '2024-03-17' });
    });

    it('a second decision on a decided request', async () => {
      const { person, request } = await asked();
      await person.decide(request, 'deny', approver, { reason: 'no' });
      await stage.handle(person.id).signal(overrideDecision, {
        request_id: request,
        decision: 'approve',
        approver_user_id: (await study.as('researcher', 'second')).userId!,
      });
      const record = await until(async () => (await refusals(person))[0]);
      expect(record.audit_metadata).to.include({ code: 'NOT_PENDING', override_request_id: request });
      expect(await person.anchor()).to.include({ enrollment_date: DAY });
    });
  });

  it('an update whose write fails for good fails that update alone', async () => {
    const person = await started(plain);
    const update = (enrollment_date: string) =>
      stage
        .handle(person.id)
        .executeUpdate(setEnrollmentDate, { args: [{ enrollment_date, ...me() }] })
        .then(
          (o) => o.refused ?? o,
          (e: unknown) => e,
        );
    expect(
      await refusing('manual_anchor_entries', `enrollment_date <> '2024-02-29'`, () => update('2024-02-29')),
    ).to.be.instanceOf(WorkflowUpdateFailedError);
    expect(await update('0000-01-01')).to.include({ status: 422, code: 'INVALID_DATE' });
    await person.set(DAY);
    await person.becomes({ status: 'provisional' });
  });

  it('with the temporal command: update, signal and query as an operator would', async function () {
    const { temporal_cli: cli, temporal, temporal_namespace } = stage.run;
    if (!cli || !existsSync(cli)) return this.skip();
    const { person, request } = await asked();
    const command = async (...args: string[]) =>
      (
        await run(cli, [
          'workflow',
          ...args,
          '--address',
          temporal,
          '--namespace',
          temporal_namespace,
          '--workflow-id',
          participantAnchorId(person.id),
        ])
      ).stdout;
    expect(await command('query', '--type', 'anchorState', '-o', 'json')).to.contain('"approval"');
    await command(
      'signal',
      '--name',
      'overrideDecision',
      '--input',
      JSON.stringify({
        request_id: request,
        decision: 'approve',
        approver_user_id: approver.userId,
        reason: 'from the console',
      }),
    );
    await person.becomes({ enrollment_date: '2024-03-17' });
    const told = await command(
      'update',
      'execute',
      '--name',
      'requestOverride',
      '--input',
      JSON.stringify({ new_enrollment_date: '2024-03-20', reason: 'x', actor_user_id: asker.userId }),
      '-o',
      'json',
    );
    expect(told).to.contain('pending_approval');
  });
});
