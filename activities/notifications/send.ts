import { nowIso } from '../../db/client/clock.js';
import { markAddressDead, reminderById } from '../../db/notifications/reminders.queries.js';
import { readAsCaller } from '../../db/client/request.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { whyNotAgain } from '../../workflows/domain/notifications/by-hand.js';
import { faceValues } from '../../workflows/domain/notifications/study-face.js';
import { composeMessage, linkWords, openWord, withSignature } from '../../workflows/domain/notifications/words.js';
import type { NotificationSettings } from '../../workflows/domain/notifications/settings.js';
import type { LinkValues, StudyWords } from '../../workflows/domain/notifications/words.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { dateIn } from '../../workflows/domain/util/dates.js';
import { textMail } from './mail.js';
import { writeLink } from './link.js';
import type { LinkSettings } from './link.js';
import { overrideDecidedMail } from './override-decided.js';
import type { RateLimiter } from './rate-limiter.js';
import { RefusedMessage, codeOf, faultAfter, unconfiguredReasons } from './provider.js';
import type { Channels, Message } from './provider.js';
import { sendReminder } from './reminders/send-reminder.js';
import { dailySummaryFor } from './summary/summary.activities.js';
import { syncFailedMail } from './sync-failed.js';
import { staffMessageText } from './texts.js';
import type { NotificationKind } from './texts.js';
import {
  claimToSend,
  noteAttempt,
  noteOutcome,
  notificationToSend,
} from '../../db/notifications/notification-mail.queries.js';
import type { NotificationToSend } from '../../db/notifications/notification-mail.queries.js';
import type { Database } from '../../db/client/database.js';

type MessageContent = Omit<Message, 'id' | 'to'>;
/** How a message ended without or besides its sending, and the reason on its notification. */
interface Stopped {
  stopped: 'sent' | 'cancelled' | 'suppressed';
  reason: string | null;
  /** Set on a reminder: the date of the visit that it named. */
  targetDate?: string;
}
export interface SendDeps {
  database: Database;
  channels: Channels;
  links: LinkSettings;
  /** Set if the console is enabled. */
  pages?: ConsoleLinks | undefined;
  pace?: RateLimiter | undefined;
  /** MESSAGE_RETRY_MAX_DAYS. */
  retryDays: number;
}

/** Longer than any provider may take; a message of a dead worker can be cancelled after that. */
const SENDING_SECONDS = 120;

/**
 * Sends one notification and marks it as sent. It is sent twice only if the process dies between the two: the message
 * has the notification's id. The sweep sends reminders at their time; one resent by hand is sent here.
 */
export const sendNotification =
  (deps: SendDeps) =>
  async (id: string): Promise<void> => {
    const row = await withStudyScope(deps.database, '*', ({ tx }) => notificationToSend(tx, id));
    if (!row || row.status !== 'pending') return;
    await deps.pace?.jumpIn(row.channel);
    // It may have been cancelled while it waited for its turn.
    if (!(await withStudyScope(deps.database, '*', ({ tx }) => claimToSend(tx, id, SENDING_SECONDS)))) return;
    const settle = (
      status: 'sent' | 'failed' | 'cancelled' | 'suppressed',
      reason: string | null,
      targetDate?: string,
    ) => withStudyScope(deps.database, '*', ({ tx }) => noteOutcome(tx, id, status, reason, targetDate));
    try {
      const stopped = await (row.kind === 'visit_reminder' || row.kind === 'visit_missed'
        ? sendAgain(deps, id)
        : sendOnce(deps, row));
      await settle(stopped?.stopped ?? 'sent', stopped?.reason ?? null, stopped?.targetDate);
    } catch (thrown) {
      const fault = faultAfter(thrown, row.created_at, deps.retryDays);
      if (!(fault instanceof RefusedMessage)) {
        await withStudyScope(deps.database, '*', ({ tx }) => noteAttempt(tx, id, codeOf(fault)));
        throw fault;
      }
      await settle('failed', fault.message);
      if (fault.addressIsGone) await withStudyScope(deps.database, '*', ({ tx }) => markAddressDead(tx, id));
    }
  };

async function sendOnce(deps: SendDeps, row: NotificationToSend): Promise<Stopped | undefined> {
  const provider = deps.channels[row.channel];
  if (!provider) throw new RefusedMessage(unconfiguredReasons[row.channel]);
  const to = row.draft?.to ?? (row.channel === 'sms' ? row.phone : row.email);
  if (!to) throw new RefusedMessage('the recipient has no address');
  const written = await write(deps, row, to);
  if ('stopped' in written) return written;
  await provider.send({ id: row.id, to, ...written });
  return undefined;
}

/** The text of a message, created for this sending to an address. */
async function write(
  { database, links, pages }: SendDeps,
  row: NotificationToSend,
  to: string,
): Promise<MessageContent | Stopped> {
  if (row.draft) return { subject: row.draft.subject, text: row.draft.body };
  if (row.kind === 'daily_summary') {
    // It would have the visits of today, as the summary of today has: after an outage of the mail server one is enough.
    if (dateIn(row.created_at, 'UTC') < dateIn(nowIso(), 'UTC'))
      return { stopped: 'cancelled', reason: 'the day of the summary is over' };
    return (
      (await dailySummaryFor(database, row.user_id!, row.study_id!, pages)) ?? {
        stopped: 'cancelled',
        reason: 'the recipient may not see the study any more',
      }
    );
  }
  if (row.user_id !== null && !(await seesSubject(database, row)))
    return {
      stopped: 'cancelled',
      reason:
        row.participant_id === null
          ? 'the recipient may not see the study any more'
          : 'the recipient may not see the participant any more',
    };
  if (row.kind === 'magic_link' && row.participant_status === 'withdrawn')
    return { stopped: 'cancelled', reason: 'the participant has withdrawn' };
  if (row.kind === 'magic_link' && row.caregiver_status === 'inactive')
    return { stopped: 'cancelled', reason: 'the caregiver is not active' };
  if (row.kind === 'magic_link' && row.participant_code === null)
    return { stopped: 'cancelled', reason: 'no active participants are assigned to this caregiver' };
  if (row.kind === 'magic_link') {
    const link = await writeLink(database, { notificationId: row.id, to }, links);
    return link ? linkMessage(row, link) : { stopped: 'sent', reason: null };
  }
  if (row.kind === 'sync_failed') return syncFailed(row, pages);
  if (row.kind === 'override_pending' && row.override?.status !== 'pending')
    return { stopped: 'cancelled', reason: 'the request has been decided already' };
  const language = ((row.words ?? {}) as NotificationSettings).default_language;
  if (row.kind === 'override_decided')
    return overrideDecidedMail({
      study: row.study_code,
      language,
      participant: row.participant_code ?? '',
      override: row.override!,
      pages,
    });
  return staffMessageText(row.kind as NotificationKind, {
    study: row.study_code,
    language,
    participant: row.participant_code ?? '',
    override: row.override,
    pages,
  });
}

/** Whether a user still sees the subject of a message that a mail server has put off, or that staff send again. */
const seesSubject = (database: Database, { user_id, study_id, participant_id }: NotificationToSend): Promise<boolean> =>
  readAsCaller(
    database,
    { userId: user_id!, studyId: study_id ?? undefined, participantId: participant_id ?? undefined },
    (row) => row?.status === 'active' && row.study_seen && row.participant_seen,
    (_tx, sees) => Promise.resolve(sees),
  );

/** The mail on a failed sync; none if one has been completed since. */
function syncFailed({ study_id, study_code, words, sync }: NotificationToSend, pages?: ConsoleLinks) {
  if (!sync || sync.over) return { stopped: 'cancelled' as const, reason: 'a sync has been completed since' };
  const { default_language } = (words ?? {}) as NotificationSettings;
  return syncFailedMail({ study: { id: study_id!, code: study_code, default_language }, sync, pages });
}

/** A message with a portal link, in its reader's language; mails also as HTML. */
function linkMessage(
  row: NotificationToSend,
  link: { link: string; minutes: string; new_link_url: string },
): MessageContent {
  const study = (row.words ?? {}) as StudyWords;
  const words = linkWords(row.channel, row.preferred_language, study);
  const values: LinkValues = {
    ...link,
    ...faceValues({ ...row, default_language: study.default_language }, words.language),
    portal_url: link.link,
    participant_code: row.participant_code!,
    study_code: row.study_code,
    study_name: row.study_name,
    site_code: row.site_code ?? '',
    site_name: row.site_name ?? '',
  };
  if (row.channel !== 'email') {
    const { subject, body } = composeMessage(words, values);
    return { subject, text: `${body}\n` };
  }
  const { subject, body } = composeMessage(withSignature(words, values), values);
  const button = { url: link.link, says: openWord(words.language, study.default_language) };
  return {
    subject,
    text: `${body}\n`,
    html: textMail({ language: words.language, title: subject, text: body, button }),
  };
}

/**
 * A reminder that staff send: at once, also in quiet hours and late, but not if there is nothing to be reminded of any
 * more, or after an opt-out.
 */
async function sendAgain({ database, channels, links }: SendDeps, id: string): Promise<Stopped | undefined> {
  const row = await readInScope(database, '*', (tx) => reminderById(tx, id));
  if (!row) return { stopped: 'cancelled', reason: 'withdrawn' };
  const now = nowIso();
  const not = whyNotAgain(row, now);
  if (not?.reason === 'no_address') throw new RefusedMessage('the recipient has no address');
  if (not) return { stopped: not.what, reason: not.reason };
  await sendReminder({ database, channels, messages: links }, row, now);
  return { stopped: 'sent', reason: null, ...(row.visit && { targetDate: row.visit.target_date }) };
}
