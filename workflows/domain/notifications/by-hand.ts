import { dateIn } from '../util/dates.js';
import { evaluateReminder, reminderStateOf } from './reminder-state.js';
import type { ReminderDecision, ReminderFacts } from './reminder-state.js';
import type { Channel, NotificationSettings } from './settings.js';

/** What a reminder of a visit that staff send by hand depends on: as of a planned one, for every channel. */
export interface ByHandFacts extends Omit<ReminderFacts, 'channel' | 'kind' | 'opted_out' | 'address_dead' | 'visit'> {
  visit: NonNullable<ReminderFacts['visit']>;
  /** Channels that the participant does not want, and whose address is dead. */
  opted_out_of: readonly Channel[];
  dead: readonly Channel[];
}

export type ByHand =
  | { what: 'send'; channel: Channel; kind: ReminderFacts['kind'] }
  /** Nothing is sent before. */
  | { what: 'wait'; until: string; channel: Channel }
  | { what: 'not'; reason: string; channel: Channel | null };

/**
 * Whether a reminder of a visit can be sent at this moment, and by which channel: the first of the study's that reaches
 * the participant, else of those that serve instead. It is held to what a planned one is held to, quiet hours as well.
 */
export function reminderByHand(of: ByHandFacts, now: string): ByHand {
  const { channels = ['email'], fallback = [] } = of.settings as NotificationSettings;
  const order = [...new Set([...channels, ...fallback])];
  const isOver = of.visit.status === 'missed' || of.visit.window_close < dateIn(now, of.zone);
  const kind = isOver ? 'visit_missed' : 'visit_reminder';
  const isToDo = ['scheduled', 'open', 'missed'].includes(of.visit.status);
  const visit = isOver && isToDo ? { ...of.visit, status: 'missed' } : of.visit;
  let first: ByHand | undefined;
  for (const channel of order) {
    const facts = {
      ...of,
      visit,
      channel,
      kind,
      due_at: now,
      opted_out: of.opted_out_of.includes(channel),
      address_dead: of.dead.includes(channel),
    } as const;
    const found = saidOf(evaluateReminder(reminderStateOf(facts), now, 1), channel, kind);
    if (found.what !== 'not') return found;
    first ??= found;
  }
  return first ?? { what: 'not', reason: 'no_channel', channel: null };
}

const saidOf = (decision: ReminderDecision, channel: Channel, kind: ReminderFacts['kind']): ByHand =>
  decision.what === 'send'
    ? { what: 'send', channel, kind }
    : decision.what === 'wait'
      ? { what: 'wait', until: decision.until, channel }
      : { what: 'not', reason: decision.reason, channel };
