import { Temporal } from 'temporal-polyfill';
import { OF_THE_CHANNEL, channelInstead } from './fallback.js';
import type { NotificationSettings } from './settings.js';
import { evaluateReminder, reminderStateOf } from './reminder-state.js';
import type { ReminderFacts } from './reminder-state.js';

export interface ExplainedRow extends ReminderFacts {
  status: string;
  reason: string | null;
  sent_at: string | null;
  attempts: number;
  last_error: string | null;
  fallback_of: string | null;
  resend_of: string | null;
  /** It was not planned: staff sent it. */
  by_hand?: boolean;
  delivery_status: string | null;
}
export interface Explanation {
  outcome: 'sent' | 'will_be_sent' | 'will_not_be_sent' | 'failed';
  rule: string;
  due_local: string;
  why: string;
}

const reasons: Record<string, string> = {
  withdrawn: 'the participant has withdrawn',
  completed: 'the visit is completed',
  visit_cancelled: 'the visit was cancelled',
  superseded: 'the visit is not part of the current schedule',
  visit_over: 'the visit is over',
  not_missed: 'the visit is not missed any more',
  already_sent: 'it was sent for this target date before',
  visit_moved: 'the visit has moved to another date',
  rule_removed: 'the study has no such rule any more',
  cancelled_by_staff: 'it was cancelled by hand',
  opted_out: 'the participant does not want messages on this channel',
  no_address: 'the participant has no address for this channel',
  no_channel: 'the study names no channel for messages',
  address_dead: 'messages to this address came back: it is to be corrected',
  refused: 'the provider refused it',
  study_completed: 'the study is completed',
  study_archived: 'the study is archived',
  study_paused: 'the study was paused at that time',
  study_draft: 'the study was not active yet at that time',
  erased: 'what was known of the participant has been erased',
};

/**
 * Explains in words why a reminder was, will be or will not be sent, with its rule, and its due time in the
 * participant's time zone. Pure.
 */
export function explain(row: ExplainedRow, now: string, maxLatenessHours: number): Explanation {
  const told = {
    rule: ruleOf(row),
    due_local: Temporal.Instant.from(row.due_at).toZonedDateTimeISO(row.zone).toString({ smallestUnit: 'minute' }),
  };
  if (row.status === 'sent')
    return {
      outcome: 'sent',
      ...told,
      why: `It was accepted by the ${row.channel} provider on attempt ${row.attempts}${arrivalOf(row)}.`,
    };
  if (row.status === 'failed')
    return {
      outcome: 'failed',
      ...told,
      why: `It was not sent: ${row.last_error ?? row.reason ?? 'the provider refused it'}.`,
    };
  if (row.status !== 'pending')
    return { outcome: 'will_not_be_sent', ...told, why: `It is not sent: ${wordsOf(row.reason, maxLatenessHours)}.` };
  // The decision of the next run. For a future reminder: the decision as if it were due now.
  const verdict = evaluateReminder(
    reminderStateOf(row),
    Temporal.Instant.compare(now, row.due_at) < 0 ? row.due_at : now,
    maxLatenessHours,
  );
  if (verdict.what === 'cancelled' || verdict.what === 'suppressed') {
    const instead = OF_THE_CHANNEL.includes(verdict.reason) ? channelInstead(row) : null;
    return {
      outcome: 'will_not_be_sent',
      ...told,
      why:
        'As things are it will not be sent: ' +
        `${wordsOf(verdict.reason, maxLatenessHours)}${instead === null ? '' : `; ${instead} is tried instead`}.`,
    };
  }
  if (row.last_error !== null && row.attempts > 0)
    return {
      outcome: 'will_be_sent',
      ...told,
      why: triedAgain(row),
    };
  if (verdict.what === 'wait')
    return { outcome: 'will_be_sent', ...told, why: `It waits for the end of the quiet hours, ${verdict.until}.` };
  return {
    outcome: 'will_be_sent',
    ...told,
    why: Temporal.Instant.compare(now, row.due_at) < 0 ? 'It waits for its time.' : 'It is due: the next run sends it.',
  };
}

/** The delivery report after it was accepted. */
const arrivalOf = ({ delivery_status, last_error }: ExplainedRow): string =>
  delivery_status === 'undelivered'
    ? `, and did not arrive: ${last_error ?? 'why was not said'}`
    : delivery_status === 'delivered'
      ? ', and has arrived'
      : '';

/** Why a visit has no reminder at all. */
export function explainNone(visit: { status: string }, settings: NotificationSettings): string {
  if (settings.channels?.length === 0) return 'None is planned: config.notifications of the study names no channel.';
  if (settings.days_before?.length === 0 && visit.status !== 'missed')
    return 'None is planned: config.notifications of the study names no days before the visit.';
  return ['completed', 'cancelled', 'superseded'].includes(visit.status)
    ? `None was planned: the visit is ${visit.status}.`
    : 'None is planned: no rule of the study gives one.';
}

/** A reminder's stored reason, in words that complete a sentence. */
export const reasonInWords = (reason: string): string =>
  reason === 'too_late'
    ? 'its time was over when it was planned or found'
    : (reasons[reason] ?? reason.replaceAll('_', ' '));

/** Why a message still waits whose last attempt failed. */
export const triedAgain = ({ attempts, last_error }: { attempts: number; last_error: string | null }): string =>
  `It is tried again: ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} so far, the last ` +
  `ended with ${last_error}.`;

const wordsOf = (reason: string | null, limit: number): string =>
  reason === 'too_late'
    ? `its time was over for more than ${limit} hours when it was planned or found`
    : (reasons[reason ?? ''] ?? reason ?? 'no reason is known');

function ruleOf(row: ExplainedRow): string {
  const { send_at = '09:00', quiet_hours } = row.settings as NotificationSettings;
  if (row.resend_of !== null) return `sent again by hand, by ${row.channel}`;
  if (row.by_hand) return `sent by hand, by ${row.channel}`;
  const days =
    row.kind === 'visit_missed'
      ? 'the day after the window has closed'
      : row.days_before === 0
        ? 'on the target date'
        : `${row.days_before} ${row.days_before === 1 ? 'day' : 'days'} before the target date`;
  const quiet = quiet_hours ? `, not from ${quiet_hours.from} to ${quiet_hours.to}` : '';
  return (
    `${days} at ${send_at} in ${row.zone}${quiet}, by ` +
    `${row.channel}${row.fallback_of === null ? '' : ' because the channel before it did not work'}`
  );
}
