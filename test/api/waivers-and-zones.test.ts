import { expect } from 'chai';
import { admin, newParticipant, newStudy } from '../support/http.js';
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
  });

  it('a waiver names the criteria that it waives, and why: else 400, and nothing is stored', async () => {
    const study = await newStudy(http);
    const { id } = await newParticipant(http, study.id);
    const at = `/api/studies/${study.id}/participants/${id}/eligibility`;
    for (const [given, missing] of [
      [{}, ['waiver_criteria_ids', 'waiver_reason']],
      [{ waiver_criteria_ids: ['AGE'], waiver_reason: '  ' }, ['waiver_reason']],
      [{ waiver_criteria_ids: [], waiver_reason: 'agreed with the sponsor' }, ['waiver_criteria_ids']],
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
});
