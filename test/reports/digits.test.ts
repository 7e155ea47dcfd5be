import { expect } from 'chai';
import { Site } from '../assessment/stage.js';
import type { Loose } from '../support/http.js';

interface Distribution {
  mean: number;
  sd: number;
}

describe('Numbers that people read in reports', function () {
  this.timeout(120_000);
  let site: Site;
  before(async () => {
    site = await Site.open();
    // Six times a tenth: their sum is not six tenths.
    for (let i = 0; i < 6; i += 1) {
      const id = await site.session();
      await site.submit(id, {
        task_summaries: { stroop: { accuracy: 1, drift: 0.1, total_trials: 123_456, mean_rt: 4 } },
      });
      await site.end(id);
    }
  });
  const plot = async (name: string) =>
    (await site.http.get(`/api/reports/studies/${site.study.id}/plots/${name}`)).text;
  /** The numbers that a picture has in figures. */
  const numbers = (svg: string) =>
    [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)]
      .map(([, text]) => text!.replaceAll(',', ''))
      .filter((text) => /^-?[\d.]+$/.test(text))
      .map(Number);

  it('the deviation of equal values is 0, not the rounding of their sum', async () => {
    const { by_task } = await site.http.expect<Loose & { by_task: { metrics: Record<string, Distribution> }[] }>(
      200,
      'GET',
      `/api/reports/studies/${site.study.id}/modules`,
    );
    for (const [metric, { sd }] of Object.entries(by_task[0]!.metrics)) expect(sd, metric).to.equal(0);
  });

  it('the unit of a time is at its plot', async () => {
    expect(await plot('metrics.svg')).to.include('stroop: mean_rt (ms), n = 6');
    expect(await plot(`course.svg?participant_id=${site.participant.id}`)).to.include('stroop: mean_rt (ms)<');
  });

  for (const name of ['metrics.svg', 'course.svg'])
    it(`${name} has no place for what a metric cannot be`, async () => {
      const svg = await plot(name === 'course.svg' ? `${name}?participant_id=${site.participant.id}` : name);
      // stroop shows its two most telling metrics: mean_rt (4 each time) and accuracy (1 each time).
      const axes = numbers(svg);
      expect(axes.length).to.be.greaterThan(3);
      expect(Math.min(...axes)).to.be.at.least(0);
      expect(axes.filter((value) => value > 1 && value < 3.5)).to.deep.equal([]);
    });
});
