import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { service } from '../support/service.js';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

describe('The first session with curl, as README has it', function () {
  this.timeout(120_000);
  const [, session] = /## A first session with curl[^]*?```sh\n([^]*?)```/.exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  )!;
  const folder = mkdtempSync(join(tmpdir(), 'first-session-'));
  after(() => rmSync(folder, { recursive: true }));
  const paste = (dataDir: string): Promise<Ended> =>
    new Promise((resolve) => {
      const { TOKEN: _token, ...env } = process.env;
      execFile('bash', ['-c', session!], { cwd: root, env: { ...env, DATA_DIR: dataDir } }, (fault, stdout, stderr) => {
        resolve({ code: typeof fault?.code === 'number' ? fault.code : 0, stdout, stderr });
      });
    });

  it('makes a study, a participant and its date, and shows the visit that follows from it', async () => {
    const { data_dir } = await service();
    const { stdout, stderr } = await paste(data_dir);
    expect(stderr).to.equal('');
    expect(stdout).to.include('"target_date":"2026-02-09"').and.to.include('"source_type":"manual_entry"');
  });

  it('says in a sentence that the service is not running', async () => {
    const { stdout, stderr } = await paste(folder);
    expect(stdout).to.equal('');
    expect(stderr.trim()).to.equal(
      `The service is not running: there is no ${folder}/run.json. Start it with npm start, then paste this again.`,
    );
  });

  it('says in a sentence that nobody answers where a service was', async () => {
    // Port 9 is the discard service's: nothing listens there.
    writeFileSync(
      join(folder, 'run.json'),
      JSON.stringify({ api: 'http://127.0.0.1:9', admin_email: 'a', admin_password: 'b' }),
    );
    const { stdout, stderr } = await paste(folder);
    rmSync(join(folder, 'run.json'));
    expect(stdout).to.equal('');
    expect(stderr)
      .to.match(/Is the service running\?/)
      .and.not.to.match(/\n\s+at /);
  });
});
