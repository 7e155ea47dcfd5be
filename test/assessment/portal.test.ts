import { expect } from 'chai';
import type { Http, Loose } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { DAY_MS, HOUR, Site, instant, trials } from './stage.js';
import type { BulkView, ItemView } from './stage.js';

describe('a participant’s own device', function () {
  let site: Site;
  let other: Loose;
  let device: Http;
  before(async () => {
    site = await Site.open();
    other = await site.newParticipant();
    device = await enterPortal(site.http, site.participant.id);
  });

  const start = (fields: Record<string, unknown> = {}) =>
    device.post('/api/session/start', { participant_id: site.participant.id, language: 'en', ...fields });

  it('starts a session for its open visit, submits, ends it: the visit is completed', async () => {
    const visit = await site.visit();
    const started = await start();
    expect(started.status, started.text).to.equal(201);
    expect(started.body).to.include({ visitId: visit.id });
    const id = String(started.body.sessionId);
    expect(
      (await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: trials('stroop', 3) })).body
        .status,
    ).to.equal('accepted');
    expect((await site.end(id)).body.status).to.equal('completed');
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: id });
    const [record] = (await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&action=session_started`))
      .items;
    expect(record).to.deep.include({ user_id: null, resource_id: id });
    // A completed visit is not done again.
    expect((await start({ visit_id: visit.id })).body.code).to.equal('VISIT_COMPLETED');
  });

  it('may name itself by its code, without naming the study', async () => {
    expect((await start({ participant_id: site.participant.participant_code })).status).to.equal(201);
  });

  it('is refused once the study has ended, where staff are warned', async () => {
    const ended = await Site.open();
    const visit = await ended.visit();
    const portal = await enterPortal(ended.http, String(ended.participant.id));
    const start = { participant_id: ended.participant.id, language: 'en' };
    for (const status of ['completed', 'archived']) {
      await ended.http.expect(200, 'PATCH', `/api/studies/${ended.study.id}`, { status });
      for (const more of [{ visit_id: visit.id }, {}])
        expect((await portal.expect(409, 'POST', '/api/session/start', { ...start, ...more })).code, status).to.equal(
          'VISIT_NOT_OPEN',
        );
      const { body } = await ended.start({ visit_id: visit.id });
      expect(body.warnings, status).to.deep.equal([{ code: 'STUDY_ENDED', message: 'The study has ended.' }]);
    }
    await ended.http.expect(200, 'PATCH', `/api/studies/${ended.study.id}`, { status: 'active' });
    await portal.expect(201, 'POST', '/api/session/start', { ...start, visit_id: visit.id });
  });

  it('is refused outside the window with 409 VISIT_NOT_OPEN, where staff are warned', async () => {
    const later = await site.visit({}, [5, 6]);
    const refused = await start({ visit_id: later.id });
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'VISIT_NOT_OPEN']);
    const warned = await site.start({ visit_id: later.id });
    expect((warned.body.warnings as unknown as { code: string }[]).map(({ code }) => code)).to.deep.equal([
      'OUTSIDE_WINDOW',
    ]);
  });

  it('acts for nobody else, and learns of nobody else', async () => {
    expect((await start({ participant_id: other.id })).status).to.equal(404);
    const theirs = await site.session({ participant_id: other.id });
    const own = site.item('own-1');
    const items = {
      sessions: [own, site.item('theirs-1', { participantId: other.id })],
      responses: [{ id: 'r', sessionId: theirs, task: 'stroop', summary: { accuracy: 1 }, trials: [] }],
    };
    const { results } = await device.expect<BulkView>(200, 'POST', '/api/sync/bulk', items);
    expect(results.map(({ status, code }) => [status, code])).to.deep.equal([
      ['created', undefined],
      ['rejected', 'UNKNOWN_PARTICIPANT'],
      ['rejected', 'UNKNOWN_SESSION'],
    ]);
    const asked = await device.expect<{ has_conflicts: boolean }>(200, 'POST', '/api/sync/check-conflicts', {
      sessions: [own],
      responses: [],
    });
    expect(asked.has_conflicts).to.equal(false);
    expect((await device.get(`/api/sessions/${theirs}`)).status).to.equal(401);
  });

  it('is given the compiled battery of its study', async () => {
    const battery = await site.http.expect(201, 'POST', '/api/batteries', {
      study_id: site.study.id,
      code: 'PORTAL',
      name: 'For the device',
    });
    await site.http.expect(201, 'POST', `/api/batteries/${battery.id}/modules`, { task: 'stroop', name: 'Stroop' });
    await site.http.expect(200, 'PATCH', `/api/batteries/${battery.id}`, { status: 'published' });
    const mine = await device.get(`/api/batteries/${battery.id}/compile`);
    expect([mine.status, mine.text]).to.deep.equal([
      200,
      (await site.http.get(`/api/batteries/${battery.id}/compile`)).text,
    ]);
    const elsewhere = await Site.open();
    const foreign = await elsewhere.http.expect(201, 'POST', '/api/batteries', {
      study_id: elsewhere.study.id,
      code: 'OTHER',
      name: 'Not for it',
    });
    expect((await device.get(`/api/batteries/${foreign.id}/compile`)).status).to.equal(404);
  });

  it('a withdrawn participant’s token starts nothing any more', async () => {
    const leaving = await site.newParticipant();
    const theirs = await enterPortal(site.http, leaving.id);
    await site.http.expect(200, 'POST', `/api/participants/${leaving.id}/withdraw`, { reason: 'moved away' });
    const refused = await theirs.post('/api/session/start', { participant_id: leaving.id, language: 'en' });
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'PARTICIPANT_WITHDRAWN']);
  });

  it('a withdrawn participant’s device delivers what it recorded before, for 30 days, and nothing else', async () => {
    const leaving = async (days: number) => {
      const person = await site.newParticipant();
      const device = await enterPortal(site.http, person.id);
      const withdrawn_at = instant(-days * DAY_MS - 60_000);
      await site.http.expect(200, 'POST', `/api/participants/${person.id}/withdraw`, { reason: 'moved', withdrawn_at });
      return { person, device };
    };
    const { person, device } = await leaving(2);
    const at = (days: number) => ({ startedAt: instant(-days * DAY_MS), completedAt: instant(-days * DAY_MS + HOUR) });
    const answer = (id: string, sessionId: string, days: number) => ({
      id,
      sessionId,
      task: 'stroop',
      trials: trials('stroop', 1, { timestamp: instant(-days * DAY_MS) }),
    });
    const bulk = {
      sessions: [
        site.item('before', { participantId: person.id, ...at(3) }),
        site.item('after', { participantId: person.id, ...at(1) }),
        site.item('other', at(3)),
      ],
      responses: [answer('r1', 'before', 3), answer('r2', 'before', 1), answer('r3', 'after', 3)],
    };
    const { results } = await device.expect<BulkView>(200, 'POST', '/api/sync/bulk', bulk);
    expect(results.map(({ local_id, status, code }) => [local_id, code ?? status])).to.deep.equal([
      ['before', 'created'],
      ['after', 'PARTICIPANT_WITHDRAWN'],
      ['other', 'UNKNOWN_PARTICIPANT'],
      ['r1', 'created'],
      ['r2', 'PARTICIPANT_WITHDRAWN'],
      ['r3', 'UNKNOWN_SESSION'],
    ]);
    expect(await site.trials(results[0]!.server_id!)).to.have.length(1);
    expect((await device.expect<BulkView>(200, 'POST', '/api/sync/bulk', bulk)).duplicates).to.equal(2);
    const report = await device.expect<Loose & { rejected: ItemView[] }>(
      200,
      'POST',
      '/api/sync/check-conflicts',
      bulk,
    );
    expect(report.rejected.map(({ local_id }) => local_id)).to.deep.equal(['after', 'other', 'r2', 'r3']);
    const late = (await leaving(31)).device;
    for (const path of ['/api/sync/bulk', '/api/sync/check-conflicts']) {
      const refused = await late.post(path, bulk);
      expect([refused.status, refused.body.code]).to.deep.equal([403, 'PARTICIPANT_WITHDRAWN']);
    }
  });
});
