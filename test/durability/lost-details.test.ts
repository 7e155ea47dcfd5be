import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import { unique } from '../support/http.js';
import type { RunJson } from '../support/service.js';
import { until } from '../support/until.js';

const LATER = '2024-03-20';
const POLICY = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false, require_eligibility_confirmed: false },
  permissions: { can_set: ['admin'], can_override: ['admin'], override_requires_approval: false },
};

describe('The details of a message that a crash of the database took', function () {
  this.timeout(150_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage?.close());

  it('go with the message, which is sent once more: the override is applied once, with its reason', async () => {
    const study = await stage.study(POLICY);
    const person = await study.person();
    await person.post('', { enrollment_date: DAY });
    await person.becomes({ status: 'finalized' });
    const reason = unique('told on the phone');
    const path = `/api/studies/${study.id}/participants/${person.id}/anchor-date/override`;
    const body = { new_enrollment_date: LATER, reason, regenerate_schedule: false };
    const headers = { 'Idempotency-Key': unique('key') };
    // Not the one of the beginning: another test may have ended that.
    const { pids } = JSON.parse(readFileSync(join(stage.run.data_dir, 'run.json'), 'utf8')) as RunJson;
    const worker = pids.worker!;
    let sent;
    process.kill(worker, 'SIGSTOP');
    try {
      sent = stage.admin.send('POST', path, body, { headers });
      // Stored without waiting for the disk: what a crash takes.
      await until(
        async () => {
          const taken = await stage.sql('delete from message_details where reason = ? returning id', [reason]);
          expect(taken).to.have.lengthOf(1);
          return taken;
        },
        { what: 'the details to be stored' },
      );
    } finally {
      process.kill(worker, 'SIGCONT');
    }
    const first = await sent;
    expect(first.status, first.text).to.equal(200);
    const again = await stage.admin.send('POST', path, body, { headers });
    expect(again.status, again.text).to.equal(200);
    const overrides = (await person.history()).filter((entry) => entry.reason === reason);
    expect(overrides).to.have.lengthOf(1);
  });
});
