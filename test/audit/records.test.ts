import { expect } from 'chai';
import { admin, login, newStudy, user } from '../support/http.js';
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
    expect((await all(`user_id=${root.userId}&from=${before}`)).total).to.equal(total);
    expect((await all(`to=${before}`)).total).to.equal(0);
    expect((await root.get('/api/audit?from=yesterday')).status).to.equal(422);
  });
});
