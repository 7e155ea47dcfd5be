import { expect } from 'chai';
import { generateSync } from 'otplib';
import { decideOverride, overrideDecision, participantAnchorId } from '../../workflows/contract.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { goodPassword } from '../support/http.js';
import type { Answer, Http, Loose, Options } from '../support/http.js';
import { readPdf } from '../support/pdf.js';
import { until } from '../support/service.js';

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
const again = (proof: string): Options => ({ headers: { 'X-Reauthentication': proof } });
const code = ({ status, body }: Answer<Loose>) => [status, body.code];
interface Signed extends Loose {
  signature: { meaning: string; name: string; signed_at: string; proved_by: string } | null;
}

describe('Signatures by somebody who holds no more than a bearer token', () => {
  let stage: Stage;
  let study: AnchorStudy;
  let [asker, approver, investigator] = [] as unknown as [Http, Http, Http];
  let person: Person;
  let forms: string;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(withApproval);
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, {
      config: { signatures: { reauthenticate: true } },
    });
    [asker, approver, investigator] = await Promise.all([
      study.as('coordinator'),
      study.as('researcher'),
      study.as('investigator'),
    ]);
    person = await study.person();
    forms = `/api/studies/${study.id}/participants/${person.id}/forms`;
  });
  after(() => stage.close());

  const draft = () =>
    investigator.expect<Signed>(201, 'POST', forms, { form_oid: 'CRF', status: 'complete', items: { a: 1 } });
  const asked = async (): Promise<{ of: Person; request: string }> => {
    const of = await study.person();
    await of.set(DAY);
    const { body } = await of.override('2024-03-17', asker);
    return { of, request: body.override_request_id };
  };
  const decide = (of: Person, request: string, decision: string, body: object, options?: Options) =>
    approver.post<Signed>(
      `/api/studies/${study.id}/participants/${of.id}/anchor-date/override-requests/${request}/${decision}`,
      body,
      options,
    );
  const requestOf = async (of: Person) =>
    (
      await stage.admin.expect<{ items: Signed[] }>(
        200,
        'GET',
        `/api/studies/${study.id}/participants/${of.id}/anchor-date/override-requests`,
      )
    ).items[0]!;

  it('a form is not signed, neither in a step of its own nor as it is made', async () => {
    const { id } = await draft();
    const refused = await investigator.patch(`${forms}/${id}`, { status: 'signed' });
    expect(code(refused)).to.deep.equal([401, 'REAUTHENTICATION_REQUIRED']);
    expect(refused.headers.get('www-authenticate')).to.include('insufficient_user_authentication');
    expect(code(await investigator.post(forms, { form_oid: 'CRF', status: 'signed' }))).to.deep.equal([
      401,
      'REAUTHENTICATION_REQUIRED',
    ]);
    for (const wrong of ['a wrong password', '123456'])
      expect(code(await investigator.patch(`${forms}/${id}`, { status: 'signed' }, again(wrong)))).to.deep.equal([
        401,
        'REAUTHENTICATION_FAILED',
      ]);
    expect(
      (await investigator.patch(`${forms}/${id}`, { items: { a: 2 } })).status,
      'what is no signature asks for nothing',
    ).to.equal(200);
  });

  it('the record says what the signature means, who gave it, when, and how identity was proved', async () => {
    const { id } = await draft();
    const { body } = await investigator.patch<Signed>(
      `${forms}/${id}`,
      { status: 'signed', meaning: 'I take responsibility' },
      again(goodPassword),
    );
    expect(body).to.include({ status: 'signed', signed_by_id: investigator.userId });
    expect(body.signature).to.deep.equal({
      meaning: 'I take responsibility',
      name: 'A investigator',
      signed_at: body.signed_at,
      proved_by: 'password',
    });
    const entries = await stage.admin.expect<{ items: { what?: string; title: string; data: Loose }[] }>(
      200,
      'GET',
      `/api/studies/${study.id}/participants/${person.id}/timeline?kind=form`,
    );
    expect(entries.items.map(({ title }) => title)).to.include(
      'Form “CRF” signed, signed by A investigator (I take responsibility)',
    );
    const { rows } = await stage.admin.expect<{ rows: Loose[] }>(200, 'POST', '/api/exports/json', {
      study_id: study.id,
      dataset: 'forms',
    });
    expect(rows.find((row) => row.form_id === id)).to.include({
      signer_name: 'A investigator',
      signature_meaning: 'I take responsibility',
      signature_proved_by: 'password',
    });
    const odm = (await stage.admin.get(`/api/exports/studies/${study.id}/odm`)).text;
    expect(odm).to.include('I take responsibility').and.include('A investigator');
  });

  it('the PDF of the participant lists its signatures', async () => {
    const of = await study.person();
    const path = `/api/studies/${study.id}/participants/${of.id}/forms`;
    const form = { form_oid: 'PRINTED', status: 'signed', meaning: 'reviewed by me', password: goodPassword };
    await investigator.expect(201, 'POST', path, form);
    const answer = await fetch(
      `${stage.admin.base}/api/reports/studies/${study.id}/participants/${of.id}/pdf?language=en`,
      { headers: { Authorization: `Bearer ${stage.admin.token}` } },
    );
    expect(answer.status).to.equal(200);
    const { text } = readPdf(Buffer.from(await answer.arrayBuffer()));
    for (const said of ['Signatures', 'PRINTED', 'A investigator', 'reviewed by me', 'password'])
      expect(text).to.include(said);
  });

  it('in the body too, and by a code of the second factor, which is good once', async () => {
    const one = await draft();
    const byBody = await investigator.patch<Signed>(`${forms}/${one.id}`, { status: 'signed', password: goodPassword });
    expect(byBody.body.signature).to.include({ meaning: 'approval', proved_by: 'password' });
    const signer = await study.as('investigator', 'with a second factor');
    const { secret } = await signer.expect<{ secret: string }>(200, 'POST', '/api/auth/mfa/setup', {
      password: goodPassword,
    });
    const shown = generateSync({ secret });
    await signer.expect(200, 'POST', '/api/auth/mfa/verify', { code: shown });
    const [two, three] = [await draft(), await draft()];
    const sign = (id: string, given: string) =>
      signer.patch<Signed>(`${forms}/${id}`, { status: 'signed' }, again(given));
    const byCode = await sign(two.id, shown);
    expect(byCode.body.signature, byCode.text).to.include({ proved_by: 'totp' });
    expect(code(await sign(three.id, shown))).to.deep.equal([401, 'REAUTHENTICATION_FAILED']);
  });

  it('an override is neither approved nor denied; each refusal is a record', async () => {
    const { of, request } = await asked();
    for (const decision of ['approve', 'deny'])
      expect(code(await decide(of, request, decision, { reason: 'no' }))).to.deep.equal([
        401,
        'REAUTHENTICATION_REQUIRED',
      ]);
    expect(code(await decide(of, request, 'approve', {}, again('wrong')))).to.deep.equal([
      401,
      'REAUTHENTICATION_FAILED',
    ]);
    expect((await requestOf(of)).status).to.equal('pending');
    const granted = await decide(of, request, 'approve', {}, again(goodPassword));
    expect(granted.status, granted.text).to.equal(200);
    const { signature } = await requestOf(of);
    expect(signature).to.include({ meaning: 'approval', name: 'A researcher', proved_by: 'password' });
    const timeline = await stage.admin.expect<{ items: { title: string }[] }>(
      200,
      'GET',
      `/api/studies/${study.id}/participants/${of.id}/timeline?kind=approval`,
    );
    expect(timeline.items.at(-1)!.title).to.include('signed by A researcher (approval)');
    const { rows } = await stage.admin.expect<{ rows: Loose[] }>(200, 'POST', '/api/exports/json', {
      study_id: study.id,
      dataset: 'anchor_history',
      participant_ids: [of.id],
    });
    expect(rows.find((row) => row.event_type === 'OVERRIDE_GRANTED')).to.include({
      signer_name: 'A researcher',
      signature_meaning: 'approval',
    });
  });

  it('nor a waiver of eligibility criteria, by whoever sends it once more', async () => {
    const of = await study.person();
    const path = `/api/studies/${study.id}/participants/${of.id}/eligibility`;
    const waiver = {
      status: 'pending',
      inclusion_criteria: { AGE: { met: false } },
      has_waiver: true,
      waiver_criteria_ids: ['AGE'],
      waiver_reason: 'agreed with the sponsor',
    };
    await investigator.expect(200, 'PUT', path, waiver);
    const approve = (body: object = {}, options?: Options) => approver.put(path, { ...waiver, ...body }, options);
    expect(code(await approve())).to.deep.equal([401, 'REAUTHENTICATION_REQUIRED']);
    expect(code(await approve({ password: 'a wrong password' }))).to.deep.equal([401, 'REAUTHENTICATION_FAILED']);
    expect(await stage.admin.expect(200, 'GET', path)).to.include({ waiver_approved_by_id: null });
    const approved = await approve({}, again(goodPassword));
    expect([approved.status, approved.body.waiver_approved_by_id], approved.text).to.deep.equal([200, approver.userId]);
    const records = await study.audit('eligibility_changed');
    expect(records.at(-1)!.audit_metadata).to.include({
      waiver_approved_by_id: approver.userId,
      waiver_proved_by: 'password',
    });
    expect((await approve({ status: 'deferred' })).status, 'what approves nothing asks for nothing').to.equal(200);
  });

  it('nor past the API: a signal without what the approver has signed is refused', async () => {
    const { of, request } = await asked();
    await stage.temporal.workflow.getHandle(participantAnchorId(of.id)).signal(overrideDecision, {
      request_id: request,
      decision: 'approve',
      approver_user_id: approver.userId!,
      reason: 'from the outside',
    });
    const refusal = await until(
      async () => (await study.audit('override_decision_refused')).find(({ resource_id }) => resource_id === of.id),
      { what: 'the record of the refusal' },
    );
    expect(refusal.audit_metadata).to.include({ code: 'REAUTHENTICATION_REQUIRED' });
    expect((await requestOf(of)).status).to.equal('pending');
  });

  it('what was signed for a decision that was refused is good for no other', async () => {
    const { of, request } = await asked();
    const refused = await decide(of, request, 'approve', { preview_hash: 'f'.repeat(64) }, again(goodPassword));
    expect(code(refused)).to.deep.equal([409, 'PREVIEW_STALE']);
    await stage.temporal.workflow.getHandle(participantAnchorId(of.id)).signal(overrideDecision, {
      request_id: request,
      decision: 'approve',
      approver_user_id: approver.userId!,
    });
    await until(
      async () =>
        (await study.audit('override_decision_refused')).find(
          ({ resource_id, audit_metadata }) =>
            resource_id === of.id && audit_metadata.code === 'REAUTHENTICATION_REQUIRED',
        ),
      { what: 'the record of the refusal' },
    );
    expect((await requestOf(of)).status).to.equal('pending');
  });

  it('what was signed is good for that decision alone, and for a day', async () => {
    const { of, request } = await asked();
    const decided = async (decision: 'approve' | 'deny') =>
      (
        await stage.temporal.workflow.getHandle(participantAnchorId(of.id)).executeUpdate(decideOverride, {
          args: [{ request_id: request, decision, approver_user_id: approver.userId!, reason: 'from the outside' }],
        })
      ).refused?.code;
    // Signed for a client, which sends it later.
    const sign = () =>
      approver.expect(
        200,
        'POST',
        `/api/studies/${study.id}/approvals/${request}/authorization`,
        { decision: 'deny', reason: 'misread' },
        again(goodPassword),
      );
    const unproved = await approver.post<Loose>(`/api/studies/${study.id}/approvals/${request}/authorization`, {
      decision: 'deny',
      reason: 'misread',
    });
    expect(code(unproved), 'by a bearer alone').to.deep.equal([401, 'REAUTHENTICATION_REQUIRED']);
    await sign();
    expect(await decided('approve'), 'another decision').to.equal('REAUTHENTICATION_REQUIRED');
    const signedHoursAgo = (hours: number) =>
      stage.sql(
        `update override_requests set offered_signatures = jsonb_set(offered_signatures, array[?, 'signed_at'],
           to_jsonb(to_char((clock_timestamp() - ? * interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
         where id = ?`,
        [approver.userId!, hours, request],
      );
    await sign();
    // As signed while the study did not ask yet.
    await stage.sql(
      `update override_requests set offered_signatures = jsonb_set(offered_signatures, array[?, 'proved_by'], '"session"')
       where id = ?`,
      [approver.userId!, request],
    );
    expect(await decided('deny'), 'by a login alone').to.equal('REAUTHENTICATION_REQUIRED');
    await sign();
    await signedHoursAgo(25);
    expect(await decided('deny'), 'the day before').to.equal('REAUTHENTICATION_REQUIRED');
    await signedHoursAgo(23);
    expect(await decided('deny')).to.equal(undefined);
    expect((await requestOf(of)).status).to.equal('denied');
  });

  it('two decisions of one approver do not take each other’s signature', async () => {
    const authorized = ({ request }: { request: string }, decision: 'approve' | 'deny') =>
      approver.expect<{ authorization: string }>(
        200,
        'POST',
        `/api/studies/${study.id}/approvals/${request}/authorization`,
        { decision, reason: 'checked' },
        again(goodPassword),
      );
    const stale = { preview_hash: 'f'.repeat(64) };
    const [beside, changed] = [await asked(), await asked()];
    const given = new Map([
      [beside, await authorized(beside, 'approve')],
      [changed, await authorized(changed, 'approve')],
    ]);
    expect(code(await decide(beside.of, beside.request, 'approve', stale, again(goodPassword)))).to.deep.equal([
      409,
      'PREVIEW_STALE',
    ]);
    await authorized(changed, 'deny');
    for (const [{ of, request }, { authorization }] of given) {
      const message = { request_id: request, decision: 'approve' as const, reason: 'checked', authorization };
      const outcome = await stage.temporal.workflow
        .getHandle(participantAnchorId(of.id))
        .executeUpdate(decideOverride, {
          args: [{ ...message, approver_user_id: approver.userId! }],
        });
      expect(outcome.refused?.code).to.equal(undefined);
      expect((await requestOf(of)).signature).to.include({ meaning: 'approval', proved_by: 'password' });
    }
    const atOnce = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { of, request } = await asked();
        const [, granted] = await Promise.all(
          [stale, {}].map((body) => decide(of, request, 'approve', body, again(goodPassword))),
        );
        return code(granted!);
      }),
    );
    expect(atOnce).to.deep.equal(Array(4).fill([200, undefined]));
  });

  it('a study that does not ask records the login as proof; nonsense in its settings is refused', async () => {
    const open = await stage.study(withApproval);
    const other = await open.person();
    const signer = await open.as('investigator');
    const { body } = await signer.post<Signed>(`/api/studies/${open.id}/participants/${other.id}/forms`, {
      form_oid: 'CRF',
      status: 'signed',
    });
    expect(body.signature).to.include({ meaning: 'approval', proved_by: 'session' });
    for (const signatures of [{ reauthenticate: 'no' }, { other: true }, 'none'])
      expect(
        (await stage.admin.patch(`/api/studies/${open.id}`, { config: { signatures } })).status,
        JSON.stringify(signatures),
      ).to.equal(422);
  });
});
