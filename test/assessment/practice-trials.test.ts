import { request } from 'node:http';
import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { Site, instant, trials } from './stage.js';

interface TaskView {
  task: string;
  module_id: string | null;
  computed_summary: Record<string, number>;
  summary_difference: Record<string, number>;
  quality_flags: { code: string }[];
  warnings: { code: string }[];
  trial_count: number;
}

describe('What is worked out from trials', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });
  const tasksOf = async (id: string): Promise<Record<string, TaskView>> => {
    const { tasks } = await site.http.expect<{ tasks: TaskView[] }>(200, 'GET', `/api/sessions/${id}`);
    return Object.fromEntries(tasks.map((one) => [one.task, one]));
  };
  const practised = (task: string) => [
    // Slow, wrong, and counted from 0 as the trials that count are.
    ...trials(task, 3, { rt: 90_000, correct: false }).map((trial) => ({ ...trial, practice: true })),
    ...trials(task, 4, { correct: true }).map((trial, i) => ({ ...trial, practice: false, rt: 400 + i })),
  ];

  it('leaves out those for practice, which are kept, told and exported', async () => {
    const id = await site.session();
    const body = { task_summaries: { stroop: { accuracy: 1, total_trials: 4 } }, raw_trials: practised('stroop') };
    const first = await site.submit(id, body);
    expect([first.status, first.body.quality_flags, first.body.warnings]).to.deep.equal([200, [], []]);
    expect((await site.submit(id, body)).body.status).to.equal('duplicate');
    const { stroop } = await tasksOf(id);
    expect(stroop).to.deep.include({ trial_count: 7, summary_difference: {} });
    expect(stroop!.computed_summary).to.include({ total_trials: 4, accuracy: 1, median_rt: 401.5 });
    const { items } = await site.http.expect<{ items: Loose[] }>(200, 'GET', `/api/sessions/${id}/trials`);
    expect(items.map(({ practice }) => practice)).to.deep.equal([true, true, true, ...Array.from({ length: 4 })]);
    // The id of a session that goes on is in no export.
    await site.end(id);
    const exported = await site.http.expect<{ rows: Loose[] }>(200, 'POST', '/api/exports/json', {
      study_id: site.study.id,
      dataset: 'raw_trials',
    });
    const rows = exported.rows.filter(({ session_id }) => session_id === id);
    expect(rows.map(({ practice }) => practice)).to.deep.equal([true, true, true, false, false, false, false]);
  });

  it('trials for practice that are counted with the others are no gap between them', async () => {
    const id = await site.session();
    const counted = trials('stroop', 9, { correct: true }).map((trial, i) => ({ ...trial, rt: 400 + i }));
    const raw_trials = counted.map((trial, i) => (i < 3 || i === 6 ? { ...trial, practice: true } : trial));
    const whole = await site.submit(id, { task_summaries: {}, raw_trials });
    expect(whole.body.warnings).to.deep.equal([]);
    const other = await site.session();
    const missing = await site.submit(other, { task_summaries: {}, raw_trials: raw_trials.filter((_, i) => i !== 7) });
    expect((missing.body.warnings as Loose[]).map(({ code, count }) => [code, count])).to.deep.equal([
      ['TRIAL_GAP', 1],
    ]);
  });

  it('is nothing where all are for practice; the same by sync', async () => {
    const item = site.item('practice-only', { deviceId: 'tablet' });
    const only = practised('flanker').slice(0, 3);
    const { results } = await site.bulk({
      sessions: [item],
      responses: [{ id: 'r', sessionId: 'practice-only', deviceId: 'tablet', task: 'flanker', trials: only }],
    });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
    const { flanker } = await tasksOf(results[0]!.server_id!);
    expect(flanker).to.deep.include({ computed_summary: {}, trial_count: 3, quality_flags: [] });
  });

  describe('of a battery that has one task twice', () => {
    let modules: { id: string; name: string; task: string }[];
    let session: () => Promise<string>;
    before(async () => {
      const battery = await site.battery([
        { task: 'stroop', name: 'Morning' },
        { task: 'stroop', name: 'Evening' },
        { task: 'flanker', name: 'Flanker' },
      ]);
      await site.http.expect(200, 'PATCH', `/api/batteries/${String(battery.id)}`, { status: 'published' });
      modules = (
        await site.http.expect<{ modules: typeof modules }>(200, 'GET', `/api/batteries/${String(battery.id)}`)
      ).modules;
      session = async () => site.session({ battery_id: battery.id });
    });
    const result = (accuracy: number) => ({
      task_summaries: { stroop: { accuracy } },
      raw_trials: trials('stroop', 2),
    });

    it('is kept for each module that a submission names', async () => {
      const id = await session();
      const [morning, evening, flanker] = modules;
      const mornings = { ...result(0.5), module_id: morning!.id };
      const [first, second] = [
        await site.submit(id, mornings),
        await site.submit(id, { ...result(0.75), module_id: evening!.id }),
      ];
      expect([first.body.status, second.body.status, first.body.warnings]).to.deep.equal(['accepted', 'accepted', []]);
      expect((await site.submit(id, mornings)).body.status).to.equal('duplicate');
      expect((await site.submit(id, { ...result(0.6), module_id: morning!.id })).body.code).to.equal('TASK_CONFLICT');
      const tasks = await tasksOf(id);
      expect(Object.entries(tasks).map(([task, { module_id }]) => [task, module_id])).to.have.deep.members([
        ['Morning', morning!.id],
        ['Evening', evening!.id],
      ]);
      for (const [module_id, code] of [
        [flanker!.id, 'TASK_OF_OTHER_MODULE'],
        ['00000000-0000-4000-8000-000000000000', 'UNKNOWN_MODULE'],
      ] as const) {
        const refused = await site.submit(id, { ...result(1), module_id });
        expect([refused.status, refused.body.errors]).to.deep.include(422);
        expect((refused.body.errors as { path: string; code: string }[])[0]).to.include({ path: 'module_id', code });
      }
      const two = { task_summaries: { stroop: { accuracy: 1 }, flanker: { accuracy: 1 } }, module_id: morning!.id };
      expect((await site.submit(id, two)).body.errors).to.have.nested.property('0.code', 'ONE_TASK');
    });

    it('is taken with a warning where none is named; where a task is there once, without', async () => {
      const id = await session();
      const sent = await site.submit(id, {
        task_summaries: { stroop: { accuracy: 1 }, flanker: { accuracy: 1 } },
        raw_trials: [],
      });
      expect(
        (sent.body.warnings as { code: string; task: string }[]).map(({ code, task }) => [code, task]),
      ).to.deep.equal([['TASK_IN_SEVERAL_MODULES', 'stroop']]);
    });

    it('by sync just so', async () => {
      const id = await session();
      const response = (name: string, fields: Record<string, unknown>) => ({
        id: name,
        sessionId: id,
        task: 'stroop',
        summary: { accuracy: 1 },
        ...fields,
      });
      const { results } = await site.bulk({
        sessions: [],
        responses: [
          response('a', { moduleId: modules[0]!.id }),
          response('b', { moduleId: modules[1]!.id }),
          response('c', {}),
          response('d', { moduleId: modules[2]!.id }),
        ],
      });
      expect(results.map(({ status, code }) => code ?? status)).to.deep.equal([
        'created',
        'created',
        'created',
        'TASK_OF_OTHER_MODULE',
      ]);
      expect((results[2] as unknown as { warnings: { code: string }[] }).warnings[0]!.code).to.equal(
        'TASK_IN_SEVERAL_MODULES',
      );
      expect(Object.keys(await tasksOf(id))).to.have.members(['Morning', 'Evening', 'stroop']);
    });
  });

  describe('after a session’s end', () => {
    /** A submission whose head has arrived, and whose body comes when it is told to. */
    const begun = async (id: string, body: object) => {
      const text = JSON.stringify({ session_id: id, ...body });
      const sending = request(new URL('/api/submit', site.http.base), {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(text),
          'X-Session-ID': id,
          Expect: '100-continue',
        },
      });
      const answer = new Promise<number>((resolve, reject) => {
        sending.on('response', (response) => {
          response.resume();
          resolve(response.statusCode!);
        });
        sending.on('error', reject);
      });
      sending.flushHeaders();
      await new Promise((resolve) => sending.once('continue', resolve));
      return async () => {
        sending.end(text);
        return answer;
      };
    };

    it('what began before it is in, by when the request began or by when its trials were recorded', async () => {
      const id = await site.session();
      const complete = await begun(id, { task_summaries: { stroop: { accuracy: 1 } } });
      expect((await site.end(id)).status).to.equal(200);
      expect(await complete()).to.equal(200);
      const recorded = { task_summaries: {}, raw_trials: trials('flanker', 3) };
      expect((await site.submit(id, recorded)).body.status).to.equal('accepted');
      expect(Object.keys(await tasksOf(id))).to.have.members(['stroop', 'flanker']);
    });

    it('what began after it is refused, on line and by sync alike', async () => {
      const id = await site.session();
      await site.end(id);
      const late = trials('stroop', 3, { timestamp: instant(3_600_000) });
      const submitted = await site.submit(id, { task_summaries: {}, raw_trials: late });
      expect([submitted.status, submitted.body.code]).to.deep.equal([409, 'SESSION_ENDED']);
      const responses = [
        { id: 'a', sessionId: id, task: 'stroop', trials: late },
        { id: 'b', sessionId: id, task: 'n_back', summary: { accuracy: 1 } },
        { id: 'c', sessionId: id, task: 'flanker', trials: trials('flanker', 2) },
      ];
      const { results } = await site.bulk({ sessions: [], responses });
      expect(results.map(({ status, code }) => code ?? status)).to.deep.equal([
        'SESSION_ENDED',
        'SESSION_ENDED',
        'created',
      ]);
    });
  });
});
