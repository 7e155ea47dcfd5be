import type { WorkingCalendar } from '../scheduling/events/calendar.js';
import type { EventDefinition } from '../scheduling/events/plan.js';
import type { Policy } from '../anchor/policy-schema.js';
import type { EventMapping, WindowDefinition } from '../scheduling/schedule.js';
import type { BehaviourInput } from './behaviour.js';

export interface SimulatedSite {
  site_code: string;
  timezone: string | null;
  calendar: WorkingCalendar | null;
}

/**
 * The complete input of a simulation: a study at the time of the request. Nothing else is read, so the same inputs
 * always give the same bytes.
 */
export interface SimulationInputs {
  participants: number;
  months: number;
  seed: number;
  /** The first simulated day. */
  start_date: string;
  behaviour: BehaviourInput;
  policy: Policy;
  study: { start_date: string | null; timezone: string; consent_mode: 'none' | 'external' | 'econsent' };
  scheduling_mode: 'legacy' | 'edc';
  windows: readonly WindowDefinition[];
  mapping: Readonly<Record<string, EventMapping>>;
  events: readonly EventDefinition[];
  /** The study's default calendar. In `legacy` mode it moves nothing, but conflicts with it are counted. */
  calendar: WorkingCalendar | null;
  /** Participants are distributed evenly over these; none: all live in the study's time zone. */
  sites: readonly SimulatedSite[];
}

/** The visits of one participant's schedule: they determine a simulation's size. */
export const visitsPerParticipant = (
  inputs: Pick<SimulationInputs, 'scheduling_mode' | 'windows' | 'mapping' | 'events'>,
): number =>
  inputs.scheduling_mode === 'edc'
    ? inputs.events.reduce((sum, event) => sum + (event.repeating?.count ?? 1), 0)
    : inputs.windows.length + Object.keys(inputs.mapping).length;
