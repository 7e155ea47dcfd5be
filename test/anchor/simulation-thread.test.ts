import { expect } from 'chai';
import { compute } from '../../activities/simulation/compute.js';
import { inputs, run, text } from './simulated.js';

describe('the thread of a simulation', () => {
  it('computes what is computed here, from the sources as well', async () => {
    const told: number[] = [];
    expect(
      await compute(inputs({ seed: 11 }), new AbortController().signal, (progress) => told.push(progress)),
    ).to.equal(text(run({ seed: 11 })));
    for (const progress of told) expect(progress).to.be.within(0, 1);
  });

  it('ends when it is told to', async () => {
    const stop = new AbortController();
    const ended = compute(inputs({ participants: 100_000, months: 60 }), stop.signal, () => {}).then(
      () => 'a result',
      (fault: unknown) => String(fault),
    );
    setImmediate(() => {
      stop.abort();
    });
    expect(await ended).to.match(/the simulation's thread ended/);
  });
});
