import { expect } from 'chai';
import { startSimulator, type Simulator } from '../capture-simulator/server.js';
import { LONGITUDINAL, TOKENS, callApi } from './simulator-client.js';

describe('The capture simulator: events that are made, renamed and deleted', () => {
  let simulator: Simulator;
  before(async () => {
    simulator = await startSimulator();
  });
  after(() => simulator.stop());

  const post = async (path: string, body: unknown): Promise<[number, unknown]> => {
    const answer = await fetch(`${simulator.url}/control/projects/${LONGITUDINAL}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    const text = await answer.text();
    return [answer.status, text === '' ? null : JSON.parse(text)];
  };
  const listed = async () => {
    const { text } = await callApi(simulator, TOKENS.longitudinal, { content: 'event', format: 'json' });
    return JSON.parse(text) as { unique_event_name: string; event_id: number }[];
  };
  const idOf = async (name: string) =>
    (await listed()).find(({ unique_event_name }) => unique_event_name === name)?.event_id;

  it('over HTTP: a name is another one, the id and the data stay; a deleted one goes with its data', async () => {
    const id = await idOf('month_3_arm_1');
    expect(await post('/rename-event', { event: 'month_3_arm_1', to: 'Spring' })).to.deep.equal([
      200,
      { unique_event_name: 'spring_arm_1' },
    ]);
    expect([await idOf('month_3_arm_1'), await idOf('spring_arm_1')]).to.deep.equal([undefined, id]);
    const eventsOf = () => simulator.control.record(LONGITUDINAL, '1001')?.rows.map(({ event }) => event);
    expect(eventsOf()).to.include('spring_arm_1');
    expect((await post('/delete-event', { event: 'spring_arm_1' }))[0]).to.equal(204);
    expect(eventsOf()).to.not.include('spring_arm_1');
    expect(await post('/events', { event_name: 'Spring', forms: ['cognitive_results'] })).to.deep.equal([
      201,
      { unique_event_name: 'spring_arm_1' },
    ]);
    expect(await idOf('spring_arm_1')).to.not.be.oneOf([undefined, id]);
    expect((await post('/rename-event', { event: 'none_arm_1', to: 'x' }))[0]).to.equal(404);
  });
});
