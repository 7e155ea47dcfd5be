import { expect } from 'chai';
import { Site } from '../assessment/stage.js';

describe('Numbers and times in the study as ODM', () => {
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

  it('are times where ODM has them: an hour 24, a leap second and an offset of more than 14 hours are texts', async () => {
    const site = await Site.open();
    const items = {
      UTC: '2026-01-01T23:59:59.5Z',
      EAST: '2026-01-01T10:00:00+14:00',
      LOCAL: '2026-01-01T10:00:00',
      HOUR: '2026-01-01T24:00:00Z',
      LEAP: '2016-12-31T23:59:60Z',
      FAR: '2026-01-01T10:00:00+14:30',
    };
    await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/participants/${site.participant.id}/forms`, {
      form_oid: 'LAB',
      status: 'complete',
      items,
    });
    const { text } = await site.http.get(`/api/exports/studies/${site.study.id}/odm`);
    const type = (item: string) => new RegExp(`<ItemDef OID="[^"]*\\.${item}"[^>]* DataType="([^"]*)"`).exec(text)?.[1];
    expect(Object.keys(items).map(type)).to.deep.equal(['datetime', 'datetime', 'datetime', 'text', 'text', 'text']);
  });
});
