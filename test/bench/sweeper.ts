/** A worker's sweep in a process of its own: the service's activity, database role and mailer. */
import { createReminderActivities } from '../../activities/notify/reminders/index.js';
import { smtpMailer } from '../../activities/notify/smtp.js';
import { openDatabase } from '../../db/knex.js';
import { answer } from './child.js';

const { BARE_DATABASE_URL, BARE_SMTP_URL, BARE_LEASE_SECONDS } = process.env;
if (!BARE_DATABASE_URL || !BARE_SMTP_URL) throw new Error('the sweeper is started by the bench, which tells it where the servers are');

const { sweepReminders } = createReminderActivities({
  database: openDatabase({ url: BARE_DATABASE_URL, name: 'bench-sweeper' }),
  channels: { email: smtpMailer(BARE_SMTP_URL, 'study@example.org'), sms: null },
  messages: { publicUrl: 'https://study.example.org', secret: 'a secret of the bench, long enough' },
  maxLatenessHours: 12, retrySeconds: 30, log: { warn: () => undefined }, heartbeat: () => undefined,
  ...(BARE_LEASE_SECONDS && { leaseSeconds: Number(BARE_LEASE_SECONDS) }),
});
answer({}, async () => sweepReminders());
