import { expect } from 'chai';
import { startSimulator, type Simulator } from '../capture-simulator/server.js';
import { pythonOf } from '../support/python.js';
import type { Python } from '../support/python.js';
import { TOKENS } from './simulator-client.js';

describe('PyCap, a client that this project did not write, against the capture simulator', function () {
  this.timeout(300_000);
  let simulator: Simulator;

  let python: Python | undefined;

  before(async function () {
    python = await pythonOf('test/capture/pycap', 'pycap');
    if (python === undefined) this.skip();
    simulator = await startSimulator();
  });
  after(async () => {
    await simulator?.stop();
  });

  const script = async (name: string, token: string): Promise<string> => {
    simulator.control.reset();
    return python!.run(name, [], {
      CAPTURE_API_URL: simulator.apiUrl,
      CAPTURE_TOKEN: token,
      CAPTURE_READ_ONLY_TOKEN: TOKENS.readOnly,
      CAPTURE_WRONG_TOKEN: '0123456789ABCDEF0123456789ABCDEF',
    });
  };

  it('reads, writes and deletes in a longitudinal project', async () => {
    expect(await script('longitudinal.py', TOKENS.longitudinal)).to.equal('longitudinal: all as expected\n');
    const contents = new Set(simulator.control.calls().map((call) => call.content));
    for (const content of [
      'record',
      'metadata',
      'instrument',
      'event',
      'arm',
      'formEventMapping',
      'project',
      'version',
      'user',
      'exportFieldNames',
    ]) {
      expect(contents).to.include(content);
    }
  });

  it('reads, writes and deletes in a classic project', async () => {
    expect(await script('classic.py', TOKENS.classic)).to.equal('classic: all as expected\n');
  });
});
