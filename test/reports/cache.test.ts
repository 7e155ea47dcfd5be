import { expect } from 'chai';
import type pg from 'pg';
import { admin, newParticipant, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { seesEverything } from '../support/everything.js';
import { until } from '../support/until.js';
import { Site } from '../assessment/stage.js';

describe('A report that was computed before', function () {
  this.timeout(120_000);
  let database: pg.Client;
  before(async () => {
    database = await seesEverything();
  });
  after(() => database.end());

  const summaryOf = async (http: Awaited<ReturnType<typeof admin>>, study: Loose, query = '', headers = {}) =>
    (
      await http.get<{ participants: { total: number }; sessions: { total: number; expired: number } }>(
        `/api/reports/studies/${study.id}/summary${query}`,
        { headers },
      )
    ).body;

  it('is given again as long as nothing of the study changes; the first change that follows counts at once', async () => {
    const { study, http } = await Site.open();
    expect((await summaryOf(http, study)).participants.total).to.equal(1);
    // What goes past the service leaves no record: that it does not count shows that the answer was kept.
    await database.query(`insert into participants (study_id, participant_code) values ($1, 'unrecorded')`, [study.id]);
    expect((await summaryOf(http, study)).participants.total).to.equal(1);
    expect((await summaryOf(http, study, '?to=2999-01-01&arm=none')).participants.total).to.equal(0);
    await newParticipant(http, study.id);
    expect((await summaryOf(http, study)).participants.total).to.equal(3);
  });

  it('stays through what is only read: a page of visits, which is an audit record', async () => {
    const { study, http } = await Site.open();
    expect((await summaryOf(http, study)).participants.total).to.equal(1);
    await http.expect(200, 'GET', `/api/reports/studies/${study.id}/visits`);
    await database.query(`insert into participants (study_id, participant_code) values ($1, 'unrecorded')`, [study.id]);
    expect((await summaryOf(http, study)).participants.total).to.equal(1);
  });

  it('is not that of somebody who sees other sites', async () => {
    const { study, http } = await Site.open();
    const site = await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'ONE' });
    await newParticipant(http, study.id, { site_code: 'ONE' });
    const coordinator = await user(http, 'coordinator', { study_ids: [study.id], site_ids: [site.id] });
    expect((await summaryOf(http, study)).participants.total).to.equal(2);
    expect((await summaryOf(coordinator, study)).participants.total).to.equal(1);
    expect((await summaryOf(http, study)).participants.total).to.equal(2);
    expect((await summaryOf(http, study, '', { 'X-Site-ID': site.id })).participants.total).to.equal(1);
  });

  it('ends with the time of a session, which nobody records', async () => {
    const site = await Site.open();
    const id = await site.session({ visit_id: null });
    await database.query(
      `update assessment_sessions set expires_at = clock_timestamp() + interval '3 seconds' where id = $1`,
      [id],
    );
    expect((await summaryOf(site.http, site.study)).sessions).to.include({ total: 1 });
    await until(async () => (await summaryOf(site.http, site.study)).sessions.expired === 1, {
      what: 'the session to count as expired',
    });
  });
});
