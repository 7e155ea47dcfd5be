import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { Stage } from '../anchor/stage.js';
import { unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';

/** Eight at a time, each given up after ten seconds: anyone who waits behind them waits for most of a minute. */
const MAILS = 40;
/** No more than there are connections to the database: on a slow machine the others are refused. */
const AT_ONCE = 8;

describe('A mail server that hangs', function hanging() {
  this.timeout(240_000);
  let smtp: SMTPServer;
  let service: Service;
  let stage: Stage;
  let begun = 0;
  const letGo: (() => void)[] = [];
  before(async () => {
    smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      closeTimeout: 100,
      onMailFrom: (_address, _session, done) => {
        begun += 1;
        letGo.push(() => {
          done();
        });
      },
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => {
          done();
        });
      },
    });
    // What has been given up closes its connection in the middle.
    smtp.on('error', () => undefined);
    smtp.listen(0, '127.0.0.1');
    await once(smtp.server, 'listening');
    service = await startService({ SMTP_URL: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}` });
    stage = await Stage.open(service.run);
  });
  after(async () => {
    for (const answer of letGo) answer();
    await stage?.close();
    await service?.stop();
    await new Promise<void>((resolve) => {
      smtp.close(resolve);
    });
  });

  it('has a message that can no longer be cancelled: it arrives when the server goes on', async () => {
    const study = await stage.study({}, { days: [] });
    const { id } = await study.person({ email: `${unique()}@example.org` });
    await stage.admin.expect(202, 'POST', '/api/portal/magic-link', { participant_id: id, channel: 'email' });
    await until(() => begun === 1, { what: 'the mail to be begun' });
    const message = async () =>
      (
        await stage.admin.expect<{ items: (Loose & { status: string })[] }>(
          200,
          'GET',
          `/api/notifications?participant_id=${id}`,
        )
      ).items[0]!;
    const cancel = async () => stage.admin.post(`/api/notifications/${(await message()).id}/cancel`);
    const refused = await cancel();
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'NOTIFICATION_BEING_SENT']);
    for (const answer of letGo.splice(0)) answer();
    await until(async () => (await message()).status === 'sent', { what: 'the mail to be sent' });
    expect((await cancel()).body.code).to.equal('NOTIFICATION_SETTLED');
    begun = 0;
  });

  it('keeps no participant waiting', async () => {
    const study = await stage.study();
    const invite = () =>
      stage.admin.expect(201, 'POST', '/api/users/invite', {
        email: `${unique()}@example.org`,
        name: 'Somebody',
        role: 'coordinator',
        study_ids: [study.id],
      });
    for (let sent = 0; sent < MAILS; sent += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, invite));
    await until(() => begun >= 8, { what: 'the first mails to hang' });
    const person = await study.person();
    await person.consent('2024-03-01T09:00:00Z');
    await until(async () => (await person.anchor()).enrollment_date === '2024-03-01', {
      what: 'the consent to count',
    });
    expect(begun, 'mails begun meanwhile').to.be.lessThan(MAILS);
  });
});
