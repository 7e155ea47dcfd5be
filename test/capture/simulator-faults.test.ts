import { expect } from 'chai';
import { startSimulator, type Simulator } from '../capture-simulator/server.js';
import { until } from '../support/until.js';
import { LONGITUDINAL, TOKENS, callApi, importRow } from './simulator-client.js';

const METADATA = { content: 'metadata', format: 'json' };
const result = (rt: string): Record<string, string> =>
  importRow({ record_id: '1001', redcap_event_name: 'month_3_arm_1', rt_mean: rt });

describe('The capture simulator: faults on demand', () => {
  let simulator: Simulator;
  const call = (parameters: Record<string, string>, signal?: AbortSignal) =>
    callApi(simulator, TOKENS.longitudinal, parameters, signal);
  const dropped = (parameters: Record<string, string>): Promise<boolean> =>
    call(parameters).then(
      () => false,
      () => true,
    );
  const stored = (): string | undefined =>
    simulator.control
      .record(LONGITUDINAL, '1001')
      ?.rows.find((row) => row.event === 'month_3_arm_1' && row.repeat_instrument === '')?.values['rt_mean'];
  const written = (): number => simulator.control.writes(LONGITUDINAL).filter((write) => write.via === 'api').length;

  before(async () => {
    simulator = await startSimulator();
  });
  after(() => simulator.stop());
  beforeEach(() => simulator.control.reset());

  it('answers with a status, for so many calls and only for the named content', async () => {
    simulator.control.setFaults({ status: 503, content: ['record:import'], times: 2 });
    expect((await call(METADATA)).status).to.equal(200);
    expect((await call(result('1'))).status).to.equal(503);
    const second = await call(result('1'));
    expect(second.status).to.equal(503);
    expect(JSON.parse(second.text)).to.have.property('error');
    expect(written()).to.equal(0);
    expect((await call(result('1'))).text).to.equal('{"count":1}');
    expect(simulator.control.faults()).to.deep.include({
      status: 503,
      content: ['record:import'],
      times: 2,
      seen: 3,
      done: 2,
    });
  });

  it('flaps: every second call from the second on', async () => {
    simulator.control.setFaults({ status: 500, skip: 1, every: 2 });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await call(METADATA)).status);
    expect(statuses).to.deep.equal([200, 500, 200, 500, 200]);
  });

  it('answers 200 with a maintenance page, a fatal block, or another body', async () => {
    simulator.control.setFaults([
      { html: true, times: 1 },
      { fatal: true, skip: 1, times: 1 },
      { body: '{"count":"many"}', skip: 2, times: 1 },
    ]);
    const page = await call(METADATA);
    expect([page.status, page.type]).to.deep.equal([200, 'text/html; charset=utf-8']);
    expect(page.text).to.include('maintenance');
    const fatal = await call(METADATA);
    expect(fatal.status).to.equal(200);
    expect(fatal.text).to.match(/^<br \/>[\s\S]*\{"error":/);
    expect((await call(METADATA)).text).to.equal('{"count":"many"}');
  });

  it('drops the connection before the write', async () => {
    simulator.control.setFaults({ drop: 'before', times: 1 });
    expect(await dropped(result('2'))).to.equal(true);
    expect([stored(), written()]).to.deep.equal([undefined, 0]);
    expect(simulator.control.calls().at(-1)).to.include({ status: null, fault: 'drop_before', applied: false });
  });

  it('drops the connection after the write', async () => {
    simulator.control.setFaults({ drop: 'after', times: 1 });
    expect(await dropped(result('3'))).to.equal(true);
    expect([stored(), written()]).to.deep.equal(['3', 1]);
    expect(simulator.control.calls().at(-1)).to.include({ status: null, fault: 'drop_after', applied: true });
  });

  it('can write and then answer with an error all the same', async () => {
    simulator.control.setFaults({ status: 504, after_write: true });
    expect((await call(result('4'))).status).to.equal(504);
    expect([stored(), written()]).to.deep.equal(['4', 1]);
  });

  it('cuts JSON short, pads it, and sends it slowly', async () => {
    simulator.control.setFaults({ truncate_json: true, times: 1 });
    const cut = await call(METADATA);
    expect(cut.status).to.equal(200);
    expect(() => JSON.parse(cut.text)).to.throw();
    simulator.control.setFaults({ pad_bytes: 1_000_000 });
    expect((await call(METADATA)).text.length).to.be.above(1_000_000);
    simulator.control.setFaults({ slow_body_ms: 150 });
    const started = Date.now();
    expect(JSON.parse((await call(METADATA)).text)).to.be.an('array');
    expect(Date.now() - started).to.be.at.least(140);
    simulator.control.setFaults({ slow_body_ms: 60_000 });
    const failure = await call(METADATA, AbortSignal.timeout(200)).then(
      () => undefined,
      (error: Error) => error.name,
    );
    expect(failure).to.equal('TimeoutError');
  });

  it('waits before it answers, and redirects elsewhere', async () => {
    simulator.control.setFaults({ latency_ms: 120, redirect: 'http://127.0.0.1:9/elsewhere' });
    const started = Date.now();
    expect((await call(METADATA)).status).to.equal(302);
    expect(Date.now() - started).to.be.at.least(110);
  });

  it('holds a call until the faults are ended, or others are set', async () => {
    for (const end of [() => simulator.control.clearFaults(), () => simulator.control.setFaults([])]) {
      simulator.control.setFaults({ hold: true, status: 503, project_id: LONGITUDINAL });
      const answered: number[] = [];
      const held = call(METADATA).then(({ status }) => answered.push(status));
      await until(() => simulator.control.faults()[0]!.done === 1, { what: 'the call to come' });
      expect((await callApi(simulator, TOKENS.classic, METADATA)).status, 'another call goes on').to.equal(200);
      expect(answered).to.deep.equal([]);
      end();
      await held;
      expect(answered).to.deep.equal([503]);
    }
  });

  it('bans for good who calls too often, until the faults are cleared', async () => {
    simulator.control.setFaults({ rate_limit_per_minute: 3, ban: true });
    for (let i = 0; i < 3; i += 1) expect((await call(METADATA)).status).to.equal(200);
    const banned = await call(METADATA);
    expect(banned.status).to.equal(429);
    expect(JSON.parse(banned.text)).to.deep.equal({
      error: 'Your IP address (127.0.0.1) has been banned due to suspected abuse.',
    });
    simulator.control.setFaults({ rate_limit_per_minute: 1000 });
    expect((await call(METADATA)).status).to.equal(429);
    simulator.control.clearFaults();
    expect((await call(METADATA)).status).to.equal(200);
  });

  it('is driven over HTTP too, and logs every call without its token', async () => {
    const put = (body: unknown): Promise<Response> =>
      fetch(`${simulator.url}/control/faults`, {
        method: 'PUT',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    expect((await put({ status: 500, times: 1 })).status).to.equal(200);
    expect((await call(METADATA)).status).to.equal(500);
    const refused = await put({ drop: 'sometimes' });
    expect(refused.status).to.equal(400);
    expect(((await refused.json()) as { error: string }).error).to.match(/^The fault is not valid: \/drop /);
    expect((await fetch(`${simulator.url}/control/faults`, { method: 'DELETE' })).status).to.equal(204);
    const log = await (await fetch(`${simulator.url}/control/calls`)).text();
    expect(log).to.include('"fault":"status_500"').and.not.include(TOKENS.longitudinal);
    expect(await (await fetch(`${simulator.url}/calls`)).text()).to.include('status_500');
  });

  it('stops at once, with slow answers still under way', async () => {
    const own = await startSimulator();
    own.control.setFaults({ slow_body_ms: 60_000 });
    const broken = callApi(own, TOKENS.longitudinal, METADATA).then(
      () => false,
      () => true,
    );
    await until(() => own.control.calls().length > 0, { what: 'the call to be under way' });
    const started = performance.now();
    await own.stop();
    expect(await broken).to.equal(true);
    expect(performance.now() - started, 'before the answer is over').to.be.below(25_000);
  });
});
