import { expect } from 'chai';
import { admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

describe('An answer that is stored under an Idempotency-Key', () => {
  let root: Http;
  let study: Loose;
  let sites: Loose[];
  let coordinator: Http;
  let key: { headers: Record<string, string> };
  before(async () => {
    root = await admin();
    study = await newStudy(root);
    sites = [];
    for (const site_code of ['A', 'B'])
      sites.push(await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code }));
  });
  beforeEach(async () => {
    key = { headers: { 'Idempotency-Key': unique() } };
    coordinator = await user(root, 'coordinator', { study_ids: [study.id] });
  });

  const narrow = (change: object) => root.expect(200, 'PATCH', `/api/users/${coordinator.userId}`, change);
  /** The requests whose answers are repeated: each names what it is about in another place. */
  const requests = async (): Promise<[string, unknown?][]> => {
    const { id, participant_code } = await newParticipant(root, study.id, { site_code: 'A' });
    const visit = await root.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: id,
      name: 'V',
      target_date: '2026-01-01',
    });
    const of = `/api/studies/${study.id}/participants`;
    return [
      [of, { participant_code: unique(), site_code: 'A', email: 'somebody@example.org' }],
      [`${of}/${id}/anchor-date/evaluate`, {}],
      ['/api/schedules/visits', { participant_id: id, name: 'W', target_date: '2026-01-02' }],
      [`/api/visits/${visit.id}/complete`, {}],
      ['/api/session/start', { study_id: study.id, site_id: 'A', participant_id: participant_code, language: 'en' }],
      [`/api/participants/${id}/withdraw`, { reason: 'moved' }],
    ];
  };
  const sent = async () => {
    const all = await requests();
    for (const [path, body] of all)
      expect((await coordinator.post(path, body, key)).status, path).to.be.within(200, 202);
    return all;
  };
  const refused = async (all: [string, unknown?][]) => {
    for (const [path, body] of all) {
      const answer = await coordinator.post(path, body, key);
      expect([answer.status, answer.body.code], `${path}: ${answer.text}`).to.deep.equal([404, 'NOT_FOUND']);
      expect(answer.text, path).not.to.include('somebody');
    }
  };

  it('is not given to who may not see any more what it is about: another site', async () => {
    const all = await sent();
    await narrow({ site_ids: [sites[1]!.id] });
    await refused(all);
    await narrow({ site_ids: [sites[0]!.id] });
    for (const [path, body] of all)
      expect((await coordinator.post(path, body, key)).headers.get('idempotent-replay'), path).to.equal('true');
  });

  it('nor another study', async () => {
    const all = await sent();
    await narrow({ study_ids: [(await newStudy(root)).id] });
    await refused(all);
  });

  it('nor a participant who was moved to another site', async () => {
    await narrow({ site_ids: [sites[0]!.id] });
    const [path, body] = [`/api/studies/${study.id}/participants`, { participant_code: unique(), site_code: 'A' }];
    const { id } = (await coordinator.post(path, body, key)).body;
    await root.expect(200, 'PATCH', `/api/participants/${id}`, { site_code: 'B' });
    await refused([[path, body]]);
    expect((await root.get(`/api/participants/${id}`)).status).to.equal(200);
  });

  it('is given to who was admitted to more meanwhile', async () => {
    const body = { study_code: unique(), study_name: 'X' };
    const researcher = await user(root, 'researcher');
    const made = await researcher.post('/api/studies', body, key);
    expect((await researcher.post('/api/studies', body, key)).text).to.equal(made.text);
  });
});
