import { expect } from 'chai';
import { Site } from '../assessment/stage.js';
import type { Http } from '../support/http.js';
import { MOST_MS, WatchedApi } from './costly/watched-api.js';

describe('A study’s own schema of custom tasks keeps nobody from being answered', function () {
  this.timeout(120_000);
  let watched: WatchedApi | undefined, admin: Http;
  before(async function () {
    watched = await WatchedApi.start();
    if (!watched) return this.skip();
    ({ admin } = watched);
  });
  after(() => watched?.stop());

  /** What a module of these settings is answered in a study of this schema, and the longest turn meanwhile. */
  async function asked(schema: object, settings: object) {
    const site = await Site.open({ config: { custom_task_schema: schema } });
    const { id } = await site.battery([]);
    let answer = { status: 0, code: '' };
    const ms = await watched!.longest(async () => {
      const { status, body } = await admin.post(`/api/batteries/${id}/modules`, { task: 'custom', settings });
      answer = { status, code: body.code };
    });
    expect(ms).to.be.below(MOST_MS);
    return answer;
  }
  const invalid = { status: 400, code: 'CUSTOM_SCHEMA_INVALID' };

  it('that refers to itself without end, or to the same again and again', async () => {
    expect(await asked({ allOf: [{ $ref: '#' }] }, { url: 'x' })).to.deep.equal(invalid);
    const twice = (i: number) => ({ allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] });
    const $defs = Object.fromEntries(Array.from({ length: 41 }, (_, i) => [`a${i}`, i < 40 ? twice(i) : {}]));
    expect(await asked({ $ref: '#/$defs/a0', $defs }, { url: 'x' })).to.deep.equal(invalid);
  });

  it('that is long, or compares each item with each other one', async () => {
    const properties = Object.fromEntries(Array.from({ length: 1_200 }, (_, i) => [`p${i}`, { maxLength: i }]));
    expect((await asked({ type: 'object', properties }, { p3: 'x' })).status).to.equal(201);
    const items = Array.from({ length: 6_000 }, (_, i) => ({ a: i }));
    const settings = { items: items.slice(0, 4_000) };
    expect((await asked({ properties: { items: { uniqueItems: true } } }, settings)).status).to.be.oneOf([201, 400]);
    expect(await asked({ properties: { items: { uniqueItems: true } } }, { items })).to.deep.equal({
      status: 422,
      code: 'VALIDATION_FAILED',
    });
  });
});
