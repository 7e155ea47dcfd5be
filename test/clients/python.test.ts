import { devNull } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pythonOf } from '../support/python.js';
import { TEN_STEPS, built, contractIn, input, output, sizeOf } from './stage.js';

describe('A client in Python, generated from the contract by openapi-python-client', function () {
  this.timeout(600_000);

  it('passes mypy, can be imported whole, and goes through the ten steps', async function () {
    const python = await pythonOf('test/clients/python', 'clients-python');
    if (!python) return this.skip();
    const program = (name: string) => join(python.bin, name);
    const folder = await built('python', 'openapi-python-client', async (at) => {
      const contract = await contractIn(at, '3.1');
      const told = await output(
        program('openapi-python-client'),
        ['generate', '--path', contract, '--meta', 'none', '--config', 'openapi-python-client.yaml'].concat(
          '--output-path',
          'research_assessment',
        ),
        { cwd: at },
      );
      expect(told, 'what it leaves out').not.to.include('WARNING');
      // What it has learnt of the package is of no use to anybody: the package is made once.
      const options = ['--strict', '--follow-imports=silent', '--cache-dir', devNull];
      await output(program('mypy'), [...options, 'quick_start.py'], { cwd: at });
      expect(Number(await output(program('python'), ['import_all.py'], { cwd: at }))).to.be.greaterThan(800);
    });
    const said = await output(program('python'), ['quick_start.py', await input()], { cwd: folder });
    expect(JSON.parse(said)).to.deep.equal(TEN_STEPS);
    const models = await sizeOf(join(folder, 'research_assessment', 'models'), '.py');
    expect(models.files).to.be.lessThan(900);
  });
});
