import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { TEN_STEPS, built, contractIn, input, output, sizeOf } from './stage.js';

const own = (...parts: string[]): string => join(root, 'node_modules', ...parts);
const compile = (folder: string) =>
  output(
    process.execPath,
    [
      own('@typescript', 'native', 'bin', 'tsc'),
      '--ignoreConfig',
      '--strict',
      ...['--noUncheckedIndexedAccess', '--skipLibCheck'],
      ...['--target', 'ES2023', '--module', 'NodeNext', '--types', 'node', '--typeRoots', own('@types')],
      'quick-start.ts',
    ],
    { cwd: folder },
  );

describe('Clients in TypeScript, generated from the contract', function () {
  this.timeout(300_000);

  it('openapi-fetch with the types of openapi-typescript goes through the ten steps', async () => {
    const folder = await built('typescript', 'openapi-typescript', async (at) => {
      const contract = await contractIn(at, '3.1');
      await output(process.execPath, [
        own('openapi-typescript', 'bin', 'cli.js'),
        contract,
        '-o',
        join(at, 'contract.d.ts'),
        // A field with a default may be left out of a request.
        '--default-non-nullable=false',
      ]);
      await compile(at);
    });
    const said = await output(process.execPath, [join(folder, 'quick-start.js'), await input()]);
    expect(JSON.parse(said)).to.deep.equal(TEN_STEPS);
    expect((await sizeOf(folder, '.d.ts')).lines).to.be.lessThan(60_000);
  });

  it('the classes of @hey-api/openapi-ts go through the ten steps', async () => {
    const folder = await built('typescript-classes', 'openapi-ts', async (at) => {
      await contractIn(at, '3.1');
      await output('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: at });
      const generator = join(at, 'node_modules', '@hey-api', 'openapi-ts', 'bin', 'run.js');
      await output(process.execPath, [generator, '-f', 'openapi-ts.config.mjs'], { cwd: at });
      await compile(at);
    });
    const said = await output(process.execPath, [join(folder, 'quick-start.js'), await input()]);
    expect(JSON.parse(said)).to.deep.equal(TEN_STEPS);
  });
});
