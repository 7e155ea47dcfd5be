import { expect } from 'chai';
import { Site } from '../assessment/stage.js';
import { Http, admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { STUDY_REPORTS, whileTheDayLasts } from './world.js';

describe('Reports', function () {
  let root: Http;
  let study: Loose;
  before(async () => {
    root = await admin();
    study = await newStudy(root, { consent_mode: 'external' });
  });

  it('of an empty study are zeros, and nothing due has no rate', async () => {
    const summary = await root.expect<Loose>(200, 'GET', `/api/reports/studies/${study.id}/summary`);
    expect(summary.participants).to.deep.equal({ total: 0, enrolled: 0, withdrawn: 0 });
    expect(summary.adherence).to.deep.equal({ due: 0, completed_in_window: 0, rate: null });
    expect(summary.filters).to.deep.equal({ from: null, to: null, site_code: null, arm: null });
    for (const name of STUDY_REPORTS)
      expect(await root.expect(200, 'GET', `/api/reports/studies/${study.id}/${name}`), name).to.have.property(
        'generated_at',
      );
  });

  it('a filter that cannot be meant is refused, naming it', async () => {
    const { id } = await newParticipant(root, study.id);
    const ofStudy = `/api/reports/studies/${study.id}/summary`,
      totals = '/api/reports/summary',
      ofPerson = `/api/reports/participants/${id}`;
    const dates = [
      ['from=2026-02-30', 422, 'query.from'],
      ['from=yesterday', 422, 'query.from'],
      ['from=2026-02-02&to=2026-02-01', 400, 'query.from'],
    ] as const;
    const cases = [ofStudy, totals, ofPerson].flatMap((at) =>
      [...dates, ...(at === ofPerson ? [] : [['site_code=', 422, 'query.site_code'] as const])].map(
        (one) => [at, ...one] as const,
      ),
    );
    for (const [at, query, status, path] of cases) {
      const answer = await root.get(`${at}?${query}`);
      expect(answer.status, `${at}?${query}`).to.equal(status);
      expect(
        answer.body.errors.map((e) => e.path),
        `${at}?${query}`,
      ).to.include(path);
    }
    const { items } = await root.expect<Loose>(200, 'GET', `/api/audit?study_id=${study.id}&action=report_read`);
    expect(
      items.filter((entry: Loose) => entry.resource_id === id),
      'nobody has read of the participant',
    ).to.deep.equal([]);
  });

  it('are there for every role of the study and not there for others', async () => {
    const outsider = await user(root, 'researcher');
    for (const name of STUDY_REPORTS)
      expect((await outsider.get(`/api/reports/studies/${study.id}/${name}`)).status, name).to.equal(404);
    for (const role of ['researcher', 'coordinator', 'investigator', 'data_manager'] as const) {
      const member = await user(root, role, { study_ids: [study.id] });
      for (const name of STUDY_REPORTS)
        expect((await member.get(`/api/reports/studies/${study.id}/${name}`)).status, `${role} ${name}`).to.equal(200);
    }
    expect((await new Http(root.base).get('/api/reports/summary')).status).to.equal(401);
  });

  it('the summary of all counts the caller’s studies alone; X-Study-ID narrows it to one', async () => {
    const own = await newStudy(root),
      other = await newStudy(root);
    for (const { id } of [own, own, other]) await newParticipant(root, id);
    const member = await user(root, 'data_manager', { study_ids: [own.id, other.id] });
    const { studies, participants, sessions, visits } = await member.expect<Loose>(200, 'GET', '/api/reports/summary');
    expect({ studies, participants, sessions, visits }).to.deep.equal({
      studies: 2,
      participants: 3,
      sessions: 0,
      visits: 0,
    });
    expect((await member.get('/api/reports/summary', { headers: { 'X-Study-ID': own.id } })).body).to.include({
      studies: 1,
      participants: 2,
    });
  });

  it('a coordinator of one site sees that site’s people alone, and none of their report elsewhere', async () => {
    const [a, b] = [
      await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'A' }),
      await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'B' }),
    ];
    await newParticipant(root, study.id, { site_code: 'A' });
    const elsewhere = await newParticipant(root, study.id, { site_code: 'B' });
    const coordinator = await user(root, 'coordinator', { study_ids: [study.id], site_ids: [a.id] });
    const sites = await coordinator.expect<Loose>(200, 'GET', `/api/reports/studies/${study.id}/sites`);
    expect(sites.items).to.deep.equal([
      { site_code: 'A', participants: 1, sessions: 0, visits_completed: 0, visits_missed: 0 },
    ]);
    expect((await coordinator.get(`/api/reports/participants/${elsewhere.id}`)).status).to.equal(404);
    const narrowed = await root.get<Loose>(`/api/reports/studies/${study.id}/sites`, {
      headers: { 'X-Site-ID': b.id },
    });
    expect(narrowed.body.items.map((s) => s.site_code)).to.deep.equal(['B']);
  });

  it('of a participant: anchor, schedule, visits, sessions and each metric over time, but nobody’s name; the reading is recorded', async () => {
    const site = await Site.open({ consent_mode: 'external', start_date: '2020-01-01' });
    const { http } = site;
    await http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: site.study.id,
      code: 'W1',
      name: 'Week 1',
      target_day: 0,
      window_after: 7,
    });
    const person = await site.newParticipant({
      participant_code: unique('R'),
      email: 'ada@example.org',
      date_of_birth: '1950-01-02',
    });
    await whileTheDayLasts();
    const today = new Date().toISOString().slice(0, 10);
    await http.expect(200, 'POST', `/api/studies/${site.study.id}/participants/${person.id}/anchor-date`, {
      enrollment_date: today,
    });
    for (const mean of [500, 450]) {
      const id = await site
        .session({ participant_id: person.id, ...(mean === 450 && { visit_id: null }) })
        .catch(() => site.session({ participant_id: person.id }));
      await site.submit(id, { task_summaries: { stroop: { mean_rt: mean } } });
      await site.end(id);
    }
    const found = await http.expect<
      Loose & {
        metrics: { task: string; metric: string; points: { value: number }[] }[];
        identity: Loose;
        anchor: Loose;
        schedule: Loose;
        visits: Loose[];
        sessions: Loose[];
      }
    >(200, 'GET', `/api/reports/participants/${person.id}`);
    expect(found.identity).to.include({
      id: person.id,
      participant_code: person.participant_code,
      status: 'enrolled',
      enrollment_date: today,
    });
    expect(found.anchor).to.include({ status: 'finalized', enrollment_date: today });
    expect(found.schedule).to.include({ version_number: 1 });
    expect(found.visits[0]).to.include({
      window_code: 'W1',
      status: 'completed',
      adherence: 'in_window',
      days_off_target: 0,
    });
    expect(found.sessions).to.have.length(2);
    expect(found.metrics).to.deep.include({
      task: 'stroop',
      metric: 'mean_rt',
      points: found.sessions.map((s, i) => ({ session_id: s.id, at: s.started_at, value: [500, 450][i] })),
    });
    expect(JSON.stringify(found)).not.to.match(/ada@example|1950-01-02/);
    for (const encoding of ['identity', 'gzip', 'br']) {
      const answer = await http.get<Loose>(`/api/reports/participants/${person.id}`, {
        headers: { 'accept-encoding': encoding },
      });
      expect(answer.headers.get('content-encoding'), encoding).to.equal(encoding === 'identity' ? null : encoding);
      expect({ ...answer.body, generated_at: found.generated_at }, encoding).to.deep.equal(found);
    }
    const audit = await http.expect<Loose>(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=500`);
    expect(audit.items.some((entry) => entry.action === 'report_read' && entry.resource_id === person.id)).to.equal(
      true,
    );
  });
});
