import { expect } from 'chai';
import { AnchorStudy, Stage } from '../anchor/stage.js';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin } from '../support/http.js';
import { until } from '../support/until.js';
import { FINAL_AT_ONCE, emitted, follow, setDate } from './stage.js';
import type { Followed } from './stage.js';

/** The service's own pause between two signs of life of a quiet stream, and time for a busy machine. */
const HEARTBEAT_PATIENCE_MS = 60_000;

describe('Streams of events and the processes that serve them', function streamTests() {
  this.timeout(120_000);
  let stage: Stage;
  let study: AnchorStudy;
  let apis: [ApiProcess, ApiProcess];
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(FINAL_AT_ONCE, { days: [0] });
    apis = await Promise.all([startApi(), startApi()]);
  });
  after(async () => {
    await Promise.all((apis ?? []).map((api) => api.kill()));
    await stage.close();
  });
  const has = (stream: Followed, count: number) =>
    until(() => stream.events.length >= count, { what: `${count} events, not ${stream.events.length}` });

  it('what one process commits comes through every other, in the same order', async () => {
    const streams = await Promise.all(
      [stage.run.api, ...apis.map(({ url }) => url)].map(async (url) => follow(await admin(url), study.id)),
    );
    for (let i = 0; i < 3; i += 1) await setDate(study);
    const wanted = (await emitted(study)).map(({ id }) => id);
    for (const stream of streams) {
      await has(stream, wanted.length);
      expect(stream.events.map(({ id }) => id)).to.deep.equal(wanted);
      stream.stop();
    }
  });

  it('a process that is stopped ends its streams by itself; the client goes on at another one, without a gap or a repetition', async () => {
    const known = (await emitted(study)).length;
    const [first, second] = apis;
    const stream = await follow(await admin(first.url), study.id);
    await has(stream, known);
    expect(stream.texts[0]).to.match(/^retry: \d+$/);
    // It goes by itself and with success: the stream does not hold it until somebody loses patience.
    expect(await first.stop(), first.output()).to.equal(0);
    await until(() => stream.ended, { what: 'the stream to end' });
    await setDate(study);
    const again = await follow(await admin(second.url), study.id, { 'Last-Event-ID': stream.events.at(-1)!.id });
    await setDate(study);
    const wanted = (await emitted(study)).map(({ id }) => id);
    await until(() => stream.events.length + again.events.length >= wanted.length, { what: 'the rest of the events' });
    expect([...stream.events, ...again.events].map(({ id }) => id)).to.deep.equal(wanted);
    again.stop();
  });

  it('a quiet stream gives a sign of life', async () => {
    const stream = await follow(await admin(apis[1].url), study.id, {
      'Last-Event-ID': (await emitted(study)).at(-1)!.id,
    });
    await until(() => stream.texts.includes(': still here'), {
      timeout: HEARTBEAT_PATIENCE_MS,
      what: 'a sign of life',
    });
    expect(stream.events).to.deep.equal([]);
    stream.stop();
  });
});
