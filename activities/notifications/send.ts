import { nowIso } from '../../db/client/clock.js';
import { markAddressDead, reminderById } from '../../db/notifications/reminders.queries.js';
import { inScope, readInScope } from '../../db/client/transaction.js';
import { addressesOf, reminderStateOf } from '../../workflows/domain/notifications/reminder-state.js';
import { faceValues } from '../../workflows/domain/notifications/study-face.js';
import { compose, linkWords, openWord, withSignature } from '../../workflows/domain/notifications/words.js';
import type { LinkValues, StudyWords } from '../../workflows/domain/notifications/words.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { textMail } from './mail.js';
import { writeLink } from './link.js';
import type { LinkSettings } from './link.js';
import type { RateLimiter } from './rate-limiter.js';
import { RefusedMessage, unconfigured } from './provider.js';
import type { Channels, Message } from './provider.js';
import { sendReminder } from './reminders/send-reminder.js';
import { dailySummaryFor } from './summary/summary.activities.js';
import { staffMessageText } from './texts.js';
import type { NotificationKind, OverrideDetails } from './texts.js';
import { execute, query } from '../../db/client/query.js';
import type { Database } from '../../db/client/database.js';

interface NotificationRow {
  id: string;
  kind: string;
  channel: 'email' | 'sms' | 'push';
  status: string;
  study_id: string | null;
  user_id: string | null;
  study_code: string;
  study_name: string;
  site_code: string | null;
  site_name: string | null;
  /** `config.public_name`, `config.contact` and `config.notifications` of the study. */
  public_name: unknown;
  contact: unknown;
  words: StudyWords | null;
  /** Of whom it tells: the participant, or all who take part of those whom its caregiver cares for; null: nobody. */
  participant_code: string | null;
  participant_status: string | null;
  caregiver_status: string | null;
  preferred_language: string | null;
  email: string | null;
  phone: string | null;
  override: OverrideDetails | null;
  draft: { to: string; subject: string; body: string } | null;
}
type Written = Omit<Message, 'id' | 'to'>;
/** A message that has become pointless, and what its notification says of it. */
interface Stopped {
  stopped: 'sent' | 'cancelled' | 'suppressed';
  reason: string | null;
}
export interface SendDeps {
  database: Database;
  channels: Channels;
  links: LinkSettings;
  /** Where the console is switched on. */
  pages?: ConsoleLinks | undefined;
  pace?: RateLimiter | undefined;
}

/**
 * Sends one notification and notes that it went. Sent again only when the process dies between the two: the message
 * bears the notification's id. Reminders that wait for their time are sent by the sweep; one that is sent again by hand
 * comes here.
 */
export const sendNotification =
  (deps: SendDeps) =>
  async (id: string): Promise<void> => {
    const row = await notification(deps.database, id);
    if (!row || row.status !== 'pending') return;
    const settle = (status: 'sent' | 'failed' | 'cancelled' | 'suppressed', reason: string | null) =>
      inScope(deps.database, '*', async ({ tx }) => {
        await execute(
          tx,
          `update notifications set status = $1, attempts = attempts + 1, reason = $2, last_error = case when $3 = 'failed' then $4 else last_error end, draft = null,
         sent_at = case when $5 = 'sent' then clock_timestamp() end where id = $6 and status = 'pending'`,
          [status, reason, status, reason, status, id],
        );
      });
    await deps.pace?.jumpIn(row.channel);
    try {
      const stopped = await (row.kind === 'visit_reminder' || row.kind === 'visit_missed'
        ? sendAgain(deps, id)
        : sendOnce(deps, row));
      await settle(stopped?.stopped ?? 'sent', stopped?.reason ?? null);
    } catch (fault) {
      if (!(fault instanceof RefusedMessage)) throw fault;
      await settle('failed', fault.message);
      if (fault.addressIsGone) await inScope(deps.database, '*', ({ tx }) => markAddressDead(tx, id));
    }
  };

async function notification(database: Database, id: string): Promise<NotificationRow | undefined> {
  return inScope(database, '*', async ({ tx }) => {
    const rows = await query<NotificationRow>(
      tx,
      `select n.id, n.kind, n.channel, n.status, n.study_id, n.user_id, n.draft, s.study_code, s.study_name, w.site_codes as site_code, w.site_names as site_name, s.config -> 'public_name' as public_name, s.config -> 'contact' as contact, s.config -> 'notifications' as words,
         w.codes as participant_code, p.status as participant_status, c.status as caregiver_status, coalesce(p.preferred_language, c.preferred_language) as preferred_language, coalesce(u.email, p.email, c.email) as email, coalesce(p.phone, c.phone) as phone,
         case when o.id is not null then jsonb_build_object('previous', o.previous_enrollment_date, 'wanted', o.new_enrollment_date, 'expires', to_char(o.expires_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), 'override_request_id', o.id,
           'asked_by', (select a.name from users a where a.id = o.requested_by_id), 'reason', o.reason,
           'moving', coalesce((select jsonb_agg(jsonb_build_object('name', v->'name', 'from', v->'from', 'to', v->'to') order by v->>'from', v->>'name') from jsonb_array_elements(o.impact->'visits') v where v->>'action' = 'move'), '[]')) end as override
       from notifications n left join studies s on s.id = n.study_id left join participants p on p.id = n.participant_id
       left join users u on u.id = n.user_id left join caregivers c on c.id = n.caregiver_id left join override_requests o on o.id = n.subject_id
       left join lateral (
         select string_agg(x.participant_code, ', ' order by x.participant_code) as codes, string_agg(distinct t.site_code, ', ') as site_codes, string_agg(distinct t.name, ', ') as site_names
         from participants x left join sites t on t.id = x.site_id
         where x.id = any (case when n.caregiver_id is null then array[n.participant_id] else array(select k.participant_id from caregiver_participants k where k.caregiver_id = n.caregiver_id) end)
           and (n.caregiver_id is null or x.status = 'enrolled')) w on true where n.id = $1`,
      [id],
    );
    return rows[0];
  });
}

async function sendOnce(deps: SendDeps, row: NotificationRow): Promise<Stopped | undefined> {
  const provider = deps.channels[row.channel];
  if (!provider) throw new RefusedMessage(unconfigured[row.channel]);
  const to = row.draft?.to ?? (row.channel === 'sms' ? row.phone : row.email);
  if (!to) throw new RefusedMessage('the recipient has no address');
  const written = await write(deps, row);
  if ('stopped' in written) return written;
  await provider.send({ id: row.id, to, ...written });
  return undefined;
}

/** The words of a message, made for this one sending. */
async function write({ database, links, pages }: SendDeps, row: NotificationRow): Promise<Written | Stopped> {
  if (row.draft) return { subject: row.draft.subject, text: row.draft.body };
  if (row.kind === 'daily_summary') {
    return (
      (await dailySummaryFor(database, row.user_id!, row.study_id!, pages)) ?? {
        stopped: 'cancelled',
        reason: 'the recipient may not see the study any more',
      }
    );
  }
  if (row.kind === 'magic_link' && row.participant_status === 'withdrawn')
    return { stopped: 'cancelled', reason: 'the participant has withdrawn' };
  if (row.kind === 'magic_link' && row.caregiver_status === 'inactive')
    return { stopped: 'cancelled', reason: 'the caregiver is not active' };
  if (row.kind === 'magic_link' && row.participant_code === null)
    return { stopped: 'cancelled', reason: 'no active participants are assigned to this caregiver' };
  if (row.kind === 'magic_link') {
    const link = await writeLink(database, row.id, links);
    return link ? linkMessage(row, link) : { stopped: 'sent', reason: null };
  }
  return staffMessageText(row.kind as NotificationKind, {
    study: row.study_code,
    participant: row.participant_code ?? '',
    override: row.override,
    pages,
  });
}

/** A message with a link to the portal, in its reader's language; a mail as HTML too. */
function linkMessage(row: NotificationRow, link: { link: string; minutes: string; new_link_url: string }): Written {
  const words = linkWords(row.channel, row.preferred_language, row.words ?? {});
  const values: LinkValues = {
    ...link,
    ...faceValues(row, words.language),
    portal_url: link.link,
    participant_code: row.participant_code!,
    study_code: row.study_code,
    study_name: row.study_name,
    site_code: row.site_code ?? '',
    site_name: row.site_name ?? '',
  };
  if (row.channel !== 'email') {
    const { subject, body } = compose(words, values);
    return { subject, text: `${body}\n` };
  }
  const { subject, body } = compose(withSignature(words, values), values);
  const button = { url: link.link, says: openWord(words.language) };
  return {
    subject,
    text: `${body}\n`,
    html: textMail({ language: words.language, title: subject, text: body, button }),
  };
}

/**
 * A reminder that staff send again: at once, also in quiet hours and late, but to nobody who does not take part or does
 * not want it.
 */
async function sendAgain({ database, channels, links }: SendDeps, id: string): Promise<Stopped | undefined> {
  const row = await readInScope(database, '*', (tx) => reminderById(tx, id));
  if (!row) return { stopped: 'cancelled', reason: 'withdrawn' };
  const { participant } = reminderStateOf(row);
  if (participant.status === 'withdrawn') return { stopped: 'cancelled', reason: 'withdrawn' };
  if (!row.visit) return { stopped: 'cancelled', reason: 'superseded' };
  if (participant.opted_out) return { stopped: 'suppressed', reason: 'opted_out' };
  if (addressesOf(row).length === 0) throw new RefusedMessage('the recipient has no address');
  await sendReminder({ database, channels, messages: links }, row, nowIso());
  return undefined;
}
