import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { root } from '../support/environment.js';

describe('database statements', () => {
  it('are written by models and the builder, or go through the front', async function () {
    this.timeout(120_000);
    const program = join(root, 'dist/scripts/statement-counts.js');
    const { stdout } = await promisify(execFile)(process.execPath, [program, '--check'], { cwd: root });
    expect(stdout).to.match(/models and builder: [0-9.]+ % /);
  });
});
