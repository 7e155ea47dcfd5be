import { expect } from 'chai';
import { pythonOf } from '../support/python.js';
import { asMuchAs } from '../support/in-full.js';
import { SOURCES, fuzz } from './schemathesis.js';

const EXAMPLES = asMuchAs(1, 2);

describe('The contract under schemathesis, all checks', function suite() {
  this.timeout(480_000);

  it('of every operation no case is a 500 or an answer that is not documented (npm run contract:fuzz: at length)', async function fuzzed() {
    // Without Python there is nothing to run it in: the test then shows as pending, not as passed.
    const python = await pythonOf(SOURCES, 'schemathesis');
    if (python === undefined) return this.skip();
    const { code, output } = await fuzz(python, { examples: EXAMPLES, seed: 20, phases: ['fuzzing'] });
    expect(code, output).to.equal(0);
    const [, cases] = /(\d+) generated, (?:\d+ passed|found no failures|0 found)?/.exec(output) ?? [];
    expect(Number(cases), output.slice(-2000)).to.be.greaterThan(225 * EXAMPLES);
    expect(output).to.match(/Tested: 2\d\d/);
  });
});
