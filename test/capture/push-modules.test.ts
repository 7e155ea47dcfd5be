import { expect } from 'chai';
import { Http, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { compared } from './compared.js';
import { PushStage } from './push-stage.js';
import type { PushStudy } from './push-stage.js';

describe('results of a task that the battery has in several modules', function () {
  this.timeout(120_000);
  let stage: PushStage, study: PushStudy, battery: Loose;
  before(async () => {
    stage = await PushStage.set();
    study = await stage.study({ data_field_mapping: {} });
    battery = await stage.http.expect(201, 'POST', '/api/batteries', {
      study_id: study.id,
      code: unique('B'),
      name: 'Twice',
      modules: [
        { task: 'stroop', name: 'morning' },
        { task: 'stroop', name: 'evening' },
      ],
    });
    await stage.http.expect(200, 'PATCH', `/api/batteries/${battery.id}`, { status: 'published' });
  });
  after(() => stage?.clear());

  async function ended(): Promise<string> {
    const visit = await study.visit(await study.person(), { battery_id: battery.id });
    const { sessionId } = await stage.http.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', {
      participant_id: visit.participant_id,
      language: 'en',
      visit_id: visit.id,
    });
    const device = new Http(stage.run.api),
      headers = { headers: { 'X-Session-ID': sessionId } };
    for (const [i, { id }] of (battery.modules as { id: string }[]).entries())
      await device.expect(
        200,
        'POST',
        '/api/submit',
        { session_id: sessionId, module_id: id, task_summaries: { stroop: { mean_rt: 400 + i } }, raw_trials: [] },
        headers,
      );
    await device.expect(200, 'POST', '/api/session/end', { session_id: sessionId }, headers);
    return sessionId;
  }
  const mapped = (...tasks: [task: string, field: string][]) => ({
    data_field_mapping: Object.fromEntries(
      tasks.map(([task, field]) => [
        task,
        { datacapture_instrument: field === 'span' ? 'memory' : 'cognition', fields: { mean_rt: field } },
      ]),
    ),
  });
  const status = (session: string, wanted: string) =>
    until(async () => ((await study.see(session)).sync_status === wanted ? true : undefined), {
      what: `the push to be ${wanted}`,
      timeout: 60_000,
    });

  it('are not left out in silence where the mapping names the task: the push fails, and says what to name', async () => {
    await study.configure(mapped(['stroop', 'mean_rt']));
    const session = await ended();
    await status(session, 'failed');
    const last = (await study.attempts(session)).at(-1)!;
    expect([last.error_type, last.message]).to.deep.equal([
      'configuration',
      'The battery has stroop in several modules: data_field_mapping has to name these (evening, morning).',
    ]);

    const named = mapped(['morning', 'mean_rt'], ['evening', 'span'], ['night', 'grade']);
    const { body } = await compared(() =>
      stage.http.patch<{ warnings: { code: string; path: string }[] }>(`/api/datacapture/config/${study.id}`, named),
    );
    expect(body.warnings.filter(({ code }) => code === 'UNKNOWN_TASK').map(({ path }) => path)).to.deep.equal([
      'data_field_mapping.night',
    ]);
    await study.push(session);
    await status(session, 'synced');
  });
});
