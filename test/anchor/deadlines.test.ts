import { expect } from 'chai';
import { requeueOverdue } from '../../activities/operations/reconcile.js';
import { openDatabase } from '../../db/client/knex.js';
import { overrideDecision, sourcesChanged } from '../../workflows/contract.js';
import type { Http } from '../support/http.js';
import { service, until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

/** Four seconds; and where the approvers are to be reminded before the end. */
const TIMEOUT_HOURS = 4 / 3600;
const LONGER_MS = 12_000;
interface Mail {
  to: { address: string }[];
  subject: string;
  text: string;
  time: string;
}

describe('deadlines of an override request, and lost workflows', function () {
  let stage: Stage;
  let study: AnchorStudy;
  let approver: Http & { email: string };
  const policy = (hours: number) => ({
    sources: [{ type: 'manual_entry' }],
    prerequisites: { require_consent_signed: false },
    override_approval_timeout_hours: hours,
    permissions: {
      can_override: ['coordinator', 'researcher'],
      override_requires_approval: true,
      override_approver_roles: ['researcher'],
    },
  });
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(policy(TIMEOUT_HOURS));
    approver = (await study.as('researcher')) as typeof approver;
  });
  after(() => stage.close());

  const asked = async (of = study): Promise<{ person: Person; request: string }> => {
    const person = await of.person();
    await person.set(DAY);
    const { status, body } = await person.override('2024-03-17', await of.as('coordinator'));
    expect(status).to.equal(202);
    return { person, request: body.override_request_id };
  };
  const requestOf = async (person: Person) =>
    (
      await stage.admin.expect<{ items: Record<string, unknown>[] }>(
        200,
        'GET',
        `${person.path}/anchor-date/override-requests`,
      )
    ).items[0]!;
  const mailsTo = async (address: string): Promise<Mail[]> => {
    const mails = (await (
      await fetch(`${stage.run.mail_ui}/email?to.address=${encodeURIComponent(address)}`)
    ).json()) as Mail[];
    return mails
      .filter((mail) => mail.to.some((to) => to.address === address))
      .sort((a, b) => (a.time < b.time ? -1 : 1));
  };
  const expires = (person: Person) =>
    until(
      async () => {
        const request = await requestOf(person);
        return request.status === 'denied' ? request : undefined;
      },
      { what: 'the request to expire' },
    );

  it('the approver is told, reminded at half of the time, and at its end the request is denied with reason expired', async () => {
    const study = await stage.study(policy(LONGER_MS / 3_600_000));
    const asker = (await study.as('coordinator')) as typeof approver;
    const approver = (await study.as('researcher')) as Http & { email: string };
    const { person, request } = await asked(study);
    const { requested_at, expires_at } = (await requestOf(person)) as { requested_at: string; expires_at: string };
    expect(Date.parse(expires_at) - Date.parse(requested_at)).to.be.closeTo(LONGER_MS, 500);
    // From now on its end is far away: however late its mails come, nobody has decided it until then.
    const endsIn = async (seconds: number) =>
      (
        await stage.sql<{ expires_at: string }>(
          `update override_requests set expires_at = clock_timestamp() + :seconds * interval '1 second'
           where id = :request and status = 'pending' returning expires_at`,
          { seconds, request },
        )
      )[0]!.expires_at;
    await endsIn(3_600);
    const [first, second] = await until(
      async () => {
        const mails = await mailsTo(approver.email);
        return mails.length >= 2 ? mails : undefined;
      },
      { what: 'two mails to the approver' },
    );
    expect(Date.parse(second!.time) - Date.parse(requested_at)).to.be.at.least(LONGER_MS / 2 - 500);
    const [reminded] = await stage.sql<{ after_ms: number; in_time: boolean; status: string }>(
      `select (extract(epoch from remind_at - requested_at) * 1000)::float8 as after_ms,
         reminded_at >= remind_at as in_time, status from override_requests where id = ?`,
      [request],
    );
    expect(reminded).to.include({ in_time: true, status: 'pending' });
    expect(reminded!.after_ms).to.be.closeTo(LONGER_MS / 2, 250);
    for (const mail of [first!, second!])
      expect(mail.text).to.contain('2024-03-17').and.to.contain(DAY).and.to.contain('approvals');
    expect(await mailsTo(asker.email), 'who asked decides nothing').to.deep.equal([]);

    const end = await endsIn(1);
    // Any message lets the workflow look at it again.
    await stage.handle(person.id).signal(sourcesChanged, {});
    const ended = await expires(person);
    expect(ended).to.include({ status: 'denied', decision_reason: 'expired', decided_by_id: null });
    const denied = await stage.admin.expect<{ items: { override_request_id: string }[] }>(
      200,
      'GET',
      `/api/studies/${study.id}/approvals?status=denied`,
    );
    expect(denied.items.map((each) => each.override_request_id)).to.include(request);
    expect(Date.parse(ended.decided_at as string)).to.be.at.least(Date.parse(end));
    expect((await person.history())[0]).to.include({
      event_type: 'OVERRIDE_DENIED',
      reason: 'expired',
      actor_type: 'system',
      actor_user_id: null,
    });
    expect((await person.events()).at(-1)).to.deep.include({ type: 'ENROLLMENT_DATE_OVERRIDE_DENIED' });
    expect((await person.events()).at(-1)!.data).to.include({ approver: null, denial_reason: 'expired' });
    expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
    expect(await mailsTo(approver.email), 'reminded once').to.have.length(2);

    // Too late now, by REST and by signal; both are on record.
    const late = await person.decide(request, 'approve', approver);
    expect([late.status, late.body.code]).to.deep.equal([409, 'NOT_PENDING']);
    await stage
      .handle(person.id)
      .signal(overrideDecision, { request_id: request, decision: 'approve', approver_user_id: approver.userId! });
    await until(
      async () =>
        (await study.audit('override_decision_refused')).filter((r) => r.resource_id === person.id).length === 2,
    );
    expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
    expect((await person.override('2024-03-18', asker)).status, 'another request may follow').to.equal(202);
  });

  it('a decision at the last moment counts before the deadline and not after it, however late the timer fires', async () => {
    const { person, request } = await asked();
    await stage.sql(
      `update override_requests set remind_at = now() - interval '2 seconds', expires_at = now() - interval '1 second' where id = ?`,
      [request],
    );
    const late = await person.decide(request, 'approve', approver);
    expect([late.status, late.body.code]).to.deep.equal([409, 'NOT_PENDING']);
    await expires(person);
  });

  it('a workflow that was lost: a following POST is carried out by a new one', async () => {
    const person = await study.person();
    await person.set(DAY);
    await stage.handle(person.id).terminate('lost');
    const { status, body } = await person.set('2024-03-11');
    expect([status, body.code]).to.deep.equal([409, 'OVERRIDE_REQUIRED']);
    expect((await stage.handle(person.id).describe()).status.name).to.equal('RUNNING');
  });

  it('a workflow that was lost: a changed source starts it again and is evaluated', async () => {
    const other = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const person = await other.person();
    await person.set(DAY);
    await stage.handle(person.id).terminate('lost');
    await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized' });
  });

  it('a workflow that was lost with a pending request: the request is decided', async () => {
    const long = await stage.study(policy(1));
    const { person, request } = await asked(long);
    await stage.handle(person.id).terminate('lost');
    const { status } = await person.decide(request, 'approve', await long.as('researcher'));
    expect(status).to.equal(200);
    expect(await person.anchor()).to.include({ enrollment_date: '2024-03-17', version: 3 });
  });

  it('a workflow that was lost with a pending request: once anything wakes it, the request still expires', async () => {
    const { person } = await asked();
    await stage.handle(person.id).terminate('lost');
    await person.consent('2024-03-01T09:00:00Z');
    await expires(person);
    expect((await person.history()).map((h) => h.event_type)).to.deep.equal([
      'OVERRIDE_DENIED',
      'OVERRIDE_REQUESTED',
      'SET',
    ]);
  });

  it('a workflow that was lost with a pending request and nothing to wake it: the sweep for overdue deadlines does', async () => {
    const { person, request } = await asked(await stage.study(policy(1)));
    await person.settled();
    await stage.handle(person.id).terminate('lost');
    // Not as long ago as the service's own sweep asks for.
    await stage.sql(
      `update override_requests set remind_at = now() - interval '2 seconds', expires_at = now() - interval '1 second' where id = ?`,
      [request],
    );
    const database = openDatabase({ url: (await service()).database_url, name: 'overdue-test', poolMax: 1 });
    try {
      expect(await requeueOverdue(database, 0)).to.be.above(0);
    } finally {
      await database.destroy();
    }
    await expires(person);
  });

  it('a workflow that was lost for all of the time: the request is denied, and nobody is reminded of it', async () => {
    const own = await stage.study(policy(1));
    const decider = (await own.as('researcher')) as typeof approver;
    const { person, request } = await asked(own);
    await until(async () => (await mailsTo(decider.email)).length > 0, { what: 'the approver to be told' });
    await person.settled();
    await stage.handle(person.id).terminate('lost');
    await stage.sql(
      `update override_requests set remind_at = now() - interval '2 seconds', expires_at = now() - interval '1 second' where id = ?`,
      [request],
    );
    await person.consent('2024-03-01T09:00:00Z');
    expect(await expires(person)).to.include({ decision_reason: 'expired', decided_by_id: null });
    const notices = await stage.sql<{ user_id: string }>(
      `select user_id from notifications where subject_id = ? and kind = 'override_pending'`,
      [request],
    );
    expect(notices).to.deep.equal([{ user_id: decider.userId }]);
  });

  it('a workflow that was lost before its participant withdrew: the request ends with the withdrawal', async () => {
    const { person } = await asked(await stage.study(policy(1)));
    await person.settled();
    await stage.handle(person.id).terminate('lost');
    await person.withdraw();
    await until(async () =>
      expect(await stage.sql('select id from outbox where subject = ?', [person.id])).to.deep.equal([]),
    );
    expect(await requeueOverdue(stage.database, 0)).to.be.above(0);
    expect(await expires(person)).to.include({ decision_reason: 'withdrawn', decided_by_id: null });
  });
});
