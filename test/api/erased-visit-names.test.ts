import { expect } from 'chai';
import pg from 'pg';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { placesOf } from '../support/places-of.js';
import { service } from '../support/service.js';

describe('An erasure', () => {
  const secret = unique('vera').replace('-', '');
  let owner: pg.Client;
  before(async () => {
    owner = new pg.Client({ connectionString: (await service()).database_url });
    await owner.connect();
  });
  after(() => owner.end());

  it('gives visits that people renamed, or planned for a window under another name, the names of the plan', async () => {
    const root = await admin();
    const own = await newStudy(root, { consent_mode: 'none' });
    const window = await root.expect(201, 'POST', '/api/schedules/windows', {
      study_id: own.id,
      code: 'M1',
      name: 'Month 1',
      target_day: 30,
      window_before: 3,
      window_after: 3,
    });
    const { id } = await newParticipant(root, own.id, {});
    await root.expect(200, 'PUT', `/api/studies/${own.id}/participants/${id}/eligibility`, {
      status: 'eligible',
      confirmed_at: '2026-01-10T10:00:00Z',
    });
    await root.expect(200, 'POST', `/api/studies/${own.id}/participants/${id}/anchor-date`, {
      enrollment_date: '2026-01-12',
    });
    const visits = () =>
      root.expect<{ items: Loose[] }>(200, 'GET', `/api/schedules/visits?participant_id=${id}&sort=target_date`);
    const [planned] = (await visits()).items;
    await root.expect(200, 'PATCH', `/api/visits/${planned!.id}`, { name: `with ${secret}` });
    await root.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: id,
      visit_window_id: window.id,
      name: `at ${secret}'s`,
      target_date: '2026-05-20',
    });
    const { text } = await root.post('/api/exports/csv', { study_id: own.id, dataset: 'visits', deidentify: true });
    expect(text).to.contain('Month 1').and.not.contain(secret);
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x' });
    expect(await placesOf(owner, secret)).to.deep.equal([]);
    expect((await visits()).items.map(({ name }) => name)).to.deep.equal(['Month 1', 'Month 1']);
  });
});
