import { expect } from 'chai';
import { HOUR, Site, instant, trials } from '../assessment/stage.js';

/** What was noticed of results goes out with them. */
describe('Exports of what was noticed', () => {
  type Row = Record<string, unknown>;
  const rowsOf = async (site: Site, dataset: string) =>
    (await site.http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', { study_id: site.study.id, dataset }))
      .rows;
  const codes = (remarks: unknown) => (remarks as { code: string }[]).map(({ code }) => code);

  it('sessions and summaries have flags, warnings, the computed summary, the device and its clock', async () => {
    const site = await Site.open();
    const recorded = trials('stroop', 4).map((trial, i) => ({ ...trial, rt: 50, trial_index: i * 2 }));
    await site.http.expect(
      200,
      'POST',
      '/api/sync/bulk',
      {
        sessions: [
          site.item('s', { startedAt: instant(-HOUR), completedAt: instant(-2 * HOUR), deviceId: 'tablet 4' }),
        ],
        responses: [{ id: 'r', sessionId: 's', task: 'stroop', summary: { mean_rt: 60 }, trials: recorded }],
      },
      { headers: { 'X-Device-Time': instant(HOUR) } },
    );
    const [session] = await rowsOf(site, 'sessions');
    expect([session!.device_id, codes(session!.quality_flags), codes(session!.warnings)]).to.deep.equal([
      'tablet 4',
      ['CLOCK_SET_BACK', 'RT_TOO_FAST'],
      ['TRIAL_GAP'],
    ]);
    expect(Number(session!.clock_skew_ms)).to.be.closeTo(HOUR, HOUR / 2);
    const [summary, another] = await rowsOf(site, 'task_summaries');
    expect(another).to.equal(undefined);
    expect([summary!.value, summary!.computed_value, summary!.device_id]).to.deep.equal([60, 50, 'tablet 4']);
    expect(summary!.computed_summary).to.include({ mean_rt: 50, total_trials: 4 });
    expect([codes(summary!.quality_flags), codes(summary!.warnings)]).to.deep.equal([['RT_TOO_FAST'], ['TRIAL_GAP']]);
  });

  it('an online session without anything to notice has empty lists', async () => {
    const site = await Site.open();
    const id = await site.session();
    await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } } });
    const [session] = await rowsOf(site, 'sessions');
    expect([session!.quality_flags, session!.warnings, session!.device_id]).to.deep.equal([[], [], null]);
    const [summary] = await rowsOf(site, 'task_summaries');
    expect([summary!.computed_value, summary!.computed_summary]).to.deep.equal([null, {}]);
  });
});
