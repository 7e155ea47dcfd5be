import { addDays } from '../../util/dates.js';
import type { Plan, PlannedVisit } from '../schedule.js';
import { dayOff, nextWorkingDay } from './calendar.js';
import type { WorkingCalendar } from './calendar.js';

/** An event of the study's protocol. Days count from the anchor date; a repeating one occurs `count` times in total. */
export interface EventDefinition {
  id: string;
  event_oid: string;
  name: string;
  target_day: number;
  window_before: number;
  window_after: number;
  battery_id: number | null;
  is_baseline: boolean;
  repeating: { count: number; every_days: number } | null;
  datacapture_event: string | null;
  sort_order: number;
}

/** The sources of a participant's schedule in `edc` mode; the calendar is the site's, else the study's default. */
export interface EdcSources {
  events: readonly EventDefinition[];
  calendar: WorkingCalendar | null;
}

/** The identity of an instance, independent of its date: its event and occurrence. */
export const instanceIdentity = (eventId: string, occurrence: number): string => `event-def:${eventId}#${occurrence}`;

/**
 * The study event instances of `edc` mode: a target on a holiday or a weekend of the calendar moves to the next working
 * day inside its window, with a warning; if there is none it stays, with another warning. The window itself is counted
 * from the protocol's day.
 */
export function planInstances(anchorDate: string, { events, calendar }: EdcSources): Plan {
  const visits: PlannedVisit[] = [];
  const warnings: string[] = [];
  for (const event of events) {
    const { count, every_days } = event.repeating ?? { count: 1, every_days: 0 };
    for (let occurrence = 1; occurrence <= count; occurrence++) {
      const named = addDays(anchorDate, event.target_day + (occurrence - 1) * every_days);
      const window = {
        window_open: addDays(named, -event.window_before),
        window_close: addDays(named, event.window_after),
      };
      const label = event.repeating ? `${event.event_oid}#${occurrence}` : event.event_oid;
      const { target, warning } = place(label, named, window.window_close, calendar);
      if (warning) warnings.push(warning);
      visits.push({
        identity: instanceIdentity(event.id, occurrence),
        visit_window_id: null,
        event_definition_id: event.id,
        event_oid: event.event_oid,
        event_occurrence: occurrence,
        name: event.repeating ? `${event.name} ${occurrence}` : event.name,
        battery_id: event.battery_id,
        datacapture_event: event.datacapture_event,
        // The first occurrence of a repeating baseline is the baseline.
        is_baseline: event.is_baseline && occurrence === 1,
        target_date: target,
        ...window,
      });
    }
  }
  visits.sort((a, b) =>
    a.target_date < b.target_date ? -1 : a.target_date > b.target_date ? 1 : a.identity < b.identity ? -1 : 1,
  );
  return { visits, warnings: visits.length === 0 ? ['NO_EVENT_DEFINITIONS'] : warnings };
}

function place(
  label: string,
  named: string,
  last: string,
  calendar: WorkingCalendar | null,
): { target: string; warning?: string } {
  const off = calendar && dayOff(calendar, named);
  if (!off) return { target: named };
  const working = nextWorkingDay(calendar, named, last);
  const reason = off.name === null ? off.kind : `${off.kind}: ${off.name}`;
  return working === null
    ? { target: named, warning: `HOLIDAY_IN_WINDOW: ${label} ${named} stays: no working day until ${last} (${reason})` }
    : { target: working, warning: `HOLIDAY_SHIFTED: ${label} ${named} → ${working} (${reason})` };
}
