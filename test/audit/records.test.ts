import { expect } from 'chai';
import { admin, login, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

describe('What is an audit record', function suite() {
  let root: Http;
  before(async () => {
    root = await admin();
  });
  const recordsOf = async (userId: string, action: string) =>
    (await root.expect(200, 'GET', `/api/audit?user_id=${userId}&action=${action}`)).items;

  it('a login, a failed one, and what a role does not allow', async () => {
    const study = await newStudy(root);
    const other = await user(root, 'coordinator', { study_ids: [study.id] });
    await root.post('/api/auth/login', { email: other.email, password: 'not the password' });
    expect((await login(root.base, other.email, 'correct blue staple 42')).user.id).to.equal(other.userId);
    expect((await other.get('/api/users')).status).to.equal(403);
    expect((await other.patch(`/api/studies/${study.id}`, { study_name: 'x' })).status).to.equal(403);
    expect(await recordsOf(other.userId!, 'login')).to.have.length(2);
    expect((await recordsOf(other.userId!, 'login_failed')).map(({ audit_metadata }) => audit_metadata)).to.deep.equal([
      { reason: 'password' },
    ]);
    const refused = await recordsOf(other.userId!, 'access_refused');
    expect(refused.map(({ resource_id }) => resource_id)).to.have.members([
      'GET /api/users',
      'PATCH /api/studies/{study_id}',
    ]);
  });

  it('what is refused for what the request asks: a signature, a confirmation, another site', async () => {
    const study = await newStudy(root);
    const [a] = await Promise.all(
      ['A', 'B'].map((site_code) => root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code })),
    );
    const coordinator = await user(root, 'coordinator', { study_ids: [study.id], site_ids: [a!.id] });
    const { id } = await newParticipant(coordinator, study.id, { site_code: 'A' });
    const people = `/api/studies/${study.id}/participants`;
    const refusals = [
      await coordinator.post(`${people}/${id}/forms`, { form_oid: 'F', status: 'signed' }),
      await coordinator.put(`${people}/${id}/eligibility`, { status: 'eligible' }),
      await coordinator.post(people, { participant_code: unique(), site_code: 'B' }),
      await coordinator.post('/api/test/email', { recipient: 'other@example.org', subject: 's', body: 'b' }),
    ];
    expect(refusals.map(({ status }) => status)).to.deep.equal([403, 403, 403, 403]);
    const records = await recordsOf(coordinator.userId!, 'access_refused');
    expect(
      records.map(({ resource_id, request_id, audit_metadata }) => [resource_id, request_id, audit_metadata]).reverse(),
    ).to.deep.equal(
      [
        ['POST /api/studies/{study_id}/participants/{participant_id}/forms', 'FORBIDDEN'],
        ['PUT /api/studies/{study_id}/participants/{participant_id}/eligibility', 'FORBIDDEN'],
        ['POST /api/studies/{study_id}/participants', 'SITE_NOT_ASSIGNED'],
        ['POST /api/test/email', 'RECIPIENT_NOT_ALLOWED'],
      ].map(([route, code], i) => [route, refusals[i]!.body.request_id, { code, study_id: i < 3 ? study.id : null }]),
    );
  });

  it('a refused date once, in its study', async () => {
    const study = await newStudy(root);
    const { id } = await newParticipant(root, study.id);
    const other = await user(root, 'data_manager', { study_ids: [study.id] });
    const path = `/api/studies/${study.id}/participants/${id}/anchor-date`;
    expect((await other.post(path, { enrollment_date: '2024-01-01' })).status).to.equal(403);
    expect(await recordsOf(other.userId!, 'anchor_set_refused')).to.have.length(1);
    expect(await recordsOf(other.userId!, 'access_refused')).to.have.length(0);
  });

  it('what a study asks of its signatures, before and after', async () => {
    const study = await newStudy(root);
    const change = (fields: object) => root.expect(200, 'PATCH', `/api/studies/${study.id}`, fields);
    await change({ config: { signatures: { reauthenticate: true } } });
    await change({ config: { signatures: { reauthenticate: false } }, status: 'paused' });
    const { items } = await root.expect(200, 'GET', `/api/audit?study_id=${study.id}&action=study_changed`);
    expect(items.map(({ audit_metadata }) => audit_metadata)).to.deep.equal([
      {
        fields: ['config', 'status'],
        config: ['signatures'],
        status: 'paused',
        status_before: 'active',
        signatures: { reauthenticate: false },
        signatures_before: { reauthenticate: true },
      },
      {
        fields: ['config'],
        config: ['signatures'],
        signatures: { reauthenticate: true },
        signatures_before: null,
      },
    ]);
  });

  it('is found by study, person, action, resource and time, page by page', async () => {
    const before = new Date().toISOString();
    const study = await newStudy(root);
    const site = await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'A' });
    const all = (query: string) =>
      root.expect<{ items: Loose[]; total: number }>(200, 'GET', `/api/audit?study_id=${study.id}&${query}`);
    const { items, total } = await all('');
    expect(
      items.map(({ seq }) => seq),
      'newest first',
    ).to.deep.equal(Array.from({ length: total }, (_, i) => total - i));
    expect((await all('skip=1&limit=1')).items).to.deep.equal([items[1]]);
    expect((await all(`resource_type=site&resource_id=${site.id}`)).items).to.have.length(1);
    // Some platforms write ids in capitals.
    expect((await all(`resource_id=${String(site.id).toUpperCase()}`)).items).to.have.length(1);
    const { request_id: asked } = items[0]!;
    expect((await all(`request_id=${String(asked).toUpperCase()}`)).items[0]!.id).to.equal(items[0]!.id);
    expect((await all(`user_id=${root.userId}&from=${before}`)).total).to.equal(total);
    expect((await all(`to=${before}`)).total).to.equal(0);
    expect((await root.get('/api/audit?from=yesterday')).status).to.equal(422);
  });
});
