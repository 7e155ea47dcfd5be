import { expect } from 'chai';
import { admin, goodPassword, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

describe('The sites that a user is assigned to', () => {
  let root: Http;
  let one: Loose;
  let other: Loose;
  let here: Loose;
  let elsewhere: Loose;
  before(async () => {
    root = await admin();
    [one, other] = [await newStudy(root), await newStudy(root)];
    [here, elsewhere] = [await siteOf(one), await siteOf(other)];
    await newParticipant(root, one.id);
    await newParticipant(root, other.id);
  });
  const siteOf = ({ id }: Loose) =>
    root.expect<Loose>(201, 'POST', `/api/studies/${id}/sites`, { site_code: unique('A'), name: 'A site' });
  const person = (assigned: object) => ({
    email: `${unique('staff')}@example.org`,
    name: 'A coordinator',
    role: 'coordinator',
    ...assigned,
  });
  const change = (id: string, body: object) => root.patch(`/api/users/${id}`, body);
  function refused({ status, body }: { status: number; body: Loose }, ...sites: [number, Loose][]) {
    expect([status, body.errors?.map(({ path, code }) => [path, code])]).to.deep.equal([
      400,
      sites.map(([at]) => [`site_ids.${at}`, 'SITE_OF_OTHER_STUDY']),
    ]);
    for (const [, site] of sites) expect(body.detail).to.contain(site.id);
  }

  it('are sites of its studies: one of another study is refused, with all that came with it', async () => {
    const inviting = person({ study_ids: [one.id], site_ids: [elsewhere.id] });
    const registering = { ...inviting, site_ids: [here.id, elsewhere.id.toUpperCase()], password: goodPassword };
    refused(await root.post('/api/auth/register', registering), [1, elsewhere]);
    refused(await root.post('/api/auth/register', { ...registering, study_ids: [] }), [0, here], [1, elsewhere]);
    refused(await root.post('/api/users/invite', inviting), [0, elsewhere]);
    expect((await root.expect(200, 'GET', `/api/users?search=${registering.email}`)).total, 'nobody was made').to.equal(
      0,
    );
    const { body } = await root.post('/api/users/invite', { ...inviting, site_ids: [here.id] });
    expect(body).to.deep.include({ study_ids: [one.id], site_ids: [here.id] });
  });

  it('one that does not exist is still told as that', async () => {
    const { status, body } = await root.post(
      '/api/auth/register',
      person({ study_ids: [one.id], site_ids: ['00000000-0000-4000-8000-000000000000'], password: goodPassword }),
    );
    expect([status, body.errors[0]!.code]).to.deep.equal([400, 'UNKNOWN_SITE']);
  });

  it('are so after every change: of the sites, of the studies, of both', async () => {
    const { userId: id } = await user(root, 'coordinator', { study_ids: [one.id], site_ids: [here.id] });
    const stands = () => root.expect(200, 'GET', `/api/users?sort=-created_at&limit=1`).then(({ items }) => items[0]!);
    const before = await stands();
    refused(await change(id!, { site_ids: [here.id, elsewhere.id] }), [1, elsewhere]);
    refused(await change(id!, { study_ids: [other.id], site_ids: [here.id] }), [0, here]);
    refused(await change(id!, { study_ids: [], site_ids: [here.id], status: 'inactive' }), [0, here]);
    expect(await stands(), 'as it was').to.deep.equal(before);
    expect((await change(id!, { study_ids: [other.id], site_ids: [elsewhere.id] })).body).to.deep.include({
      study_ids: [other.id],
      site_ids: [elsewhere.id],
    });
    expect((await change(id!, { study_ids: [other.id, one.id] })).body, 'nothing is taken').to.deep.include({
      site_ids: [elsewhere.id],
    });
    expect((await change(id!, { study_ids: [one.id] })).body, 'the site goes with its study').to.deep.include({
      study_ids: [one.id],
      site_ids: [],
    });
  });

  it('of two changes at once, one of the studies and one of the sites, neither leaves a site without its study', async () => {
    const { userId: id } = await user(root, 'coordinator', { study_ids: [one.id, other.id] });
    for (let i = 0; i < 5; i += 1) {
      await root.expect(200, 'PATCH', `/api/users/${id}`, { study_ids: [one.id, other.id], site_ids: [] });
      const [studies] = await Promise.all([
        change(id!, { study_ids: [one.id] }),
        change(id!, { site_ids: [elsewhere.id] }),
      ]);
      expect(studies.status).to.equal(200);
      expect((await root.expect(200, 'GET', `/api/users?sort=-created_at&limit=1`)).items[0]).to.deep.include({
        study_ids: [one.id],
        site_ids: [],
      });
    }
  });

  it('narrow their own study; another study without any is seen whole', async () => {
    const both = await user(root, 'coordinator', { study_ids: [one.id, other.id], site_ids: [here.id] });
    const seen = async ({ id }: Loose) => (await both.expect(200, 'GET', `/api/studies/${id}/participants`)).total;
    expect([await seen(one), await seen(other)]).to.deep.equal([0, 1]);
  });
});
