import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { until } from '../support/service.js';
import { DAY, Stage } from '../anchor/stage.js';

const run = promisify(execFile);
const POLICY = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_override: ['admin', 'coordinator'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};

describe('The commands of docs/temporal.md', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('send an approver’s decision as a signal with its authorization', async function () {
    const { temporal_cli: cli } = stage.run;
    if (!cli) return this.skip();
    const text = readFileSync(join(root, 'docs', 'temporal.md'), 'utf8');
    const [, commands] = /```sh\n(# 1\. As the approver[^]*?)```/.exec(text)!;
    const study = await stage.study(POLICY);
    const [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
    const person = await study.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17', asker);
    await run('bash', ['-euo', 'pipefail', '-c', `temporal() { "$CLI" "$@"; }\n${commands}`], {
      env: {
        ...process.env,
        CLI: cli,
        API: stage.run.api,
        TOKEN: approver.token!,
        ADDRESS: stage.run.temporal,
        STUDY: study.id,
        REQUEST: body.override_request_id,
        PARTICIPANT: person.id,
        APPROVER: approver.userId!,
      },
    });
    await until(async () => (await person.anchor()).is_override, { what: 'the decision to be carried out' });
    const granted = (await study.audit('anchor_override_granted')).find(
      ({ resource_id }) => resource_id === person.id,
    )!;
    expect(granted.audit_metadata).to.include({
      via: 'signal',
      identity: 'verified',
      approver_user_id: approver.userId,
    });
  });

  it('say in a sentence why there is no authorization, and send nothing then', async () => {
    const text = readFileSync(join(root, 'docs', 'temporal.md'), 'utf8');
    const [, commands] = /```sh\n(# 1\. As the approver[^]*?)```/.exec(text)!;
    const study = await stage.study(POLICY);
    const env = { STUDY: study.id, REQUEST: study.id, PARTICIPANT: study.id, APPROVER: study.id, ADDRESS: 'nowhere' };
    for (const [api, said] of [
      [stage.run.api, /^No authorization: \{.*"NOT_FOUND"/m],
      // Nothing listens at the lowest port.
      ['http://127.0.0.1:1', /^No authorization: nothing came\. Is the service running\?$/m],
    ] as const) {
      const script = `temporal() { echo sent; }\n${commands}\ntrue`;
      const { stdout, stderr } = await run('bash', ['-c', script], {
        env: { ...process.env, ...env, API: api, TOKEN: stage.admin.token! },
      });
      expect(stderr)
        .to.match(said)
        .and.not.match(/^\s+at |node:internal|SyntaxError/m);
      expect(stdout).to.equal('');
    }
  });
});
