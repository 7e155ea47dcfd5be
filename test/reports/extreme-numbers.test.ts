import { expect } from 'chai';
import { Site, instant, trials } from '../assessment/stage.js';
import { inFull } from '../support/in-full.js';
import { Random } from '../support/random.js';
import { studyPlots } from '../../api/reports/document/data.js';
import { datasetNames } from '../../db/exports/datasets.js';
import type { Loose } from '../support/http.js';
import { STUDY_REPORTS } from './world.js';

/** Every number that JSON has and a double holds. */
const EXTREMES = [
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  Number.MIN_VALUE,
  -Number.MIN_VALUE,
  2.2250738585072014e-308,
  1e300,
  -1e154,
  1e13,
  1.000001e12,
  1e12,
  -1e12,
  Number.MAX_SAFE_INTEGER,
  -0,
  0,
  1e-7,
  0.1,
];

interface Distribution {
  n: number;
  excluded: number;
  mean: number | null;
  max: number | null;
}

describe('Extreme numbers in results', function suite() {
  this.timeout(300_000);
  const answers = async (site: Site, path: string, type: RegExp) => {
    const response = await fetch(`${site.http.base}${path}`, {
      headers: { Authorization: `Bearer ${site.http.token}` },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const shown = `${path}: ${response.status} ${bytes.toString('latin1').slice(0, 200)}`;
    expect(response.status, shown).to.equal(200);
    expect(response.headers.get('content-type'), shown).to.match(type);
    expect(bytes.length, shown).to.be.greaterThan(0);
  };

  it('one metric of the largest double beside an ordinary one: flagged, kept, exported, in no statistic', async () => {
    const site = await Site.open();
    for (const mean_rt of [Number.MAX_VALUE, 400, 500]) {
      const id = await site.session();
      const { body } = await site.submit(id, { task_summaries: { stroop: { mean_rt } } });
      expect((body.quality_flags as Loose[]).map(({ code }) => code)).to.deep.equal(
        mean_rt > 1e12 ? ['IMPLAUSIBLE'] : [],
      );
      await site.end(id);
    }
    const report = await site.http.expect<Loose & { by_task: { metrics: Record<string, Distribution> }[] }>(
      200,
      'GET',
      `/api/reports/studies/${site.study.id}/modules`,
    );
    expect(report.by_task[0]!.metrics.mean_rt).to.include({ n: 2, excluded: 1, mean: 450, max: 500 });
    const { rows } = await site.http.expect<Loose & { rows: Loose[] }>(200, 'POST', '/api/exports/json', {
      study_id: site.study.id,
      dataset: 'task_summaries',
    });
    expect(rows.map(({ value }) => value)).to.have.members([Number.MAX_VALUE, 400, 500]);
  });

  for (const seeds of inFull ? [[1], [2], [3]] : [[1, 2]]) {
    it(`whatever was accepted: every report, plot, document and export answers (${seeds.join()})`, async () => {
      let random = new Random(0);
      const site = await Site.open({ config: { portal_results: 'summary' } });
      const value = () =>
        random.chance(0.6) ? random.oneOf(EXTREMES) : (random.next() - 0.5) * 10 ** random.whole(-300, 300);
      const metrics = () =>
        Object.fromEntries(
          ['mean_rt', 'accuracy', 'd_prime', 'interference', 'own metric'].map((metric) => [metric, value()]),
        );
      const given: number[] = [];
      const note = (summary: Record<string, number>) => {
        given.push(...Object.values(summary));
        return summary;
      };
      let session = '';
      for (let i = 0; i < 9 * seeds.length; i++) {
        if (i % 9 === 0) random = new Random(seeds[i / 9]!);
        session = await site.session();
        const submitted = await site.submit(session, {
          task_summaries: { stroop: note(metrics()), flanker: note(metrics()) },
          raw_trials: trials('stroop', 3, {
            rt: random.oneOf([0, Number.MIN_VALUE, 86_400_000, 0.1]),
            trial_index: random.oneOf([0, 2_147_483_647]),
            timestamp: random.oneOf(['0001-01-01T00:00:00Z', instant()]),
            data: { x: value() },
          }),
        });
        expect(submitted.status, submitted.text).to.equal(200);
        await site.end(session);
        const { results } = await site.bulk({
          sessions: [
            site.item(`s${i}`, {
              startedAt: random.oneOf(['0001-01-01T00:00:00Z', instant(-3_600_000)]),
              completedAt: instant(),
            }),
          ],
          responses: [{ id: 'r', sessionId: `s${i}`, task: 'n_back', summary: note(metrics()) }],
        });
        expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
      }
      const study = site.study.id,
        person = site.participant.id;
      for (const name of STUDY_REPORTS) await answers(site, `/api/reports/studies/${study}/${name}`, /json/);
      await answers(site, `/api/reports/participants/${person}`, /json/);
      await answers(site, `/api/sessions/${session}`, /json/);
      for (const plot of studyPlots) await answers(site, `/api/reports/studies/${study}/plots/${plot}.svg`, /svg/);
      await answers(site, `/api/reports/studies/${study}/plots/course.svg?participant_id=${person}`, /svg/);
      for (const path of ['pdf/summary', `participants/${person}/pdf`, `sessions/${session}/pdf`])
        await answers(site, `/api/reports/studies/${study}/${path}`, /pdf/);
      for (const path of ['odm', `participants/${person}/fhir`, 'full'])
        await answers(site, `/api/exports/studies/${study}/${path}`, /json|xml/);
      for (const format of ['csv', 'json'])
        for (const dataset of datasetNames)
          for (const layout of dataset === 'task_summaries' ? ['long', 'wide'] : ['long']) {
            const { status, text } = await site.http.post(`/api/exports/${format}`, {
              study_id: study,
              dataset,
              layout,
            });
            expect(status, `${format} ${dataset} ${text.slice(0, 200)}`).to.equal(200);
            if (format === 'json' && dataset === 'task_summaries' && layout === 'long')
              expect(
                (JSON.parse(text) as { rows: { value: number }[] }).rows.map((row) => row.value).sort(),
              ).to.deep.equal(given.map((one) => (one === 0 ? 0 : one)).sort());
          }
      const { by_task } = await site.http.expect<{
        by_task: { task: string; metrics: Record<string, Distribution> }[];
      }>(200, 'GET', `/api/reports/studies/${study}/modules`);
      const counted = by_task.flatMap((task) => Object.values(task.metrics));
      expect(counted.reduce((sum, one) => sum + one.n, 0)).to.equal(
        given.filter((one) => Math.abs(one) <= 1e12).length,
      );
      expect(counted.reduce((sum, one) => sum + one.excluded, 0)).to.equal(
        given.filter((one) => Math.abs(one) > 1e12).length,
      );
    });
  }
});

describe('A task without a summary of its client', () => {
  it('the computed one counts, and everything says so', async () => {
    const site = await Site.open({ config: { portal_results: 'summary' } });
    const id = await site.session();
    await site.submit(id, {
      task_summaries: { flanker: { accuracy: 0.5 } },
      raw_trials: trials('stroop', 4, { rt: 250 }),
    });
    await site.end(id);
    const seen = await site.see(id);
    expect(seen).to.deep.include({ summary_sources: { stroop: 'computed', flanker: 'client' } });
    expect((seen.task_summaries as Record<string, object>).stroop).to.include({ mean_rt: 250, total_trials: 4 });
    const { rows } = await site.http.expect<{ rows: Loose[] }>(200, 'POST', '/api/exports/json', {
      study_id: site.study.id,
      dataset: 'task_summaries',
    });
    expect(rows.find(({ metric }) => metric === 'mean_rt')).to.include({ value: 250, summary_source: 'computed' });
    expect(rows.find(({ task }) => task === 'flanker')).to.include({ value: 0.5, summary_source: 'client' });
    const wide = await site.http.post('/api/exports/csv', {
      study_id: site.study.id,
      dataset: 'task_summaries',
      layout: 'wide',
    });
    expect(wide.text).to.include('stroop.mean_rt');
    const report = await site.http.expect<
      Loose & { by_task: { task: string; metrics: Record<string, Distribution> }[] }
    >(200, 'GET', `/api/reports/studies/${site.study.id}/modules`);
    expect(report.by_task.find(({ task }) => task === 'stroop')!.metrics.mean_rt).to.include({ n: 1, mean: 250 });
    const own = await site.http.expect<{ sessions: Loose[]; metrics: Loose[] }>(
      200,
      'GET',
      `/api/reports/participants/${site.participant.id}`,
    );
    expect(own.sessions[0]).to.deep.include({ summary_sources: { stroop: 'computed', flanker: 'client' } });
    expect(own.metrics.some(({ task, metric }) => task === 'stroop' && metric === 'mean_rt')).to.equal(true);
  });
});
