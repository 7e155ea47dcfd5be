/** pg-boss with the same mails: written beforehand, sent by the same mailer, as many at a time. */
import PgBoss from 'pg-boss';
import type { Message } from '../../../activities/notifications/provider.js';
import { smtpMailer } from '../../../activities/notifications/smtp.js';
import { answer } from '../child.js';

export interface BossOrder {
  kind: 'fill';
  messages: Message[];
}
export interface BossRun {
  kind: 'run';
  count: number;
}

const { BARE_DATABASE_URL, BARE_SMTP_URL } = process.env;
if (!BARE_DATABASE_URL || !BARE_SMTP_URL)
  throw new Error('pg-boss is started by the bench, which tells it where the servers are');

const QUEUE = 'reminders',
  CONCURRENCY = 16;
/**
 * As many as keep it busy for longer than it waits between two looks: more than that and it would not lose, less and it
 * would.
 */
const BATCH = 500,
  LOOK_SECONDS = 0.5;

const boss = new PgBoss({ connectionString: BARE_DATABASE_URL, schema: 'bench_boss', max: 10 });
boss.on('error', (fault) => {
  throw fault;
});
await boss.start();
await boss.createQueue(QUEUE);
const mailer = smtpMailer(BARE_SMTP_URL, 'study@example.org');

answer<BossOrder | BossRun, null>({}, async (order) => {
  if (order.kind === 'fill') {
    await boss.insert(order.messages.map((data) => ({ name: QUEUE, data })));
    return null;
  }
  let sent = 0;
  await new Promise<void>((resolve, reject) => {
    boss
      .work<Message>(QUEUE, { batchSize: BATCH, pollingIntervalSeconds: LOOK_SECONDS }, async (jobs) => {
        const queue = [...jobs];
        await Promise.all(
          Array.from({ length: CONCURRENCY }, async () => {
            for (let job = queue.shift(); job; job = queue.shift()) await mailer.send(job.data);
          }),
        );
        sent += jobs.length;
        if (sent >= order.count) resolve();
      })
      .catch(reject);
  });
  await boss.offWork(QUEUE);
  return null;
});
