import { consoleLinks } from '../../workflows/domain/util/console-links.js';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { keepLatenessLimit } from '../../db/notifications/reminders.queries.js';
import { connectableHost } from '../../settings.js';
import type { Settings } from '../../settings.js';
import { BulkMailer } from './mail-thread/index.js';
import { RateLimiter } from './rate-limiter.js';
import type { Channels } from './provider.js';
import { pushGateway } from './push.js';
import { toBrowsersAndApps, webPush } from './web-push.js';
import { createReminderActivities } from './reminders/reminders.activities.js';
import type { ReminderActivities } from './reminders/reminders.activities.js';
import { ensureNotificationSchedules } from './schedules.js';
import { sendNotification } from './send.js';
import { smsGateway } from './sms.js';
import { smtpMailer } from './smtp.js';
import { createSummaryActivities } from './summary/summary.activities.js';
import type { SummaryActivities } from './summary/summary.activities.js';
import { sendAccountNotice } from './account-notice.js';
import { sendUserLink } from './user-link.js';
import type { Database } from '../../db/client/database.js';

/** A worker's handling of messages to people. */
export interface Messaging {
  activities: ReminderActivities & SummaryActivities;
  /** Sends one notification, for the relay. */
  send: (id: string) => Promise<void>;
  /** Sends a user a link to choose a password, for the relay. `asked`: the language of the page that asked for it. */
  sendUserLink: (id: string, asked?: string) => Promise<void>;
  /** Sends a user an account notice, for the relay. */
  sendAccountNotice: (id: string) => Promise<void>;
  /** Creates the periodic jobs, and sets the database's lateness limit from the settings. */
  prepare: (client: Client, taskQueue: string, keep?: boolean) => Promise<void>;
  close: () => void;
}

export function openMessaging({
  settings,
  database,
  log,
  heartbeat,
}: {
  settings: Settings;
  database: Database;
  log: Logger;
  heartbeat: (details: unknown) => void;
}): Messaging {
  const publicUrl = settings.PUBLIC_URL ?? `http://${connectableHost(settings.HOST)}:${settings.PORT}`;
  const pages = consoleLinks(publicUrl, settings.ENABLE_CONSOLE);
  const { SMTP_URL: url, MAIL_FROM: from } = settings;
  const own = url ? smtpMailer(url, from) : null;
  const channels: Channels = {
    email: own,
    sms: settings.SMS_GATEWAY_URL ? smsGateway(settings.SMS_GATEWAY_URL) : null,
    push: toBrowsersAndApps(
      webPush(settings),
      settings.PUSH_GATEWAY_URL ? pushGateway(settings.PUSH_GATEWAY_URL) : null,
    ),
  };
  const retryDays = settings.MESSAGE_RETRY_MAX_DAYS;
  const links = { secret: settings.SESSION_SECRET, minutes: settings.MAGIC_LINK_MINUTES, publicUrl };
  const pace = new RateLimiter(database, {
    email: settings.EMAIL_PER_MINUTE,
    sms: settings.SMS_PER_MINUTE,
    push: settings.PUSH_PER_MINUTE,
  });
  // A mail server with a rate limit needs no thread.
  const crowd = url && own && !pace.limits('email') ? new BulkMailer({ url, from, own, log }) : undefined;
  const reminders = createReminderActivities({
    database,
    channels,
    pace,
    ...(crowd && { crowd: { email: crowd } }),
    messages: links,
    maxLatenessHours: settings.REMINDER_MAX_LATENESS_HOURS,
    log,
    heartbeat,
    // No retry happens before the next run.
    retrySeconds: Math.min(settings.REMINDER_INTERVAL_SECONDS, 30),
  });
  return {
    activities: { ...reminders, ...createSummaryActivities({ database }) },
    send: sendNotification({ database, channels, links, pages, pace, retryDays }),
    sendUserLink: sendUserLink({
      database,
      mail: channels.email,
      secret: settings.SESSION_SECRET,
      publicUrl,
      pages,
      minutes: { password_reset: settings.PASSWORD_RESET_MINUTES, invitation: settings.INVITATION_DAYS * 1440 },
      retryDays,
    }),
    sendAccountNotice: sendAccountNotice({
      database,
      mail: channels.email,
      login: pages?.login,
      retryDays,
    }),
    prepare: async (client, taskQueue, keep = false) => {
      await keepLatenessLimit(database, settings.REMINDER_MAX_LATENESS_HOURS);
      await ensureNotificationSchedules(client, {
        taskQueue,
        reminderSeconds: settings.REMINDER_INTERVAL_SECONDS,
        keep,
      });
    },
    close: () => {
      crowd?.close();
      own?.close?.();
    },
  };
}
