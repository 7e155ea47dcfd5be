import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import { service, until } from '../support/service.js';

const run = promisify(execFile);
const READING = /^temporal workflow (list|count|query|metadata|show) /;
/** The commands of a document that only read, as they are written there. */
const commandsOf = (file: string): string[] =>
  readFileSync(join(root, 'docs', file), 'utf8')
    .split('\n')
    .filter((line) => READING.test(line));

describe('the commands for Temporal that the documents show', function () {
  this.timeout(120_000);

  it('run as they are written', async function () {
    const { api, temporal, temporal_cli } = await service();
    if (temporal_cli === null) this.skip();
    const study = await newStudy(await admin());
    const { id } = await newParticipant(await admin(), study.id);
    const env = {
      ...process.env,
      ADDRESS: temporal,
      TEMPORAL_ADDRESS: temporal,
      API: api,
      CODE: 'ANY',
      STUDY: study.id,
      PARTICIPANT: id,
    };
    const shell = (command: string) =>
      run('bash', ['-c', `temporal() { ${JSON.stringify(temporal_cli)} "$@"; }; ${command}`], {
        env,
        cwd: dirname(temporal_cli),
      });
    const commands = [...commandsOf('temporal.md'), ...commandsOf('OPERATIONS.md')];
    expect(commands.length).to.be.above(10);
    await until(() => shell(`temporal workflow describe -w participant-anchor/${id}`).catch(() => undefined), {
      what: 'the participant’s workflow',
    });
    for (const command of commands) {
      const failed = await shell(command).then(
        () => undefined,
        (fault: { stderr?: string }) => `${command}: ${fault.stderr ?? String(fault)}`,
      );
      expect(failed).to.equal(undefined);
    }
  });
});
