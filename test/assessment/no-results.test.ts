import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { Site, trials } from './stage.js';
import type { ItemView } from './stage.js';

describe('Results that were not measured, and submissions of nothing', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });

  it('a metric that is null was not measured: the rest is taken, and the same without it is the same', async () => {
    const id = await site.session();
    const raw = trials('stroop', 20);
    const summary = { mean_rt: null, accuracy: 0.75 };
    const sent = await site.submit(id, { task_summaries: { stroop: summary }, raw_trials: raw });
    expect([sent.status, sent.body.status], sent.text).to.deep.equal([200, 'accepted']);
    const seen = await site.see(id);
    expect([seen.task_summaries, seen.trial_count]).to.deep.equal([{ stroop: { accuracy: 0.75 } }, 20]);
    const again = await site.submit(id, { task_summaries: { stroop: { accuracy: 0.75 } }, raw_trials: raw });
    expect(again.body.status).to.equal('duplicate');
    const { results } = await site.bulk({
      sessions: [site.item('s')],
      responses: [{ id: 'r', sessionId: 's', task: 'stroop', summary: { mean_rt: null }, trials: raw }],
    });
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
    const offline = await site.see(results[0]!.server_id!);
    const [task] = offline.tasks as Loose[];
    expect([task!.summary, task!.summary_source, task!.trial_count]).to.deep.equal([{}, 'computed', 20]);
  });

  it('null for the summary of a task means that the client has none: its trials are taken, on line as off line', async () => {
    const id = await site.session();
    const raw = trials('stroop', 20);
    const sent = { task_summaries: { stroop: null, flanker: { accuracy: 1 } }, raw_trials: raw };
    const first = await site.submit(id, sent);
    expect([first.status, first.body.status, first.body.trials], first.text).to.deep.equal([200, 'accepted', 20]);
    const { tasks } = await site.see(id);
    const found = (tasks as Loose[]).map(({ task, summary, summary_source }) => [task, summary, summary_source]);
    expect(found).to.deep.equal([
      ['flanker', { accuracy: 1 }, 'client'],
      ['stroop', {}, 'computed'],
    ]);
    expect((await site.submit(id, sent)).body.status).to.equal('duplicate');
    const without = { task_summaries: { flanker: { accuracy: 1 } }, raw_trials: raw };
    expect((await site.submit(id, without)).body.status, 'the same without it').to.equal('duplicate');
    for (const [summary, path] of [
      [7, 'task_summaries.flanker'],
      [[], 'task_summaries.flanker'],
      [{ accuracy: 'high' }, 'task_summaries.flanker.accuracy'],
    ] as const) {
      const refused = await site.submit(id, { task_summaries: { stroop: null, flanker: summary }, raw_trials: raw });
      expect([refused.status, refused.body.errors[0]!.path], refused.text).to.deep.equal([422, path]);
    }
  });

  for (const [title, body] of [
    ['nothing at all', { task_summaries: {} }],
    ['a task whose summary is null', { task_summaries: { stroop: null } }],
    ['a task without metrics and trials', { task_summaries: { stroop: {} } }],
    ['several of them', { task_summaries: { stroop: {}, flanker: {} }, raw_trials: [] }],
  ] as const) {
    it(`a submission of ${title} is refused each time, also after the end: 422 EMPTY`, async () => {
      const id = await site.session();
      const send = async () => {
        const { status, body: answer } = await site.submit(id, body);
        return [status, answer.code, answer.errors.map((one) => one.code)];
      };
      const refused = [422, 'EMPTY', ['EMPTY']];
      expect([await send(), await send()]).to.deep.equal([refused, refused]);
      expect((await site.see(id)).task_summaries).to.deep.equal({});
      await site.end(id);
      expect(await send()).to.deep.equal(refused);
    });
  }

  it('null for what is optional is the same as nothing: no result is lost for it', async () => {
    const started = await site.start({ language: null, timezone: null, device_id: null, study_id: null });
    expect(started.status, started.text).to.equal(201);
    const raw = trials('stroop', 3).map((trial) => ({ ...trial, data: null, practice: null }));
    const sent = { task_summaries: {}, module_id: null, raw_trials: raw };
    const first = await site.submit(started.body.sessionId, sent);
    expect([first.status, first.body.status], first.text).to.deep.equal([200, 'accepted']);
    expect((await site.submit(started.body.sessionId, sent)).body.status).to.equal('duplicate');
    expect(await site.trials(started.body.sessionId)).to.deep.equal(
      raw.map(({ data: _data, practice: _practice, ...trial }) => trial),
    );
    const bulk = { sessions: [site.item('nulls')], responses: null };
    expect(await site.http.expect(200, 'POST', '/api/sync/bulk', bulk)).to.include({ created: 1 });
    const response = { id: 'r', sessionId: 'nulls', task: 'stroop', trials: raw };
    const alone = { sessions: null, responses: [response] };
    expect(await site.http.expect(200, 'POST', '/api/sync/bulk', alone)).to.include({ created: 1 });
    expect(await site.http.expect(200, 'POST', '/api/sync/bulk', alone)).to.include({ duplicates: 1 });
  });

  it('a metric may have any name, also one that every object of a program has', async () => {
    const id = await site.session();
    const summary = { constructor: 5, toString: 2, valueOf: 1, accuracy: 0.5 };
    const sent = await site.submit(id, { task_summaries: { stroop: summary }, raw_trials: trials('stroop', 4) });
    expect(sent.status, sent.text).to.equal(200);
    const [task] = (await site.see(id)).tasks as Loose[];
    expect([task!.summary, task!.summary_difference]).to.deep.equal([summary, { accuracy: -0.25 }]);
  });

  it('a task without metrics and trials beside one that has some is taken', async () => {
    const id = await site.session();
    const { status, body } = await site.submit(id, { task_summaries: { stroop: {}, flanker: { accuracy: 1 } } });
    expect([status, body.status, body.tasks]).to.deep.equal([200, 'accepted', 2]);
  });

  it('a response of nothing is rejected, and the real one is taken after it', async () => {
    const item = { id: 'r', sessionId: 'e', task: 'stroop' };
    await site.bulk({ sessions: [site.item('e')] });
    for (const nothing of [item, { ...item, summary: {} }, { ...item, summary: {}, trials: [] }]) {
      const answer = await site.http.expect<ItemView>(200, 'POST', '/api/sync/responses', nothing);
      expect(answer).to.include({ status: 'rejected', code: 'EMPTY' });
    }
    const real = { ...item, trials: trials('stroop', 2) };
    expect(await site.http.expect<ItemView>(200, 'POST', '/api/sync/responses', real)).to.include({
      status: 'created',
    });
  });
});
