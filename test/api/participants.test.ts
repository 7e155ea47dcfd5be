import { expect } from 'chai';
import pg from 'pg';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

describe('Participants and the facts about them', () => {
  let http: Http;
  let study: Loose;
  let participant: Loose;
  let of: string;
  let database: pg.Client;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
    database = new pg.Client({ connectionString: (await service()).database_url, options: '-c timezone=UTC' });
    await database.connect();
    await database.query(`select set_config('app.studies', '*', false)`);
  });
  after(() => database.end());
  beforeEach(async () => {
    participant = await newParticipant(http, study.id);
    of = `/api/studies/${study.id}/participants/${participant.id}`;
  });

  const audited = async (resource: string): Promise<{ action: string; audit_metadata: Record<string, unknown> }[]> =>
    (
      await database.query('select action, audit_metadata from audit_log where resource_id = $1 order by seq', [
        resource,
      ])
    ).rows as never;
  const code = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
    const answer = await http.send(method, path, body);
    return [answer.status, answer.status < 400 ? String(answer.body?.status ?? '') : answer.body.code];
  };

  it('enrolling writes the participant, its anchor and an audit record together', async () => {
    expect(participant).to.include({ status: 'enrolled', enrollment_date: null, study_id: study.id });
    const { rows } = await database.query('select status, version from anchor_dates where participant_id = $1', [
      participant.id,
    ]);
    expect(rows).to.deep.equal([{ status: 'unset', version: 1 }]);
    expect(await audited(participant.id)).to.deep.equal([
      { action: 'participant_created', audit_metadata: { fields: ['participant_code'] } },
    ]);
  });

  it('an enrollment that fails leaves nothing: no record, no anchor, no audit', async () => {
    // What the service does by itself for those who were enrolled before is nobody's.
    const count = async () =>
      (
        await database.query(
          'select (select count(*) from participants where study_id = $1) + (select count(*) from anchor_dates where study_id = $1) + (select count(*) from audit_log where study_id = $1 and user_id is not null) as n',
          [study.id],
        )
      ).rows[0].n as string;
    const before = await count();
    expect(
      (await http.post(`/api/studies/${study.id}/participants`, { participant_code: participant.participant_code }))
        .status,
    ).to.equal(409);
    expect(await count()).to.equal(before);
  });

  it('a list shows a participant as its own path does', async () => {
    await http.expect(200, 'PATCH', `/api/participants/${participant.id}`, {
      email: 'p@example.org',
      phone: '+49 30 123',
      date_of_birth: '1980-02-29',
      preferred_language: 'de-AT',
      timezone: 'Europe/Vienna',
    });
    await http.expect(200, 'POST', `/api/participants/${participant.id}/withdraw`, {
      reason: 'moved',
      withdrawn_at: '2026-01-05T10:00:00.500+01:00',
    });
    const one = await http.expect(200, 'GET', `/api/participants/${participant.id}`);
    const list = await http.expect(
      200,
      'GET',
      `/api/studies/${study.id}/participants?search=${participant.participant_code as string}`,
    );
    expect(list).to.deep.equal({ items: [one], total: 1 });
    expect(one.withdrawn_at).to.equal('2026-01-05T09:00:00.500Z');
  });

  it('audit records name fields, never what stands in them', async () => {
    await http.expect(200, 'PATCH', `/api/participants/${participant.id}`, {
      email: 'somebody@example.org',
      phone: '+49 30 424242',
      date_of_birth: '1981-03-04',
    });
    const records = await audited(participant.id);
    expect(records.at(-1)).to.deep.equal({
      action: 'participant_changed',
      audit_metadata: { fields: ['date_of_birth', 'email', 'phone'] },
    });
    expect(JSON.stringify(records)).not.to.match(/somebody|424242|1981-03/);
  });

  it('blanks around an external_id are cut off; blanks alone are none', async () => {
    const id = unique('R');
    const made = await newParticipant(http, study.id, { external_id: ` ${id}\u00a0` });
    expect(made.external_id).to.equal(id);
    expect(await code('PATCH', `/api/participants/${participant.id}`, { external_id: `${id} ` })).to.deep.equal([
      409,
      'DUPLICATE_EXTERNAL_ID',
    ]);
    const changed = await http.expect(200, 'PATCH', `/api/participants/${made.id}`, { external_id: '  ' });
    expect(changed.external_id).to.equal(null);
  });

  it('an external_id is one participant’s; none at all is fine for many', async () => {
    const external_id = unique('α/β');
    await newParticipant(http, study.id, { external_id });
    expect(
      await code('POST', `/api/studies/${study.id}/participants`, { participant_code: unique(), external_id }),
    ).to.deep.equal([409, 'DUPLICATE_EXTERNAL_ID']);
    await newParticipant(http, (await newStudy(http)).id, { external_id });
  });

  it('is deleted without data only', async () => {
    const empty = await newParticipant(http, study.id);
    expect((await http.delete(`/api/participants/${empty.id}`)).status).to.equal(204);
    expect((await http.get(`/api/participants/${empty.id}`)).status).to.equal(404);
    await http.expect(201, 'POST', `${of}/forms`, { form_oid: 'F' });
    expect(await code('DELETE', `/api/participants/${participant.id}`)).to.deep.equal([409, 'PARTICIPANT_HAS_DATA']);
    expect(await code('DELETE', `/api/studies/${study.id}`)).to.deep.equal([409, 'STUDY_NOT_EMPTY']);
  });

  it('is deleted while a decision on it is being written: the one waits for the other, none is lost', async () => {
    const { id } = await newParticipant(http, study.id);
    await database.query('begin');
    try {
      // As a decision does: its anchor first, then rows that name the participant.
      await database.query('select from anchor_dates where participant_id = $1 for update', [id]);
      const deleted = http.delete(`/api/participants/${id}`);
      await until(
        async () =>
          (
            await database.query<{ n: number }>(
              'select count(*)::int as n from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))',
            )
          ).rows[0]!.n > 0,
        { what: 'the deletion to wait' },
      );
      await database.query('select from participants where id = $1 for key share', [id]);
      await database.query('commit');
      expect((await deleted).status).to.equal(204);
    } finally {
      await database.query('rollback');
    }
  });

  it('withdraws once, not ahead of time; facts are recorded after it, too', async () => {
    const path = `/api/participants/${participant.id}/withdraw`;
    expect(await code('POST', path, { reason: '' })).to.deep.equal([422, 'VALIDATION_FAILED']);
    expect(await code('POST', path, { reason: 'x', withdrawn_at: '2999-01-01T00:00:00Z' })).to.deep.equal([
      400,
      'RULE_VIOLATED',
    ]);
    expect(await code('POST', path, { reason: 'x' })).to.deep.equal([200, 'withdrawn']);
    expect(await code('POST', path, { reason: 'x' })).to.deep.equal([409, 'PARTICIPANT_WITHDRAWN']);
    expect(await code('POST', `${of}/consents`, { status: 'signed' })).to.deep.equal([201, 'signed']);
    expect(
      await code('POST', '/api/schedules/visits', {
        participant_id: participant.id,
        name: 'V',
        target_date: '2026-01-01',
      }),
    ).to.deep.equal([409, 'PARTICIPANT_WITHDRAWN']);
  });

  it('consent: pending → signed or declined, signed → revoked, the rest is final', async () => {
    const consent = async (status: string) =>
      `${of}/consents/${(await http.expect(201, 'POST', `${of}/consents`, { status })).id}`;
    for (const [from, allowed] of [
      ['pending', ['pending', 'signed', 'declined']],
      ['signed', ['signed', 'revoked']],
      ['declined', ['declined']],
    ] as const) {
      for (const to of ['pending', 'signed', 'declined', 'revoked']) {
        const expected = (allowed as readonly string[]).includes(to) ? [200, to] : [409, 'INVALID_TRANSITION'];
        expect(await code('PATCH', await consent(from), { status: to }), `${from} → ${to}`).to.deep.equal(expected);
      }
    }
    const signed = await consent('signed');
    const before = await http.expect(200, 'PATCH', signed, { signed_at: '2026-01-05T10:00:00+02:00' });
    expect(before.signed_at).to.equal('2026-01-05T08:00:00.000Z');
    expect(
      await http.expect(200, 'PATCH', signed, { signed_at: null, revoked_at: null }),
      'null takes no time away, and gives none',
    ).to.deep.equal(before);
    expect((await http.expect(200, 'PATCH', signed, { signed_at: null, purpose: 'data' })).signed_at).to.equal(
      before.signed_at,
    );
    const revoked = await http.expect(200, 'PATCH', signed, { status: 'revoked' });
    expect(revoked.signed_at, 'it was signed once').to.equal(before.signed_at);
    expect(await http.expect(200, 'PATCH', signed, { revoked_at: null })).to.deep.equal(revoked);
    expect(await code('PATCH', signed, { purpose: 'x' })).to.deep.equal([409, 'INVALID_TRANSITION']);
    expect(
      await code('POST', `${of}/consents`, { status: 'pending', signed_at: '2026-01-01T00:00:00Z' }),
    ).to.deep.equal([400, 'RULE_VIOLATED']);
    expect(await code('POST', `${of}/consents`, { status: 'signed', signed_at: '2999-01-01T00:00:00Z' })).to.deep.equal(
      [201, 'signed'],
    );
  });

  it('a consent may be recorded as revoked, since a time or now; only a revoked one has that time', async () => {
    const record = (body: object) => http.expect(201, 'POST', `${of}/consents`, body);
    expect(
      await record({ status: 'revoked', revoked_at: '2026-01-06T10:00:00+02:00', signed_at: '2026-01-05T08:00:00Z' }),
    ).to.include({ status: 'revoked', revoked_at: '2026-01-06T08:00:00.000Z', signed_at: '2026-01-05T08:00:00.000Z' });
    const now = await record({ status: 'revoked' });
    expect(now.signed_at).to.equal(null);
    expect(Date.now() - Date.parse(now.revoked_at as string)).to.be.within(-60_000, 60_000);
    const { id, revoked_at } = await record({ status: 'signed', signed_at: '2026-01-05T08:00:00Z' });
    expect(revoked_at).to.equal(null);
    expect(await code('PATCH', `${of}/consents/${id}`, { revoked_at: '2026-01-06T08:00:00Z' })).to.deep.equal([
      400,
      'RULE_VIOLATED',
    ]);
    const revoked = await http.expect(200, 'PATCH', `${of}/consents/${id}`, {
      status: 'revoked',
      revoked_at: '2026-01-06T08:00:00Z',
    });
    expect(revoked).to.include({ status: 'revoked', revoked_at: '2026-01-06T08:00:00.000Z' });
    expect(await http.expect(200, 'PATCH', `${of}/consents/${id}`, { status: 'revoked' })).to.deep.equal(revoked);
    expect(
      await code('POST', `${of}/consents`, { status: 'revoked', revoked_at: '2999-01-01T00:00:00Z' }),
    ).to.deep.equal([400, 'RULE_VIOLATED']);
    expect((await audited(id)).map(({ action }) => action)).to.deep.equal(['consent_signed', 'consent_revoked']);
  });

  it('languages are written as people write them, telephone numbers too', async () => {
    for (const [field, good, bad] of [
      ['preferred_language', ['en_US', 'pt-BR', 'de'], ['e', 'en US', 'en__US']],
      ['phone', ['(555) 123-4567', '+49 30 123', '030/123'], ['call me', '()', '((']],
    ] as const) {
      for (const value of good)
        expect(await http.expect(200, 'PATCH', `/api/participants/${participant.id}`, { [field]: value })).to.include({
          [field]: value,
        });
      for (const value of bad)
        expect((await http.patch(`/api/participants/${participant.id}`, { [field]: value })).status, value).to.equal(
          422,
        );
    }
  });

  it('nobody is born ahead of today', async () => {
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const path = `/api/participants/${participant.id}`;
    for (const refused of [
      await http.patch(path, { date_of_birth: inDays(3) }),
      await http.post(`/api/studies/${participant.study_id as string}/participants`, {
        participant_code: unique('P'),
        date_of_birth: '2999-01-01',
      }),
    ]) {
      expect(refused.status).to.equal(400);
      expect(refused.body.errors).to.deep.equal([
        { path: 'date_of_birth', code: 'IN_FUTURE', message: 'date_of_birth lies in the future' },
      ]);
    }
    expect((await http.patch(path, { date_of_birth: inDays(-1) })).status).to.equal(200);
  });

  it('eligibility: none is 404; a confirmation has its time and its person and keeps them', async () => {
    expect((await http.get(`${of}/eligibility`)).status).to.equal(404);
    const put = (body: unknown) => http.expect(200, 'PUT', `${of}/eligibility`, body);
    expect(await put({ inclusion_criteria: { age: { met: true, value: 70, notes: 'seen' } } })).to.include({
      status: 'pending',
      confirmed_at: null,
      confirmed_by_id: null,
    });
    const first = await put({ status: 'eligible', confirmed_at: '2026-02-01T12:00:00Z' });
    expect(first).to.include({ confirmed_at: '2026-02-01T12:00:00.000Z', confirmed_by_id: http.userId });
    expect(
      (await put({ status: 'eligible', source_documents: [{ type: 'ecg', ref: 'E1', date: '2026-01-30' }] }))
        .confirmed_at,
    ).to.equal(first.confirmed_at);
    expect(await put({ status: 'deferred' })).to.include({ confirmed_at: null, confirmed_by_id: null });
    expect(
      await code('PUT', `${of}/eligibility`, { status: 'pending', confirmed_at: '2026-02-01T12:00:00Z' }),
    ).to.deep.equal([400, 'RULE_VIOLATED']);
    expect(await code('PUT', `${of}/eligibility`, { inclusion_criteria: { age: { present: true } } })).to.deep.equal([
      422,
      'VALIDATION_FAILED',
    ]);
  });

  it('the same assessment and form once more change nothing, in whichever order their fields come', async () => {
    const put = (body: unknown) => http.expect(200, 'PUT', `${of}/eligibility`, body);
    const assessment = {
      inclusion_criteria: { age: { met: true, value: { years: 70, at: 'screening' }, notes: 'seen' } },
      source_documents: [{ type: 'ecg', ref: 'E1', date: '2026-01-30' }],
    };
    const first = await put(assessment);
    expect(await put(assessment)).to.deep.equal(first);
    expect((await audited(first.id)).map(({ action }) => action)).to.deep.equal(['eligibility_changed']);
    const items = { visits: [{ place: 'home', by: 'A' }] };
    const form = await http.expect(201, 'POST', `${of}/forms`, { form_oid: 'F', status: 'signed', items });
    expect(await http.expect(200, 'PATCH', `${of}/forms/${form.id}`, { items })).to.deep.equal(form);
    const other = { items: { visits: [{ place: 'away', by: 'A' }] } };
    expect(await code('PATCH', `${of}/forms/${form.id}`, other)).to.deep.equal([409, 'FORM_FROZEN']);
  });

  it('randomization happens once, also for two at once; the arm is the participant’s', async () => {
    const bodies = ['A', 'B'].map((arm) =>
      http.post(`${of}/randomization`, { arm, randomized_at: '2026-01-06T00:00:00Z' }),
    );
    const answers = await Promise.all(bodies);
    expect(answers.map((a) => a.status).sort()).to.deep.equal([201, 409]);
    expect(answers.find((a) => a.status === 409)?.body.code).to.equal('ALREADY_RANDOMIZED');
    const { arm } = await http.expect(200, 'GET', `${of}/randomization`);
    expect((await http.expect(200, 'GET', `/api/participants/${participant.id}`)).arm).to.equal(arm);
  });

  it('forms: items are merged until the signature, then frozen; what is signed is locked, no more', async () => {
    const form = await http.expect(201, 'POST', `${of}/forms`, { form_oid: 'F', items: { a: 1, b: { c: 2 } } });
    const path = `${of}/forms/${form.id}`;
    expect((await http.expect(200, 'PATCH', path, { items: { a: null, b: { d: 3 } } })).items).to.deep.equal({
      b: { c: 2, d: 3 },
    });
    expect(await code('PATCH', path, { status: 'locked' })).to.deep.equal([409, 'INVALID_TRANSITION']);
    for (const status of ['complete', 'draft', 'complete'])
      expect(await code('PATCH', path, { status })).to.deep.equal([200, status]);
    expect(await http.expect(200, 'PATCH', path, { status: 'signed' })).to.include({
      signed_by_id: http.userId,
      locked_at: null,
    });
    expect(await code('PATCH', path, { items: { b: null } })).to.deep.equal([409, 'FORM_FROZEN']);
    expect(await code('PATCH', path, { status: 'draft' })).to.deep.equal([409, 'INVALID_TRANSITION']);
    expect(await code('PATCH', path, { status: 'locked' })).to.deep.equal([200, 'locked']);
    const names = (await audited(form.id)).map((record) => record.action);
    expect(names).to.deep.equal([
      'form_created',
      'form_changed',
      'form_complete',
      'form_draft',
      'form_complete',
      'form_signed',
      'form_locked',
    ]);
  });
});

describe('Studies, windows and visits', () => {
  let http: Http;
  let study: Loose;
  before(async () => {
    http = await admin();
    study = await newStudy(http);
  });

  it('a study starts with the default policy, and its config is merged by PATCH', async () => {
    const created = study.config as Record<string, Record<string, unknown>>;
    expect(created.enrollment_date_policy).to.include({ anchor_type: 'enrollment' });
    const patch = (config: unknown) =>
      http.expect<{ config: Record<string, unknown> }>(200, 'PATCH', `/api/studies/${study.id}`, { config });
    await patch({ notifications: { channels: ['email'], send_at: '09:00' } });
    const { config } = await patch({ notifications: { send_at: null, days_before: [1, 3] } });
    expect(config.notifications).to.deep.equal({ channels: ['email'], days_before: [1, 3] });
    expect(config.enrollment_date_policy).to.deep.equal(created.enrollment_date_policy);
  });

  it('a study without participants is deleted with its sites and windows', async () => {
    const empty = await newStudy(http);
    await http.expect(201, 'POST', `/api/studies/${empty.id}/sites`, { site_code: 'A' });
    await http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: empty.id,
      code: 'W',
      name: 'W',
      target_day: 0,
    });
    expect((await http.delete(`/api/studies/${empty.id}`)).status).to.equal(204);
    expect((await http.get(`/api/studies/${empty.id}`)).status).to.equal(404);
  });

  it('windows: the study comes from body or context, not from both differently; codes are one each', async () => {
    const window = { code: unique('W'), name: 'Week 1', target_day: 7 };
    expect((await http.post('/api/schedules/windows', window)).status).to.equal(422);
    const made = await http.post('/api/schedules/windows', window, { headers: { 'X-Study-ID': study.id } });
    expect(made.body).to.include({
      study_id: study.id,
      window_before: 0,
      window_after: 7,
      is_baseline: false,
      battery_id: null,
    });
    expect((await http.post('/api/schedules/windows', { ...window, study_id: study.id })).body.code).to.equal(
      'WINDOW_CODE_TAKEN',
    );
    const other = await newStudy(http);
    expect(
      (
        await http.post(
          '/api/schedules/windows',
          { ...window, study_id: other.id },
          { headers: { 'X-Study-ID': study.id } },
        )
      ).status,
    ).to.equal(400);
    expect((await http.patch(`/api/schedules/windows/${made.body.id}`, { battery_id: 2_000_000_000 })).status).to.equal(
      400,
    );
    expect(
      (await http.expect(200, 'PATCH', `/api/schedules/windows/${made.body.id}`, { target_day: -3 })).target_day,
    ).to.equal(-3);
    expect((await http.delete(`/api/schedules/windows/${made.body.id}`)).status).to.equal(204);
  });

  it('visits: made by hand, corrected, completed once, closed for good when cancelled', async () => {
    const participant = await newParticipant(http, study.id);
    const make = (fields: object = {}) =>
      http.post('/api/schedules/visits', {
        participant_id: participant.id,
        name: 'Extra',
        target_date: '2026-03-10',
        ...fields,
      });
    expect((await make({ window_open: '2026-03-11' })).status).to.equal(400);
    const visit = (await make({ window_open: '2026-03-09', window_close: '2999-01-01' })).body;
    expect(visit).to.include({ status: 'open', schedule_version_id: null, visit_window_id: null });
    expect(
      (await make({ window_open: '2026-03-10', target_date: '2998-01-01', window_close: '2999-01-01' })).body.status,
    ).to.equal('open');
    expect((await make({ target_date: '2999-01-01' })).body.status).to.equal('scheduled');
    expect(
      (await http.post(`/api/visits/${visit.id}/complete`, { completed_at: '2999-01-01T00:00:00Z' })).status,
    ).to.equal(400);
    const done = await http.expect(200, 'POST', `/api/visits/${visit.id}/complete`, {
      completed_at: '2026-03-10T09:30:00Z',
    });
    expect(done).to.include({ status: 'completed', completed_at: '2026-03-10T09:30:00.000Z' });
    expect(await http.expect(200, 'POST', `/api/visits/${visit.id}/complete`)).to.deep.equal(done);
    expect((await http.patch(`/api/visits/${visit.id}`, { target_date: '2026-03-11' })).body.code).to.equal(
      'VISIT_CLOSED',
    );
    const cancelled = (await make()).body;
    await http.expect(200, 'PATCH', `/api/visits/${cancelled.id}`, { status: 'cancelled' });
    expect((await http.post(`/api/visits/${cancelled.id}/complete`)).body.code).to.equal('VISIT_CLOSED');
    const list = await http.expect(
      200,
      'GET',
      `/api/schedules/visits?participant_id=${participant.id}&from=2026-03-10&to=2026-03-10&status=completed`,
    );
    expect(list.items.map((v) => v.id)).to.deep.equal([visit.id]);
  });

  it('a window with a completed visit is not deleted', async () => {
    const participant = await newParticipant(http, study.id);
    const window = await http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: study.id,
      code: unique('W'),
      name: 'W',
      target_day: 0,
      window_before: 2,
      window_after: 3,
    });
    const visit = await http.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: participant.id,
      visit_window_id: window.id,
      target_date: '2026-03-10',
    });
    expect(visit).to.include({ name: 'W', window_open: '2026-03-08', window_close: '2026-03-13' });
    await http.expect(200, 'POST', `/api/visits/${visit.id}/complete`);
    expect((await http.delete(`/api/schedules/windows/${window.id}`)).body.code).to.equal('WINDOW_IN_USE');
  });
});
