import { expect } from 'chai';
import pg from 'pg';
import { admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { placesOf } from '../support/places-of.js';

describe('Erasure of what was written about a participant', function suite() {
  let root: Http;
  let owner: pg.Client;
  before(async () => {
    root = await admin();
    owner = new pg.Client({ connectionString: (await service()).database_url });
    await owner.connect();
  });
  after(() => owner.end());

  it('removes what staff wrote about the person, and keeps what the service wrote', async () => {
    const study = await newStudy(root, {
      consent_mode: 'external',
      config: {
        enrollment_date_policy: {
          sources: [{ type: 'manual_entry' }],
          prerequisites: { require_consent_signed: false },
          permissions: {
            can_override: ['admin', 'coordinator'],
            override_requires_approval: true,
            override_approver_roles: ['researcher'],
          },
        },
      },
    });
    const window = {
      study_id: study.id,
      code: 'W',
      name: 'Week 0',
      target_day: 4000,
      window_before: 0,
      window_after: 9,
    };
    await root.expect(201, 'POST', '/api/schedules/windows', window);
    const [asker, approver] = await Promise.all(
      (['coordinator', 'researcher'] as const).map((role) => user(root, role, { study_ids: [study.id] })),
    );
    const { id } = await newParticipant(root, study.id);
    const of = `/api/studies/${study.id}/participants/${id}`;
    const words: string[] = [];
    const said = (about: string): string => {
      words.push(unique(`zq${about}`).replaceAll('-', ''));
      return `${words.at(-1)} told us`;
    };
    await asker!.expect(200, 'POST', `${of}/anchor-date`, { enrollment_date: '2026-01-12', reason: said('set') });
    for (const [decision, status] of [
      ['deny', 200],
      ['approve', 200],
    ] as const) {
      const { override_request_id } = await asker!.expect<Loose>(202, 'POST', `${of}/anchor-date/override`, {
        new_enrollment_date: '2026-01-13',
        reason: said('override'),
      });
      await approver!.expect(
        status,
        'POST',
        `${of}/anchor-date/override-requests/${String(override_request_id)}/${decision}`,
        { reason: said(decision) },
      );
    }
    await root.expect(200, 'PUT', `${of}/eligibility`, {
      status: 'pending',
      inclusion_criteria: { age: { met: false, value: 17, notes: said('notes') } },
      source_documents: [
        { type: 'letter', ref: said('document'), date: '2026-01-02' },
        { type: 'lab', ref: null, date: null },
      ],
    });
    const visits = await root.expect(200, 'GET', `/api/schedules/visits?participant_id=${id}&status=scheduled`);
    const visit = `/api/visits/${visits.items[0]!.id}`;
    await asker!.expect(200, 'POST', `${visit}/cancel`, { reason: said('cancelled') });
    await asker!.expect(200, 'POST', `${visit}/reopen`, { reason: said('reopened') });
    await asker!.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: said('withdrawn') });
    const superseded = `select count(*)::int as n from scheduled_visits where participant_id = $1 and status_reason = 'override'`;
    const { rows: before } = await owner.query(superseded, [id]);
    expect(before[0].n).to.be.above(0);
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'asked for it by letter' });
    // The reason of a visit's change is a record of the audit log, which is never changed.
    for (const word of words)
      expect(
        (await placesOf(owner, word)).filter((table) => table !== 'audit_log'),
        word,
      ).to.deep.equal([]);
    expect((await owner.query(superseded, [id])).rows).to.deep.equal(before);
    const history = await root.expect<Loose[]>(200, 'GET', `${of}/anchor-date/history`);
    expect(history.map(({ reason }) => reason)).to.include('[erased]');
    const eligibility = await root.expect<Loose & { inclusion_criteria: object }>(200, 'GET', `${of}/eligibility`);
    expect(eligibility.inclusion_criteria).to.deep.equal({ age: { met: false, value: 17, notes: '[erased]' } });
    expect(eligibility.source_documents).to.deep.equal([
      { type: 'letter', ref: '[erased]', date: '2026-01-02' },
      { type: 'lab', ref: null, date: null },
    ]);
    const again = {
      status: 'pending',
      inclusion_criteria: { age: { met: false, value: 17, notes: 'Zora said so' } },
      source_documents: [{ type: 'letter', ref: 'letter of Zora' }],
    };
    const { status, body } = await root.put<Loose & { errors: Loose[] }>(`${of}/eligibility`, again);
    expect([status, body.code, body.errors.map(({ path }) => path)], 'a note after the erasure').to.deep.equal([
      409,
      'PARTICIPANT_ERASED',
      ['inclusion_criteria.age.notes', 'source_documents.0.ref'],
    ]);
    await root.expect(200, 'PUT', `${of}/eligibility`, {
      status: 'deferred',
      inclusion_criteria: eligibility.inclusion_criteria,
      source_documents: eligibility.source_documents,
    });
    expect(await root.expect(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).to.include({ valid: true });
  });
});
