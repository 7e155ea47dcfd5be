import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { FINAL_AT_ONCE, emitted, follow, setDate } from '../events/stage.js';
import type { Http } from '../support/http.js';
import { until } from '../support/service.js';

describe('Event streams: a user has few, and a process reads once for all of them', () => {
  let stage: Stage, study: AnchorStudy, reader: Http;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(FINAL_AT_ONCE, { days: [] });
    reader = await study.as('data_manager');
  });
  after(() => stage.close());

  it('five at a time; the next is 429 until one is closed; others have their own', async () => {
    const streams = await Promise.all(Array.from({ length: 5 }, () => follow(reader, study.id)));
    try {
      expect(streams.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
      const refused = await reader.get(`/api/studies/${study.id}/events`, { headers: { Accept: 'text/event-stream' } });
      expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).to.deep.equal([
        429,
        'RATE_LIMITED',
        '5',
      ]);
      expect((await reader.get(`/api/studies/${study.id}/events`)).status, 'the list').to.equal(200);
      streams.push(await follow(stage.admin, study.id));
      expect(streams.at(-1)!.status).to.equal(200);

      await setDate(study);
      const all = await emitted(study);
      for (const stream of streams)
        await until(() => stream.events.length === all.length, { what: 'the event in each stream' });
      streams.shift()!.stop();
      await until(
        async () => {
          const next = await follow(reader, study.id);
          streams.push(next);
          return next.status === 200;
        },
        { what: 'a place for one more' },
      );
    } finally {
      for (const stream of streams) stream.stop();
    }
  });
});
