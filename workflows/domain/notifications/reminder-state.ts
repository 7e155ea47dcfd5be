import { dateIn, epochOf } from '../util/dates.js';
import { quietUntil } from './planning.js';
import type { Rule } from './planning.js';
import type { Channel, NotificationSettings } from './settings.js';
import type { Worded } from './message-words.js';

/** The facts for deciding a reminder at the moment of sending. */
export interface ReminderState {
  kind: Worded;
  channel: Channel;
  due_at: string;
  visit: { status: string; window_close: string } | null;
  /** The time zone of the visit's days: its site's, else the study's. */
  visit_zone: string;
  participant: { status: string; zone: string; has_address: boolean; opted_out: boolean; address_dead: boolean };
  study_status: string;
  quiet_hours: Rule['quiet_hours'];
}

/** The stored facts about a reminder and everything it depends on. */
export interface ReminderFacts {
  kind: Worded;
  channel: Channel;
  due_at: string;
  days_before: number | null;
  visit: { name: string; status: string; target_date: string; window_open: string; window_close: string } | null;
  participant_status: string;
  participant_code: string;
  preferred_language: string | null;
  /** The participant's own time zone, else the visit's: for times of day. */
  zone: string;
  /** The time zone of the visit's days: its site's, else the study's. */
  visit_zone: string;
  email: string | null;
  phone: string | null;
  push_tokens: readonly string[];
  opted_out: boolean;
  address_dead: boolean;
  study_status: string;
  study_code: string;
  study_name: string;
  /** `config.public_name` and `config.contact` of the study. */
  public_name?: unknown;
  contact?: unknown;
  site_code: string | null;
  site_name: string | null;
  settings: unknown;
}

/** The addresses of a reminder's participant on its channel. */
export const addressesOf = (facts: ReminderFacts): readonly string[] =>
  facts.channel === 'push'
    ? facts.push_tokens
    : [facts.channel === 'sms' ? facts.phone : facts.email].filter(
        (address): address is string => address !== null && address !== '',
      );

/** The facts for deciding a reminder. */
export const reminderStateOf = (facts: ReminderFacts): ReminderState => ({
  kind: facts.kind,
  channel: facts.channel,
  due_at: facts.due_at,
  visit: facts.visit,
  visit_zone: facts.visit_zone,
  study_status: facts.study_status,
  participant: {
    status: facts.participant_status,
    zone: facts.zone,
    has_address: addressesOf(facts).length > 0,
    opted_out: facts.opted_out,
    address_dead: facts.address_dead,
  },
  quiet_hours: (facts.settings as NotificationSettings).quiet_hours ?? null,
});

export type ReminderDecision =
  | { what: 'send' }
  | { what: 'wait'; until: string; reason: 'not_due' | 'quiet_hours' }
  | { what: 'cancelled' | 'suppressed'; reason: string };

const stop = (what: 'cancelled' | 'suppressed', reason: string): ReminderDecision => ({ what, reason });

/**
 * Whether a reminder is still valid at `now`: an obsolete one is cancelled; one that must not be sent any more (or not
 * on this channel, or not this late) is suppressed. Pure: the sweep and `explain` both use it.
 */
export function evaluateReminder(state: ReminderState, now: string, maxLatenessHours: number): ReminderDecision {
  const { visit, participant } = state;
  if (participant.status === 'withdrawn') return stop('cancelled', 'withdrawn');
  if (!visit) return stop('cancelled', 'superseded');
  if (visit.status === 'completed') return stop('cancelled', 'completed');
  if (visit.status === 'cancelled') return stop('cancelled', 'visit_cancelled');
  if (visit.status === 'superseded') return stop('cancelled', 'superseded');
  if (
    state.kind === 'visit_reminder' &&
    (visit.status === 'missed' || visit.window_close < dateIn(now, state.visit_zone))
  )
    return stop('cancelled', 'visit_over');
  if (state.kind === 'visit_missed' && visit.status !== 'missed') return stop('cancelled', 'not_missed');
  if (state.study_status === 'completed' || state.study_status === 'archived')
    return stop('cancelled', `study_${state.study_status}`);
  const lateMs = epochOf(now) - epochOf(state.due_at);
  if (lateMs < 0) return { what: 'wait', until: state.due_at, reason: 'not_due' };
  if (lateMs > maxLatenessHours * 3_600_000) return stop('suppressed', 'too_late');
  if (state.study_status !== 'active') return stop('suppressed', `study_${state.study_status}`);
  if (participant.opted_out) return stop('suppressed', 'opted_out');
  if (!participant.has_address) return stop('suppressed', 'no_address');
  if (participant.address_dead) return stop('suppressed', 'address_dead');
  const quiet = quietUntil(now, state.quiet_hours, participant.zone);
  return quiet === null ? { what: 'send' } : { what: 'wait', until: quiet, reason: 'quiet_hours' };
}
