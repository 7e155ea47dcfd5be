import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { root, testEnvironment } from '../support/environment.js';
import { ran } from '../support/program.js';
import { service } from '../support/service.js';

/** Inside the checkout, so that its packages are found; nothing of the service's own sources is. */
const FOLDER = join(root, '.cache', 'contract-client');
const bin = (...parts: string[]): string => join(root, 'node_modules', ...parts);

describe('A TypeScript client generated from docs/openapi.json', function suite() {
  this.timeout(180_000);
  before(async () => {
    await rm(FOLDER, { recursive: true, force: true });
    await mkdir(FOLDER, { recursive: true });
    await cp(join(root, 'test', 'contract', 'client', 'quick-start.ts'), join(FOLDER, 'quick-start.ts'));
  });

  it('compiles under strict settings and runs the quick-start of the README', async () => {
    const env = testEnvironment();
    const generated = await ran(
      [
        bin('openapi-typescript', 'bin', 'cli.js'),
        join(root, 'docs', 'openapi.json'),
        '-o',
        join(FOLDER, 'contract.d.ts'),
      ],
      env,
    );
    expect(generated.code, generated.output).to.equal(0);
    const compiled = await ran(
      [
        bin('typescript', 'bin', 'tsc'),
        '--ignoreConfig',
        '--strict',
        '--noUncheckedIndexedAccess',
        '--exactOptionalPropertyTypes',
        '--target',
        'ES2023',
        '--module',
        'NodeNext',
        '--types',
        'node',
        '--typeRoots',
        bin('@types'),
        join(FOLDER, 'quick-start.ts'),
      ],
      env,
    );
    expect(compiled.code, compiled.output).to.equal(0);
    const { api, admin_email, admin_password } = await service();
    const { code, output } = await ran([join(FOLDER, 'quick-start.js'), api, admin_email, admin_password ?? ''], env);
    expect(code, output).to.equal(0);
    expect(JSON.parse(output)).to.deep.equal({
      status: 'finalized',
      due: ['2026-02-09'],
      events: ['SET'],
      missing: [404, 'NOT_FOUND'],
    });
  });
});
