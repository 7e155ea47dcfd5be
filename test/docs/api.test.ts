import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { withErrorsTable } from '../../api/http/openapi/errors-table.js';
import { root } from '../support/environment.js';
import { service } from '../support/service.js';

const page = readFileSync(join(root, 'docs', 'api.md'), 'utf8');

describe('docs/api.md', function () {
  this.timeout(180_000);

  it('has the errors of the registry (npm run openapi)', () => {
    expect(page).to.equal(withErrorsTable(page));
    expect(page.match(/^\| 409 \| `STALE` \| The resource has changed/gm)).to.have.length(1);
  });

  it('its ten steps run as they are written', async () => {
    const [, steps] = /\n## Ten steps with curl\n([^]*?)\n## /.exec(page)!;
    const blocks = [...steps!.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) => block!);
    expect(blocks).to.have.length(11);
    const { data_dir } = await service();
    const { TOKEN: _token, ...env } = process.env;
    const { stdout, stderr, code } = await new Promise<{ stdout: string; stderr: string; code: unknown }>((resolve) =>
      execFile(
        'bash',
        ['-c', `set -eo pipefail\ntrap 'kill $RECEIVER 2> /dev/null || true' EXIT\n${blocks.join('\n')}`],
        { cwd: root, env: { ...env, DATA_DIR: data_dir }, timeout: 60_000 },
        (fault, out, err) => resolve({ stdout: out, stderr: err, code: fault?.code ?? 0 }),
      ),
    );
    expect([stderr, code], stdout).to.deep.equal(['', 0]);
    const lines = stdout.trim().split('\n');
    expect(lines.slice(0, 11)).to.deep.equal([
      'active',
      'true',
      'W4',
      'signed',
      '2026-01-12',
      '2026-02-09',
      'active',
      '2026-01-14',
      'accepted',
      'completed',
      lines[10],
    ]);
    expect(lines.filter((line) => line.includes('stroop'))).to.have.length(2);
    expect(lines).to.include.members(['ENROLLMENT_DATE_SET', 'ENROLLMENT_DATE_OVERRIDE_GRANTED']);
  });
});
