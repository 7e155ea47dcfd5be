/** A worker's sweep in a process of its own: the service's activity, database role, mailer and its thread. */
import { BulkMailer } from '../../activities/notifications/mail-thread/index.js';
import { createReminderActivities } from '../../activities/notifications/reminders/reminders.activities.js';
import { smtpMailer } from '../../activities/notifications/smtp.js';
import { openDatabase } from '../../db/client/knex.js';
import { answer } from './child.js';

const { BARE_DATABASE_URL, BARE_SMTP_URL, BARE_LEASE_SECONDS } = process.env;
if (!BARE_DATABASE_URL || !BARE_SMTP_URL)
  throw new Error('the sweeper is started by the bench, which tells it where the servers are');

const log = { warn: () => undefined };
const own = smtpMailer(BARE_SMTP_URL, 'study@example.org');
const { sweepReminders } = createReminderActivities({
  database: openDatabase({ url: BARE_DATABASE_URL, name: 'bench-sweeper' }),
  channels: { email: own, sms: null },
  crowd: { email: new BulkMailer({ url: BARE_SMTP_URL, from: 'study@example.org', own, log }) },
  messages: { publicUrl: 'https://study.example.org', secret: 'a secret of the bench, long enough' },
  maxLatenessHours: 12,
  retrySeconds: 30,
  log,
  heartbeat: () => undefined,
  ...(BARE_LEASE_SECONDS && { leaseSeconds: Number(BARE_LEASE_SECONDS) }),
});
answer({}, async () => sweepReminders());
