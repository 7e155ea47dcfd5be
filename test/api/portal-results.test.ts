import { expect } from 'chai';
import { Site, trials } from '../assessment/stage.js';
import type { Http, Loose } from '../support/http.js';
import { enterAsCaregiver, enterPortal } from '../support/portal.js';

interface Result {
  session_id: string;
  visit_id: string | null;
  visit_name: string | null;
  visit_code: string | null;
  completed_at: string;
  tasks: { task: string; title?: string; metrics: Record<string, number>; metric_titles?: Record<string, string> }[];
}
interface Results {
  items: Result[];
  total: number;
}

describe('A participant’s own results', function results() {
  this.timeout(120_000);
  let site: Site;
  let own: Http;
  const shared = (value: unknown) =>
    site.http.patch(`/api/studies/${site.study.id}`, { config: { portal_results: value } });
  const seen = (query = '', by = own, headers = {}) =>
    by.expect<Results>(200, 'GET', `/api/portal/results${query}`, undefined, { headers });
  before(async () => {
    site = await Site.open();
    own = await enterPortal(site.http, site.participant.id);
  });

  /** A session that gave something for each of these tasks, completed unless it is left open. */
  async function done(
    tasks: Record<string, Record<string, number>>,
    fields: Record<string, unknown> = {},
    end = true,
  ): Promise<string> {
    const id = await site.session(fields);
    for (const [task, summary] of Object.entries(tasks))
      await site.submit(id, { task_summaries: { [task]: summary }, raw_trials: trials(task, 4) });
    if (end) expect((await site.end(id)).status).to.equal(200);
    return id;
  }

  it('are the study’s alone unless it says otherwise', async () => {
    for (const allow of [undefined, 'none', null]) {
      if (allow !== undefined) expect((await shared(allow)).status).to.equal(200);
      const refused = await own.get('/api/portal/results');
      expect([refused.status, refused.body.code]).to.deep.equal([403, 'RESULTS_NOT_SHARED']);
    }
    for (const wrong of ['all', true, {}]) {
      const answer = await shared(wrong);
      expect([answer.status, answer.body.errors[0]!.path]).to.deep.equal([422, 'config.portal_results']);
    }
    expect(
      (
        await site.http.post('/api/studies', {
          study_code: 'X',
          study_name: 'X',
          config: { portal_results: 'everything' },
        })
      ).status,
    ).to.equal(422);
  });

  it('are what the tasks of completed sessions gave, newest first, with the visit’s name', async () => {
    expect((await shared('summary')).status).to.equal(200);
    expect(await seen()).to.deep.equal({ items: [], total: 0 });
    const visit = await site.visit({ name: 'Week 4' });
    const first = await done(
      { stroop: { accuracy: 0.875, mean_rt: 512.25 }, n_back: { hits: 7 } },
      { visit_id: visit.id },
    );
    const second = await done({ stroop: { accuracy: 1 } });
    await done({ stroop: { accuracy: 0.5 } }, {}, false);
    await done({}, {});
    const other = await site.newParticipant();
    await done({ stroop: { accuracy: 0.1 } }, { participant_id: other.id });
    const { items, total } = await seen();
    expect([total, items.map(({ session_id }) => session_id)]).to.deep.equal([2, [second, first]]);
    expect(items[1]).to.deep.include({
      visit_id: visit.id,
      visit_name: 'Week 4',
      visit_code: null,
      tasks: [
        { task: 'n_back', metrics: { hits: 7 }, summary_source: 'client' },
        { task: 'stroop', metrics: { accuracy: 0.875, mean_rt: 512.25 }, summary_source: 'client' },
      ],
    });
    expect(items[0]).to.deep.include({
      visit_id: null,
      visit_name: null,
      tasks: [{ task: 'stroop', metrics: { accuracy: 1 }, summary_source: 'client' }],
    });
    expect(await seen('?skip=1&limit=1')).to.deep.equal({ items: [items[1]!], total: 2 });
    expect(await seen('?skip=5')).to.deep.equal({ items: [], total: 2 });
  });

  it('have the titles that the modules of the session’s battery give their tasks and metrics, in the language of who reads', async () => {
    const [speaker, reader] = [await site.newParticipant({ preferred_language: 'de-AT' }), await site.newParticipant()];
    const metric = (title: unknown) => ({ type: 'number', title });
    const puzzle = {
      title: { en: 'Puzzle', de: 'Rätsel' },
      result_schema: {
        type: 'object',
        properties: {
          pieces_placed: metric({ en: 'Pieces', de: 'Teile' }),
          speed: metric('Speed'),
          silent: { type: 'number' },
        },
      },
    };
    const battery = await site.battery([
      { task: 'custom', name: 'puzzle_1', settings: puzzle },
      { task: 'custom', name: 'Our drawing' },
      { task: 'stroop', name: 'Stroop', settings: { result_schema: { properties: { own_measure: metric('Own') } } } },
    ]);
    await site.http.expect(200, 'PATCH', `/api/batteries/${String(battery.id)}`, { status: 'published' });
    const tasks = {
      puzzle_1: { pieces_placed: 12, speed: 3, silent: 1, constructor: 1 },
      'Our drawing': { strokes: 4 },
      stroop: { accuracy: 1, own_measure: 2 },
      custom: { strokes: 1 },
    };
    for (const { id } of [speaker, reader])
      await done(tasks, {
        participant_id: id,
        visit_id: (await site.visit({ participant_id: id, battery_id: battery.id })).id,
      });
    // Of what is published later these results say nothing.
    await site.http.expect(
      200,
      'PATCH',
      `/api/batteries/${String(battery.id)}/modules/${String((battery.modules as Loose[])[0]!.id)}`,
      { settings: { title: { en: 'Later', de: 'Später' } } },
    );
    await site.http.expect(200, 'PATCH', `/api/batteries/${String(battery.id)}`, { status: 'published' });
    const told = async (by: Http) =>
      Object.fromEntries(
        (await seen('', by)).items[0]!.tasks.map(({ task, title, metric_titles }) => [task, [title, metric_titles]]),
      );
    const german = {
      puzzle_1: ['Rätsel', { pieces_placed: 'Teile', speed: 'Speed' }],
      'Our drawing': [undefined, undefined],
      stroop: [undefined, { own_measure: 'Own' }],
      custom: [undefined, undefined],
    };
    expect(await told(await enterPortal(site.http, speaker.id))).to.deep.equal(german);
    expect(await told(await enterPortal(site.http, reader.id))).to.deep.equal({
      ...german,
      puzzle_1: ['Puzzle', { pieces_placed: 'Pieces', speed: 'Speed' }],
    });
    // What the page has a name for in the reader's language is not told in another one.
    const other = await site.battery([
      {
        task: 'stroop',
        name: 'Stroop',
        settings: {
          title: { uk: 'Струп' },
          result_schema: { properties: { accuracy: metric({ uk: 'Точність' }), own_measure: metric({ uk: 'Своє' }) } },
        },
      },
    ]);
    await site.http.expect(200, 'PATCH', `/api/batteries/${String(other.id)}`, { status: 'published' });
    for (const [preferred_language, told_as] of [
      ['uk', ['Струп', { accuracy: 'Точність', own_measure: 'Своє' }]],
      ['en', [undefined, { own_measure: 'Своє' }]],
    ] as const) {
      const { id } = await site.newParticipant({ preferred_language });
      await done(
        { stroop: { accuracy: 1, own_measure: 2 } },
        { participant_id: id, visit_id: (await site.visit({ participant_id: id, battery_id: other.id })).id },
      );
      expect((await told(await enterPortal(site.http, id))).stroop).to.deep.equal(told_as);
    }
    const at = `/api/studies/${site.study.id}/caregivers`;
    for (const [preferred_language, puzzles] of [
      [null, 'Rätsel'],
      ['en', 'Puzzle'],
    ] as const) {
      const { id } = await site.http.expect(201, 'POST', at, { preferred_language });
      await site.http.expect(200, 'PUT', `${at}/${id}/participants/${speaker.id}`, { relationship: 'parent' });
      expect((await told(await enterAsCaregiver(site.http, site.study.id, id))).puzzle_1![0]).to.equal(puzzles);
    }
    for (const wrong of [
      { properties: { x: { title: 1 } } },
      { properties: { x: { title: { en: 1 } } } },
      { properties: [] },
      'x',
    ]) {
      const answer = await site.http.post('/api/batteries', {
        study_id: site.study.id,
        code: 'W',
        name: 'W',
        modules: [{ task: 'custom', name: 'x', settings: { result_schema: wrong } }],
      });
      expect([answer.status, answer.body.errors[0]!.path], JSON.stringify(wrong)).to.satisfy(
        ([status, path]: [number, string]) => status === 422 && path.startsWith('modules.0.settings.result_schema'),
      );
    }
  });

  it('name the window of a visit that was planned', async () => {
    const planned = await Site.open({
      config: {
        portal_results: 'summary',
        enrollment_date_policy: {
          prerequisites: { require_consent_signed: false },
          sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
        },
      },
    });
    await planned.http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: planned.study.id,
      code: 'W0',
      name: 'The first day',
      target_day: 0,
    });
    await planned.http.expect(
      200,
      'POST',
      `/api/studies/${planned.study.id}/participants/${planned.participant.id}/anchor-date`,
      { enrollment_date: new Date().toISOString().slice(0, 10) },
    );
    const {
      items: [visit],
    } = await planned.http.expect<{ items: Loose[] }>(
      200,
      'GET',
      `/api/schedules/visits?participant_id=${planned.participant.id}`,
    );
    const id = await planned.session({ visit_id: visit!.id });
    await planned.submit(id, { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: trials('stroop', 4) });
    await planned.end(id);
    const { items } = await seen('', await enterPortal(planned.http, planned.participant.id));
    expect(items.map(({ session_id, visit_name, visit_code }) => [session_id, visit_name, visit_code])).to.deep.equal([
      [id, 'The first day', 'W0'],
    ]);
  });

  it('are a caregiver’s to see, for the participant that it names, and nobody’s without a portal token', async () => {
    const at = `/api/studies/${site.study.id}/caregivers`;
    const second = await site.newParticipant();
    const { id } = await site.http.expect(201, 'POST', at, { name: 'Ada' });
    for (const person of [site.participant, second])
      await site.http.expect(200, 'PUT', `${at}/${id}/participants/${person.id}`, { relationship: 'mother' });
    const caregiver = await enterAsCaregiver(site.http, site.study.id, id);
    expect(await seen('', caregiver, { 'X-Participant-ID': site.participant.id })).to.deep.equal(await seen());
    expect(await seen('', caregiver, { 'X-Participant-ID': second.id })).to.deep.equal({ items: [], total: 0 });
    expect((await site.http.get('/api/portal/results')).status).to.equal(401);
  });

  it('of a session that was set aside are not among them', async () => {
    const visit = await site.visit({ name: 'Offline' });
    const local = site.item('aside-1', { visitId: visit.id });
    const {
      results: [taken],
    } = await site.bulk({
      sessions: [local],
      responses: [{ id: 'aside-r', sessionId: 'aside-1', task: 'stroop', summary: { accuracy: 0.75 }, trials: [] }],
    });
    const before = await seen();
    expect(before.items.map(({ session_id }) => session_id)).to.include(taken!.server_id);
    const later = new Date(Date.parse(String(local.startedAt)) + 1_000).toISOString();
    const again = await site.bulk({
      sessions: [site.item('aside-2', { visitId: visit.id, startedAt: later })],
      responses: [{ id: 'aside-r2', sessionId: 'aside-2', task: 'stroop', summary: { accuracy: 0.25 }, trials: [] }],
    });
    const beside = again.results[0]!;
    expect(beside.conflict_type, JSON.stringify(again)).to.equal('visit_already_completed');
    const { items } = await site.http.expect(200, 'GET', `/api/studies/${site.study.id}/sync-conflicts?status=open`);
    const conflict = items.find(({ local_id }) => local_id === 'aside-2')!;
    expect((await seen()).total).to.equal(before.total + 1);
    await site.http.expect(200, 'POST', `/api/studies/${site.study.id}/sync-conflicts/${conflict.id}/resolve`, {
      keep: 'server',
      reason: 'done twice',
    });
    expect(await seen()).to.deep.equal(before);
  });
});
