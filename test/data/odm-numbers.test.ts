import { expect } from 'chai';
import { Site } from '../assessment/stage.js';

describe('Numbers in the study as ODM', () => {
  it('are decimals without an exponent, however large or small', async () => {
    const site = await Site.open();
    const metrics = { d_prime: -1.5e-7, slope: 2.5e-10, mean_rt: 1.25e21, accuracy: 0.5 };
    const id = await site.session();
    expect((await site.submit(id, { task_summaries: { stroop: metrics } })).status).to.equal(200);
    await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/participants/${site.participant.id}/forms`, {
      form_oid: 'LAB',
      status: 'complete',
      items: { CRP: 3e-7, COUNT: 12 },
    });
    const { text } = await site.http.get(`/api/exports/studies/${site.study.id}/odm`);
    const value = (item: string) => new RegExp(`ItemOID="[^"]*\\.${item}" Value="([^"]*)"`).exec(text)?.[1];
    expect(['d_prime', 'slope', 'mean_rt', 'accuracy', 'CRP', 'COUNT'].map(value)).to.deep.equal([
      '-0.00000015',
      '0.00000000025',
      '1250000000000000000000',
      '0.5',
      '0.0000003',
      '12',
    ]);
  });
});
