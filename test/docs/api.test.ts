import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { withErrorsTable } from '../../api/http/openapi/errors-table.js';
import { root } from '../support/environment.js';
import { Http } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';

const page = readFileSync(join(root, 'docs', 'api.md'), 'utf8');
/** The commands of a part of the page, block by block. */
const blocksOf = (title: string): string[] => {
  const [, part] = page.split(`\n## ${title}\n`);
  return [...part!.split('\n## ')[0]!.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) => block!);
};
const shell = async (script: string): Promise<{ stdout: string; stderr: string; code: unknown }> => {
  const { data_dir } = await service();
  const { TOKEN: _token, ...env } = process.env;
  return new Promise((resolve) =>
    execFile(
      'bash',
      ['-c', `set -eo pipefail\ntrap 'kill $RECEIVER 2> /dev/null || true' EXIT\n${script}`],
      { cwd: root, env: { ...env, DATA_DIR: data_dir }, timeout: 150_000 },
      (fault, stdout, stderr) => resolve({ stdout, stderr, code: fault?.code ?? 0 }),
    ),
  );
};

describe('docs/api.md', function () {
  this.timeout(180_000);

  it('has the errors of the registry (npm run openapi)', () => {
    expect(page).to.equal(withErrorsTable(page));
    expect(page.match(/^\| 409 \| `STALE` \| The resource has changed/gm)).to.have.length(1);
  });

  it('its ten steps run as they are written', async () => {
    const blocks = blocksOf('Ten steps with curl');
    expect(blocks).to.have.length(11);
    const { stdout, stderr, code } = await shell(blocks.join('\n'));
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

  it('what a generated client is given is made as it is written; its programs and settings are there', async () => {
    const [given, ...clients] = blocksOf('Ten steps with a generated client');
    const { stdout, stderr, code } = await shell(`${blocksOf('Ten steps with curl')[0]!}\n${given!}\ninput`);
    expect([stderr, code], stdout).to.deep.equal(['', 0]);
    const made = JSON.parse(stdout) as { api: string; email: string; password: string; code: string; approver: object };
    const nobody = new Http(made.api);
    const logIn = (body: object) => nobody.expect<Loose>(200, 'POST', '/api/auth/login', body);
    expect(await logIn(made.approver)).to.include({ outcome: 'logged_in' });
    const { outcome, mfa_token } = await logIn({ email: made.email, password: made.password });
    expect(outcome).to.equal('mfa_required');
    await nobody.expect(200, 'POST', '/api/auth/mfa/login', { mfa_token, code: made.code });
    expect(clients).to.have.length(3);
    for (const commands of clients) {
      const folder = join(root, /CHECKOUT\/(test\/clients\/\w+)/.exec(commands)![1]!);
      const named = [...commands.matchAll(/quick[-_]start\.(?:ts|py)|[\w-]+\.yaml/g)].map(([name]) => name);
      expect(readdirSync(folder)).to.include.members(named);
    }
  });
});
