import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Worker } from 'node:worker_threads';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { BulkMailer } from '../../activities/notifications/mail-thread/index.js';
import { RefusedMessage } from '../../activities/notifications/provider.js';
import type { Message, Provider } from '../../activities/notifications/provider.js';
import { createReminderActivities } from '../../activities/notifications/reminders/reminders.activities.js';
import { until } from '../support/until.js';
import { Desk, clockIn, daytimeZone } from './stage.js';

const message = (to = `${randomUUID()}@example.org`): Message => ({
  id: randomUUID(),
  to,
  subject: 'Come',
  text: 'Come.\n',
});
/** Takes everything, and remembers what. */
const taking = (): Provider & { ids: string[] } => {
  const ids: string[] = [];
  return {
    ids,
    send: (of) => {
      ids.push(of.id);
      return Promise.resolve();
    },
  };
};
const faultOf = (sending: Promise<void>): Promise<unknown> =>
  sending.then(
    () => undefined,
    (fault: unknown) => fault,
  );

describe('Very many mails', function many() {
  this.timeout(120_000);
  let smtp: SMTPServer;
  let url: string;
  let crowd: BulkMailer;
  let own: ReturnType<typeof taking>;
  const got: string[] = [];
  const held: (() => void)[] = [];
  let holding = false;
  let told: unknown[] = [];
  before(async () => {
    smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      closeTimeout: 100,
      onRcptTo: ({ address }, _session, done) => {
        done(
          address.startsWith('gone') ? Object.assign(new Error('5.1.1 no such mailbox'), { responseCode: 550 }) : null,
        );
      },
      onData: (stream, session, done) => {
        stream.resume().on('end', () => {
          got.push((session.envelope.rcptTo[0] as { address: string }).address);
          if (holding)
            held.push(() => {
              done();
            });
          else done();
        });
      },
    });
    // A thread that is ended breaks its connections off.
    smtp.on('error', () => undefined);
    smtp.listen(0, '127.0.0.1');
    await once(smtp.server, 'listening');
    url = `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`;
  });
  after(
    () =>
      new Promise<void>((resolve) => {
        smtp.close(resolve);
      }),
  );
  beforeEach(() => {
    holding = false;
    told = [];
    own = taking();
  });
  afterEach(() => {
    for (const letGo of held.splice(0)) letGo();
    crowd?.close();
  });
  const workerOf = () => (crowd as unknown as { thread?: { ready: boolean; worker: Worker } }).thread;
  /** A crowd mailer whose thread is ready. */
  async function ready(idleMs?: number): Promise<void> {
    crowd = new BulkMailer({
      url,
      from: 'study@example.org',
      own,
      log: {
        warn: (fields: unknown) => {
          told.push(fields);
        },
      },
      ...(idleMs !== undefined && { idleMs }),
    });
    await crowd.send(message());
    expect(own.ids, 'sent by the worker itself until the thread is ready').to.have.length(1);
    await until(() => workerOf()?.ready === true, { what: 'the thread to be ready' });
  }

  it('are sent by a thread, which tells what the mail server says without naming anybody', async () => {
    await ready();
    const to = `${randomUUID()}@example.org`;
    await crowd.send(message(to));
    expect(got).to.include(to);
    const fault = await faultOf(crowd.send(message('gone@example.org')));
    expect(fault).to.be.instanceOf(RefusedMessage).and.to.include({ addressIsGone: true });
    expect((fault as Error).message)
      .to.include('550')
      .and.not.include('gone@');
    expect(own.ids).to.have.length(1);
  });

  it('are sent by the worker as well when the thread has enough', async () => {
    await ready();
    holding = true;
    const all = Array.from({ length: 20 }, () => crowd.send(message()));
    expect(own.ids).to.have.length(1 + 4);
    holding = false;
    const timer = setInterval(() => {
      for (const letGo of held.splice(0)) letGo();
    }, 20);
    await Promise.all(all).finally(() => {
      clearInterval(timer);
    });
  });

  it('are tried again when the thread dies, and the worker goes on by itself', async () => {
    await ready();
    holding = true;
    const fault = faultOf(crowd.send(message('anna@example.org')));
    await until(() => held.length === 1, { what: 'the mail server to have the mail' });
    await workerOf()!.worker.terminate();
    expect(await fault)
      .to.include({ code: 'MAIL_THREAD_LOST' })
      .and.not.be.instanceOf(RefusedMessage);
    expect(JSON.stringify(told)).to.include('fault').and.not.include('anna');
    await crowd.send(message());
    expect(own.ids, 'the thread is not begun again at once').to.have.length(2);
  });

  it('leave no thread behind; one that still sends ends afterwards', async () => {
    await ready(4_000);
    holding = true;
    const sending = crowd.send(message());
    const { worker } = workerOf()!;
    const ended = once(worker, 'exit');
    await until(() => held.length === 1 && workerOf() === undefined, { what: 'the thread to be let go' });
    holding = false;
    held.splice(0)[0]!();
    await sending;
    await ended;
    expect(told).to.deep.equal([]);
  });

  describe('that are due', () => {
    let desk: Desk;
    before(async () => {
      desk = await Desk.open();
    });
    after(() => desk.close());
    const zone = daytimeZone();
    const sweep = (email: Provider, many: Provider) =>
      createReminderActivities({
        database: desk.stage.database,
        channels: { email, sms: null },
        crowd: { email: many },
        messages: { publicUrl: 'https://study.example.org', secret: 'a secret of this test, long enough' },
        maxLatenessHours: 12,
        retrySeconds: 1,
        log: { warn: () => undefined },
        heartbeat: () => undefined,
      }).sweepReminders();
    /** A study with so many reminders that are due; answers its id. */
    async function due(count: number): Promise<string> {
      const { id } = await desk.study({ send_at: clockIn(zone, -10) }, { timezone: zone });
      await desk.visitors(id, count);
      return id;
    }
    const sentOf = async (study: string) =>
      (
        (await desk.stage.sql("select id from notifications where study_id = ? and status = 'sent'", [study])) as {
          id: string;
        }[]
      )
        .map(({ id }) => id)
        .sort();

    it('go to the crowd’s mailer, each once, and a handful does not', () =>
      desk.alone(async () => {
        const [few, many] = [taking(), taking()];
        const study = await due(450);
        await sweep(few, many);
        const ids = await sentOf(study);
        expect(ids).to.have.length(450);
        expect([...few.ids, ...many.ids].filter((id) => ids.includes(id)).sort()).to.deep.equal(ids);
        expect(many.ids.length).to.be.greaterThan(0);
        const [one, none] = [taking(), taking()];
        const small = await due(20);
        await sweep(one, none);
        expect(await sentOf(small)).to.have.length(20);
        expect(none.ids).to.deep.equal([]);
      }));
  });
});
