import { expect } from 'chai';
import { Site, day, trials } from '../assessment/stage.js';
import type { BulkView } from '../assessment/stage.js';
import { imported } from '../data/stage.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { enterPortal, ownDate } from '../support/portal.js';

const ENDED = ['completed', 'archived'];

describe('What a study’s status allows', function () {
  this.timeout(120_000);
  let http: Http;
  before(async () => {
    http = await admin();
  });
  const become = (study: Loose, status: string) => http.expect(200, 'PATCH', `/api/studies/${study.id}`, { status });

  it('one that has ended enrolls nobody, by hand or by a file; those who are enrolled are corrected', async () => {
    const study = await newStudy(http);
    const [known, codes] = [await newParticipant(http, study.id), unique('N')];
    const enroll = () => http.post(`/api/studies/${study.id}/participants`, { participant_code: unique('P') });
    const file = `participant_code,site_code,arm\n${codes},NEW,A\n${String(known.participant_code)},,B\n`;
    const query = '?mode=upsert&create_missing_sites=true';
    for (const status of ENDED) {
      await become(study, status);
      expect([(await enroll()).status, (await enroll()).body.code], status).to.deep.equal([409, 'STUDY_CLOSED']);
      const preview = await imported(http, study.id, file, `${query}&dry_run=true`);
      expect(preview).to.include({ imported_count: 0, updated_count: 1, error_count: 1 });
    }
    const result = await imported(http, study.id, file, query);
    expect(result).to.include({ imported_count: 0, updated_count: 1, success: false });
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([[2, null, 'STUDY_CLOSED']]);
    expect(result.created_sites).to.deep.equal([]);
    const { items } = await http.expect(200, 'GET', `/api/studies/${study.id}/participants`);
    expect(items.map(({ id, arm }) => [id, arm])).to.deep.equal([[known.id, 'B']]);
    await become(study, 'active');
    expect((await enroll()).status).to.equal(201);
    expect(await imported(http, study.id, file, query)).to.include({ imported_count: 1, error_count: 0 });
  });

  it('drafts and paused studies enroll by hand and by a file', async () => {
    const study = await newStudy(http);
    for (const status of ['draft', 'paused']) {
      await become(study, status);
      await newParticipant(http, study.id);
      const file = `participant_code\n${unique('N')}\n`;
      expect(await imported(http, study.id, file), status).to.include({ imported_count: 1 });
    }
  });

  it('participants of one that has ended do not set their date any more; its staff do', async () => {
    const study = await newStudy(http, { consent_mode: 'external', config: { enrollment_date_policy: ownDate } });
    const participant = await newParticipant(http, study.id);
    const portal = await enterPortal(http, participant.id);
    const path = `/api/studies/${study.id}/participants/${participant.id}/anchor-date`;
    for (const status of ENDED) {
      await become(study, status);
      const refused = await portal.post(path, { enrollment_date: day(-1) });
      expect([refused.status, refused.body.code], status).to.deep.equal([403, 'FORBIDDEN']);
      expect(await portal.expect(200, 'GET', path)).to.include({ status: 'unset' });
    }
    await become(study, 'active');
    expect(await portal.expect(200, 'POST', path, { enrollment_date: day(-1) })).to.include({ status: 'finalized' });
    await become(study, 'archived');
    expect(await http.expect(200, 'POST', path, { enrollment_date: day(-1) })).to.include({ status: 'finalized' });
  });

  it('participants of one that is paused start nothing, staff are warned, and what devices have is kept', async () => {
    const paused = await Site.open();
    const [visit, begun] = [await paused.visit(), await paused.visit({ name: 'Begun' })];
    const portal = await enterPortal(http, paused.participant.id);
    const start = { participant_id: paused.participant.id, language: 'en' };
    const running = await portal.expect(201, 'POST', '/api/session/start', { ...start, visit_id: begun.id });
    await become(paused.study, 'paused');
    for (const more of [{ visit_id: visit.id }, {}])
      expect(await portal.expect(409, 'POST', '/api/session/start', { ...start, ...more })).to.include({
        code: 'VISIT_NOT_OPEN',
        detail: 'The study is paused.',
      });
    expect((await paused.start({ visit_id: visit.id })).body.warnings).to.deep.equal([
      { code: 'STUDY_PAUSED', message: 'The study is paused.' },
    ]);
    const id = String(running.sessionId);
    const results = { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: trials('stroop', 3) };
    expect((await paused.submit(id, results)).body.status).to.equal('accepted');
    expect((await paused.end(id)).body).to.include({ status: 'completed', visit_id: begun.id });
    const late = { sessions: [paused.item('late-1', { visitId: visit.id })], responses: [] };
    for (const status of ['paused', 'completed']) {
      await become(paused.study, status);
      const { results: kept } = await portal.expect<BulkView>(200, 'POST', '/api/sync/bulk', late);
      expect(kept[0]!.status, status).to.equal(status === 'paused' ? 'created' : 'duplicate');
    }
    expect(await paused.seeVisit(visit.id)).to.include({ status: 'completed' });
  });

  it('participants of one that has ended see no visit ahead, in their list and in their timeline alike', async () => {
    const site = await Site.open();
    const [done] = [await site.visit({ name: 'Done' }), await site.visit({ name: 'Due now' })];
    await site.visit({ name: 'Ahead' }, [20, 24]);
    await http.expect(200, 'POST', `/api/visits/${done.id}/complete`, {});
    const portal = await enterPortal(http, site.participant.id);
    const seen = async () => {
      const { items: visits } = await portal.expect(200, 'GET', '/api/portal/visits');
      const { items } = await portal.expect(200, 'GET', '/api/portal/timeline?kind=visit');
      return [visits.map(({ name }) => name), items.map(({ data }) => (data as Loose).name)].map((names) =>
        names.sort(),
      );
    };
    const all = ['Ahead', 'Done', 'Due now'];
    expect(await seen()).to.deep.equal([all, all]);
    for (const status of ENDED) {
      await become(site.study, status);
      expect(await seen(), status).to.deep.equal([['Done'], ['Done']]);
    }
    await become(site.study, 'active');
    expect(await seen()).to.deep.equal([all, all]);
  });

  it('a file gives back nothing that an erasure removed, and says so by field; the rest of its rows counts', async () => {
    const study = await newStudy(http);
    const [gone, other] = [await newParticipant(http, study.id), await newParticipant(http, study.id)];
    await http.expect(200, 'POST', `/api/participants/${gone.id}/erase`, { reason: 'asked for' });
    const row = (who: Loose) => `${String(who.participant_code)},a@example.org,+49301234567,1980-02-03\n`;
    const file = `participant_code,email,phone,date_of_birth\n${row(gone)}${row(other)}`;
    const result = await imported(http, study.id, file, '?mode=upsert');
    expect(result).to.include({ updated_count: 1, error_count: 1 });
    expect(result.errors[0]).to.deep.include({ row: 2, field: 'email', code: 'ERASED' });
    expect(result.errors[0]!.others!.map(({ code }) => code)).to.deep.equal(['ERASED', 'ERASED']);
    const { items } = await http.expect(
      200,
      'GET',
      `/api/audit?study_id=${study.id}&resource_id=${gone.id}&action=participant_changed`,
    );
    expect(items).to.deep.equal([]);
    const coded = `participant_code,arm\n${String(gone.participant_code)},B\n`;
    expect(await imported(http, study.id, coded, '?mode=upsert')).to.include({ updated_count: 1, error_count: 0 });
  });
});
