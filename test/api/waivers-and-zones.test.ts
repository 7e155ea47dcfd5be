import { expect } from 'chai';
import { admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Http } from '../support/http.js';

describe('What is stored of a time zone and of a waiver', () => {
  let http: Http;
  before(async () => {
    http = await admin();
  });

  it('a time zone is stored by its usual name, however it was written', async () => {
    const study = await newStudy(http, { timezone: 'europe/berlin' });
    expect(study.timezone).to.equal('Europe/Berlin');
    const changed = await http.expect(200, 'PATCH', `/api/studies/${study.id}`, { timezone: 'ASIA/KATHMANDU' });
    expect(changed.timezone).to.equal('Asia/Kathmandu');
    const site = await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: 'A',
      timezone: 'america/port-au-prince',
    });
    expect(site.timezone).to.equal('America/Port-au-Prince');
    const { id } = await newParticipant(http, study.id, { timezone: 'utc' });
    expect((await http.expect(200, 'GET', `/api/participants/${id}`)).timezone).to.equal('UTC');
    expect((await http.patch(`/api/participants/${id}`, { timezone: 'europe/nowhere' })).status).to.equal(422);
    const policy = await http.expect(200, 'POST', `/api/studies/${study.id}/config/enrollment-policy`, {
      time_precision: { timezone_policy: 'study_timezone', study_timezone: 'america/new_york' },
    });
    expect(policy.time_precision).to.include({ study_timezone: 'America/New_York' });
  });

  it('an abbreviation that means several zones is refused, and one that the database reads otherwise is its zone', async () => {
    const study = await newStudy(http);
    const { id } = await newParticipant(http, study.id);
    const at = `/api/studies/${study.id}`;
    for (const timezone of ['IST', 'BST', 'CST', 'AET', 'SystemV/EST5']) {
      const answers = [
        await http.patch(at, { timezone }),
        await http.post(`${at}/sites`, { site_code: 'A', timezone }),
        await http.patch(`/api/participants/${id}`, { timezone }),
      ];
      for (const { status, body } of answers)
        expect([status, body.errors?.map(({ path }) => path)], timezone).to.deep.equal([422, ['timezone']]);
    }
    for (const [timezone, zone] of [
      ['CET', 'Europe/Brussels'],
      ['EET', 'Europe/Athens'],
      ['US/Pacific-New', 'America/Los_Angeles'],
    ]) {
      expect((await http.expect(200, 'PATCH', at, { timezone })).timezone).to.equal(zone);
      expect((await http.expect(200, 'PATCH', `/api/participants/${id}`, { timezone })).timezone).to.equal(zone);
    }
  });

  it('a waiver names the criteria that it waives, and why: else 400, and nothing is stored', async () => {
    const study = await newStudy(http);
    const { id } = await newParticipant(http, study.id);
    const at = `/api/studies/${study.id}/participants/${id}/eligibility`;
    for (const [given, missing] of [
      [{}, ['waiver_criteria_ids', 'waiver_reason']],
      [{ waiver_criteria_ids: ['AGE'], waiver_reason: '  ' }, ['waiver_reason']],
      [{ waiver_criteria_ids: [], waiver_reason: 'agreed with the sponsor' }, ['waiver_criteria_ids']],
      [{ waiver_criteria_ids: ['AGE', ' '], waiver_reason: 'agreed with the sponsor' }, ['waiver_criteria_ids']],
    ] as const) {
      const answer = await http.put(at, { status: 'eligible', has_waiver: true, ...given });
      expect([answer.status, answer.body.errors?.map(({ path }) => path)], answer.text).to.deep.equal([400, missing]);
    }
    expect((await http.get(at)).status).to.equal(404);
    const stored = await http.expect(200, 'PUT', at, {
      status: 'eligible',
      has_waiver: true,
      waiver_criteria_ids: ['AGE'],
      waiver_reason: 'agreed with the sponsor',
    });
    expect(stored).to.include({ has_waiver: true, status: 'eligible' });
  });

  it('eligible is who meets every criterion, or has a waiver that names the others: else 400, and nothing is stored', async () => {
    const study = await newStudy(http);
    const { id } = await newParticipant(http, study.id);
    const at = `/api/studies/${study.id}/participants/${id}/eligibility`;
    const criteria = {
      inclusion_criteria: { AGE: { met: false, value: 17 }, BMI: { met: true }, IQ: { met: null } },
      exclusion_criteria: { STROKE: { present: true }, MRI: { present: false } },
    };
    const waiver = { has_waiver: true, waiver_criteria_ids: ['AGE'], waiver_reason: 'agreed with the sponsor' };
    for (const [given, against] of [
      [{}, ['inclusion_criteria.AGE', 'exclusion_criteria.STROKE']],
      [waiver, ['exclusion_criteria.STROKE']],
      [{ ...waiver, has_waiver: false }, ['inclusion_criteria.AGE', 'exclusion_criteria.STROKE']],
    ] as const) {
      const { status, body } = await http.put(at, { status: 'eligible', ...criteria, ...given });
      expect([status, body.errors?.map((fault) => fault.path)]).to.deep.equal([400, against]);
      expect(body.errors?.every(({ code }) => code === 'CRITERION_NOT_MET')).to.equal(true);
    }
    expect((await http.get(at)).status).to.equal(404);
    for (const status of ['pending', 'deferred', 'ineligible'])
      await http.expect(200, 'PUT', at, { status, ...criteria });
    const waived = { ...waiver, waiver_criteria_ids: ['AGE', 'STROKE'] };
    await http.expect(200, 'PUT', at, { status: 'eligible', ...criteria, ...waived });
  });

  it('a waiver counts when another person with the right has approved it: by putting the same again', async () => {
    const study = await newStudy(http, {
      config: {
        enrollment_date_policy: {
          sources: [{ type: 'manual_entry' }],
          prerequisites: { require_consent_signed: false, require_eligibility_confirmed: true },
        },
      },
    });
    const { id } = await newParticipant(http, study.id);
    const of = `/api/studies/${study.id}/participants/${id}`;
    const waiver = {
      status: 'eligible',
      has_waiver: true,
      waiver_criteria_ids: ['AGE', 'BMI'],
      waiver_reason: 'agreed with the sponsor',
    };
    const put = (by: Http, more: object = {}) => by.expect(200, 'PUT', `${of}/eligibility`, { ...waiver, ...more });
    await http.expect(200, 'POST', `${of}/anchor-date`, { enrollment_date: '2024-03-10' });
    const written = await put(http);
    expect(written).to.include({ waiver_requested_by_id: http.userId, waiver_approved_by_id: null });
    expect(written.waiver_approved_at).to.equal(null);
    expect(await put(http), 'not by who wrote it').to.include({ waiver_approved_by_id: null });
    const status = async () =>
      (await http.expect<{ anchor: { status: string } }>(200, 'POST', `${of}/anchor-date/evaluate`)).anchor.status;
    expect(await status()).to.equal('provisional');
    const second = await user(http, 'investigator', { study_ids: [study.id] });
    const approved = await put(second, { waiver_criteria_ids: ['BMI', 'AGE'] });
    expect(approved).to.include({ waiver_requested_by_id: http.userId, waiver_approved_by_id: second.userId });
    expect(approved.waiver_approved_at).to.be.a('string');
    expect(await status()).to.equal('finalized');
    expect(await put(http), 'stays approved').to.include({ waiver_approved_by_id: second.userId });
    expect(await put(second, { waiver_reason: 'another one' }), 'another waiver').to.include({
      waiver_requested_by_id: second.userId,
      waiver_approved_by_id: null,
    });
    expect(await put(http, { waiver_reason: 'another one' })).to.include({ waiver_approved_by_id: http.userId });
    expect(await put(http, { has_waiver: false })).to.include({
      waiver_requested_by_id: null,
      waiver_approved_by_id: null,
    });
  });

  it('the criteria that were confirmed are changed by who may confirm, who then answers for them', async () => {
    const study = await newStudy(http);
    const { id } = await newParticipant(http, study.id);
    const at = `/api/studies/${study.id}/participants/${id}/eligibility`;
    const [coordinator, investigator] = await Promise.all(
      (['coordinator', 'investigator'] as const).map((role) => user(http, role, { study_ids: [study.id] })),
    );
    const eligible = {
      status: 'eligible',
      inclusion_criteria: { AGE: { met: true, value: 70 }, BMI: { met: false } },
      has_waiver: true,
      waiver_criteria_ids: ['BMI'],
      waiver_reason: 'agreed with the sponsor',
    };
    const first = await http.expect(200, 'PUT', at, eligible);
    const documents = { source_documents: [{ type: 'ecg', ref: 'E1', date: '2026-01-30' }] };
    // Clerical work on what was confirmed stays a coordinator's.
    const filed = await coordinator!.expect(200, 'PUT', at, { ...eligible, ...documents });
    expect(filed).to.include({ confirmed_by_id: http.userId, confirmed_at: first.confirmed_at });
    for (const [what, body] of [
      ['another value', { ...eligible, inclusion_criteria: { AGE: { met: true, value: 17 }, BMI: { met: false } } }],
      ['no criteria and no waiver', { status: 'eligible' }],
      ['no waiver', { ...eligible, has_waiver: false, inclusion_criteria: { AGE: { met: true, value: 70 } } }],
    ] as const) {
      const { status, body: answer } = await coordinator!.put(at, body);
      expect([status, answer.code], what).to.deep.equal([403, 'FORBIDDEN']);
    }
    expect(await http.expect(200, 'GET', at)).to.deep.equal(filed);
    const other = { ...eligible, ...documents, exclusion_criteria: { MRI: { present: false } } };
    expect(await investigator!.expect(200, 'PUT', at, other)).to.include({
      confirmed_by_id: investigator!.userId,
      confirmed_at: first.confirmed_at,
    });
    const { items } = await http.expect(200, 'GET', `/api/audit?resource_type=eligibility&resource_id=${first.id}`);
    const actions = (items as unknown as { action: string }[]).map(({ action }) => action);
    expect(actions, 'newest first').to.deep.equal([
      'eligibility_confirmed',
      'eligibility_changed',
      'eligibility_confirmed',
    ]);
    // Taken back, it is the coordinator's to prepare again.
    const prepared = { status: 'pending', inclusion_criteria: { AGE: { met: true, value: 71 } } };
    expect(await coordinator!.expect(200, 'PUT', at, prepared)).to.include({
      status: 'pending',
      confirmed_by_id: null,
    });
  });
});
