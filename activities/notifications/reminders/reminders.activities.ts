import { sweepReminders } from './sweep.js';
import type { SweepDeps, SweepReport } from './sweep.js';

export type { SweepReport };
export interface ReminderActivities {
  sweepReminders(): Promise<SweepReport>;
}

/** The periodic work on messages to people. */
export function createReminderActivities(deps: SweepDeps): ReminderActivities {
  return { sweepReminders: sweepReminders(deps) };
}
