import { dateIn } from '../util/dates.js';
import { evaluateReminder, reminderStateOf } from './reminder-state.js';
import type { ReminderDecision, ReminderFacts } from './reminder-state.js';
import type { Channel, NotificationSettings } from './settings.js';

/** The facts of a visit reminder sent by staff: as for a planned one, for every channel. */
export interface ByHandFacts extends Omit<ReminderFacts, 'channel' | 'kind' | 'opted_out' | 'address_dead' | 'visit'> {
  visit: NonNullable<ReminderFacts['visit']>;
  /** Channels that the participant opted out of, and those with a dead address. */
  opted_out_of: readonly Channel[];
  dead: readonly Channel[];
}

export type ByHand =
  | { what: 'send'; channel: Channel; kind: ReminderFacts['kind'] }
  /** The earliest time of sending. */
  | { what: 'wait'; until: string; channel: Channel }
  | { what: 'not'; reason: string; channel: Channel | null };

/**
 * Whether a reminder of a visit can be sent now, and on which channel: the study's first channel that reaches the
 * participant, else a fallback channel. The same rules apply as for a planned one, including quiet hours.
 */
export function reminderByHand(request: ByHandFacts, now: string): ByHand {
  const { channels = ['email'], fallback = [] } = request.settings as NotificationSettings;
  const order = [...new Set([...channels, ...fallback])];
  const visit = byCalendar(request.visit, request.visit_zone, now);
  const isOver = visit.status === 'missed' || visit.window_close < dateIn(now, request.visit_zone);
  const kind = isOver ? 'visit_missed' : 'visit_reminder';
  let first: ByHand | undefined;
  for (const channel of order) {
    const facts = {
      ...request,
      visit,
      channel,
      kind,
      due_at: now,
      opted_out: request.opted_out_of.includes(channel),
      address_dead: request.dead.includes(channel),
    } as const;
    const found = saidOf(evaluateReminder(reminderStateOf(facts), now, 1), channel, kind);
    if (found.what !== 'not') return found;
    first ??= found;
  }
  return first ?? { what: 'not', reason: 'no_channel', channel: null };
}

/** A visit to do whose window has closed is missed, also before the hourly job says so. */
const byCalendar = <V extends { status: string; window_close: string }>(visit: V, zone: string, now: string): V =>
  ['scheduled', 'open'].includes(visit.status) && visit.window_close < dateIn(now, zone)
    ? { ...visit, status: 'missed' }
    : visit;

/**
 * Why a reminder that staff send again is not sent; null: it is. It is sent at once, also in quiet hours, late, or to
 * an address from which messages came back, but only while there is something to be reminded of.
 */
export function whyNotAgain(
  request: ReminderFacts,
  now: string,
): Extract<ReminderDecision, { what: 'cancelled' | 'suppressed' }> | null {
  const visit = request.visit && byCalendar(request.visit, request.visit_zone, now);
  const state = reminderStateOf({ ...request, visit, due_at: now, address_dead: false });
  const decision = evaluateReminder({ ...state, quiet_hours: null }, now, 1);
  return decision.what === 'cancelled' || decision.what === 'suppressed' ? decision : null;
}

const saidOf = (decision: ReminderDecision, channel: Channel, kind: ReminderFacts['kind']): ByHand =>
  decision.what === 'send'
    ? { what: 'send', channel, kind }
    : decision.what === 'wait'
      ? { what: 'wait', until: decision.until, channel }
      : { what: 'not', reason: decision.reason, channel };
