import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { TEN_STEPS, built, contractIn, input, output, sizeOf } from './stage.js';

/** From this version on Go reads the program's module file. */
const LEAST = [1, 26];

/** As it is written, not fast: 170,000 lines compile in half of the processor time, and vet reads what was compiled. */
const PLAIN = '-gcflags=example.org/quickstart/...=-N -l -dwarf=false';
/** The compiler looks for garbage half as often, in 0.7 GB. */
const SELDOM = { GOGC: '200' };

async function hasGo(): Promise<boolean> {
  const said = await output('go', ['version'], { env: { GOTOOLCHAIN: 'local' } }).catch(() => '');
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(said) ?? [];
  return Number(major) > LEAST[0]! || (Number(major) === LEAST[0] && Number(minor) >= LEAST[1]!);
}

describe('A client in Go, generated from the contract in OpenAPI 3.0 by oapi-codegen', function () {
  this.timeout(600_000);

  it('passes go vet and goes through the ten steps', async function () {
    if (!(await hasGo())) return this.skip();
    const folder = await built('go', 'oapi-codegen', async (at) => {
      const contract = await contractIn(at, '3.0');
      await mkdir(join(at, 'api'));
      await output('go', ['tool', 'oapi-codegen', '-config', 'oapi-codegen.yaml', contract], { cwd: at });
      await output('go', ['build', PLAIN, '-ldflags=-s -w', '-buildvcs=false', '-o', 'quick-start', '.'], {
        cwd: at,
        env: SELDOM,
      });
      await output('go', ['vet', PLAIN, './...'], { cwd: at, env: SELDOM });
    });
    const said = await output(join(folder, 'quick-start'), [await input()]);
    expect(JSON.parse(said)).to.deep.equal(TEN_STEPS);
    expect((await sizeOf(join(folder, 'api'), '.go')).files).to.equal(1);
  });
});
