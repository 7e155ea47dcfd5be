import { expect } from 'chai';
import pg from 'pg';
import { admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';

describe('Isolation of studies and sites', () => {
  let root: Http;
  let mine: Loose;
  let other: Loose;
  let researcher: Http;
  let foreign: { participant: Loose; site: Loose; window: Loose; visit: Loose; consent: Loose; form: Loose };
  before(async () => {
    root = await admin();
    [mine, other] = [await newStudy(root), await newStudy(root)];
    researcher = await user(root, 'researcher', { study_ids: [mine.id] });
    const participant = await newParticipant(root, other.id);
    const of = `/api/studies/${other.id}/participants/${participant.id}`;
    foreign = {
      participant,
      site: await root.expect(201, 'POST', `/api/studies/${other.id}/sites`, { site_code: 'X' }),
      window: await root.expect(201, 'POST', '/api/schedules/windows', {
        study_id: other.id,
        code: 'W',
        name: 'W',
        target_day: 1,
      }),
      visit: await root.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: participant.id,
        name: 'V',
        target_date: '2026-01-01',
      }),
      consent: await root.expect(201, 'POST', `${of}/consents`, { status: 'pending' }),
      form: await root.expect(201, 'POST', `${of}/forms`, { form_oid: 'F' }),
    };
  });

  const requests = (): [string, string, unknown?][] => {
    const of = `/api/studies/${other.id}/participants/${foreign.participant.id}`;
    // A participant of another study under the path of one's own.
    const through = `/api/studies/${mine.id}/participants/${foreign.participant.id}`;
    return [
      ['GET', `/api/studies/${other.id}`],
      ['PATCH', `/api/studies/${other.id}`, { study_name: 'taken' }],
      ['GET', `/api/studies/${other.id}/events`],
      ['GET', `/api/studies/${other.id}/sites`],
      ['POST', `/api/studies/${other.id}/sites`, { site_code: 'Z' }],
      ['GET', `/api/sites/${foreign.site.id}`],
      ['PATCH', `/api/sites/${foreign.site.id}`, { name: 'taken' }],
      ['GET', `/api/studies/${other.id}/participants`],
      ['POST', `/api/studies/${other.id}/participants`, { participant_code: 'Z' }],
      ['GET', `/api/participants?study_id=${other.id}`],
      ['GET', `/api/participants/${foreign.participant.id}`],
      ['PATCH', `/api/participants/${foreign.participant.id}`, { phone: '12345' }],
      ['DELETE', `/api/participants/${foreign.participant.id}`],
      ['POST', `/api/participants/${foreign.participant.id}/withdraw`, { reason: 'x' }],
      ...[of, through].flatMap((path): [string, string, unknown?][] => [
        ['GET', `${path}/consents`],
        ['POST', `${path}/consents`, { status: 'signed' }],
        ['PATCH', `${path}/consents/${foreign.consent.id}`, { status: 'signed' }],
        ['GET', `${path}/eligibility`],
        ['PUT', `${path}/eligibility`, { status: 'eligible' }],
        ['GET', `${path}/randomization`],
        ['POST', `${path}/randomization`, { arm: 'A', randomized_at: '2026-01-01T00:00:00Z' }],
        ['GET', `${path}/forms`],
        ['POST', `${path}/forms`, { form_oid: 'F' }],
        ['PATCH', `${path}/forms/${foreign.form.id}`, { status: 'complete' }],
      ]),
      ['GET', `/api/schedules/windows/${foreign.window.id}`],
      ['PATCH', `/api/schedules/windows/${foreign.window.id}`, { name: 'taken' }],
      ['DELETE', `/api/schedules/windows/${foreign.window.id}`],
      ['POST', '/api/schedules/windows', { study_id: other.id, code: 'Z', name: 'Z', target_day: 1 }],
      ['GET', `/api/schedules/visits?study_id=${other.id}`],
      [
        'POST',
        '/api/schedules/visits',
        { participant_id: foreign.participant.id, name: 'Z', target_date: '2026-01-01' },
      ],
      ['GET', `/api/visits/${foreign.visit.id}`],
      ['PATCH', `/api/visits/${foreign.visit.id}`, { name: 'taken' }],
      ['POST', `/api/visits/${foreign.visit.id}/complete`, {}],
    ];
  };

  it('what is of another study is 404, whatever the request', async () => {
    for (const [method, path, body] of requests()) {
      const answer = await researcher.send(method, path, body);
      expect(answer.status, `${method} ${path}: ${answer.text}`).to.equal(404);
    }
  });

  it('a participant of one study under the path of another is 404 for an admin, too', async () => {
    const of = `/api/studies/${mine.id}/participants/${foreign.participant.id}`;
    for (const path of [`${of}/consents`, `${of}/forms`, `${of}/eligibility`])
      expect((await root.get(path)).status).to.equal(404);
    expect(
      (await root.get(`/api/participants/${foreign.participant.id}`, { headers: { 'X-Study-ID': mine.id } })).status,
    ).to.equal(404);
    expect(
      (await root.get(`/api/participants/${foreign.participant.id}`, { headers: { 'X-Study-ID': other.id } })).status,
    ).to.equal(200);
  });

  it('a list without context answers for every study that the caller may see, and for no other', async () => {
    const own = await newParticipant(root, mine.id);
    const codes = (await researcher.expect(200, 'GET', '/api/participants?limit=500')).items.map((i) => i.id);
    expect(codes).to.include(own.id).and.not.include(foreign.participant.id);
    expect((await researcher.expect(200, 'GET', '/api/studies')).items.map((i) => i.id)).to.deep.equal([mine.id]);
    const windows = await researcher.expect(200, 'GET', '/api/schedules/windows');
    const visits = await researcher.expect(200, 'GET', '/api/schedules/visits');
    expect([windows.total, visits.total]).to.deep.equal([0, 0]);
    // Looked for by their codes: what others have made is on the pages as well.
    for (const one of [own, foreign.participant]) {
      const { items } = await root.expect(200, 'GET', `/api/participants?search=${one.participant_code}`);
      expect(items.map((i) => i.id)).to.include(one.id);
    }
  });

  it('a study that a researcher creates is theirs', async () => {
    const study = await newStudy(researcher);
    expect((await researcher.get(`/api/studies/${study.id}`)).status).to.equal(200);
    expect((await researcher.get(`/api/studies/${mine.id}`)).status).to.equal(200);
  });

  it('a query that forgets its filter shows nothing of another study, nor without a scope at all', async () => {
    const client = new pg.Client({ connectionString: (await service()).database_url, options: '-c role=research_app' });
    await client.connect();
    try {
      const seen = async (scope: string) => {
        await client.query('begin');
        await client.query(`select set_config('app.studies', $1, true)`, [scope]);
        const { rows } = await client.query(
          'select distinct study_id from participants union select distinct study_id from sites union select distinct study_id from audit_log where study_id is not null',
        );
        await client.query('rollback');
        return rows.map((row: { study_id: string }) => row.study_id);
      };
      expect(await seen(mine.id)).to.deep.equal([mine.id]);
      expect(await seen('')).to.deep.equal([]);
      const insert = await client
        .query(`insert into participants (study_id, participant_code) values ($1, 'forged')`, [other.id])
        .catch((fault: { code: string }) => fault);
      expect(insert).to.include({ code: '42501' });
      for (const statement of [
        'update audit_log set action = action',
        'delete from audit_log',
        'truncate audit_log',
        'alter table participants disable row level security',
      ]) {
        expect(await client.query(statement).catch((fault: { code: string }) => fault), statement).to.include({
          code: '42501',
        });
      }
    } finally {
      await client.end();
    }
  });

  describe('sites', () => {
    let sites: Loose[];
    let people: Loose[];
    let coordinator: Http;
    before(async () => {
      sites = [];
      people = [];
      for (const site_code of ['A', 'B']) {
        sites.push(await root.expect(201, 'POST', `/api/studies/${mine.id}/sites`, { site_code }));
        people.push(await newParticipant(root, mine.id, { site_code }));
      }
      coordinator = await user(root, 'coordinator', { study_ids: [mine.id], site_ids: [sites[0]!.id] });
    });

    it('a coordinator of a site sees its participants only', async () => {
      const list = await coordinator.expect(200, 'GET', `/api/studies/${mine.id}/participants?limit=500`);
      expect(list.items.map((i) => i.id)).to.deep.equal([people[0]!.id]);
      expect((await coordinator.get(`/api/participants/${people[0]!.id}`)).status).to.equal(200);
      expect((await coordinator.get(`/api/participants/${people[1]!.id}`)).status).to.equal(404);
      expect((await coordinator.get(`/api/studies/${mine.id}/participants/${people[1]!.id}/consents`)).status).to.equal(
        404,
      );
      const visit = await root.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: people[1]!.id,
        name: 'V',
        target_date: '2026-01-01',
      });
      expect((await coordinator.get(`/api/visits/${visit.id}`)).status).to.equal(404);
      expect((await coordinator.expect(200, 'GET', '/api/schedules/visits')).total).to.equal(0);
    });

    it('and enrolls and moves within it only', async () => {
      const enroll = (fields: object) =>
        coordinator.post(`/api/studies/${mine.id}/participants`, { participant_code: `x-${Math.random()}`, ...fields });
      expect((await enroll({ site_code: 'A' })).status).to.equal(201);
      for (const fields of [{ site_code: 'B' }, {}]) {
        const { status, body } = await enroll(fields);
        expect([status, body.code]).to.deep.equal([403, 'SITE_NOT_ASSIGNED']);
      }
      expect((await coordinator.patch(`/api/participants/${people[0]!.id}`, { site_code: 'B' })).status).to.equal(403);
    });

    it('assignment to a site of one study leaves another study whole', async () => {
      const both = await user(root, 'coordinator', { study_ids: [mine.id, other.id], site_ids: [sites[0]!.id] });
      expect((await both.get(`/api/participants/${foreign.participant.id}`)).status).to.equal(200);
      expect((await both.get(`/api/participants/${people[1]!.id}`)).status).to.equal(404);
      expect(
        (await both.post(`/api/studies/${other.id}/participants`, { participant_code: 'of no site' })).status,
      ).to.equal(201);
    });

    it('X-Site-ID narrows to a site of one’s own reach', async () => {
      const narrowed = async (http: Http, site: string) =>
        http.get('/api/participants', { headers: { 'X-Site-ID': site } });
      expect((await narrowed(root, sites[1]!.id)).body.items.map((i) => i.id)).to.deep.equal([people[1]!.id]);
      expect((await narrowed(coordinator, sites[1]!.id)).status).to.equal(404);
      expect((await narrowed(researcher, foreign.site.id)).status).to.equal(404);
      expect((await narrowed(root, '00000000-0000-4000-8000-000000000000')).status).to.equal(404);
    });
  });
});
