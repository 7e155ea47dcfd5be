import { commonWeekend, dayOff, nextWorkingDay } from '../scheduling/events/calendar.js';
import type { WorkingCalendar } from '../scheduling/events/calendar.js';
import { formItemsOf } from '../expressions/expressions.js';
import { expressionsOf, sourcesInOrder } from '../anchor/policy.js';
import { Agenda } from './agenda.js';
import { completeBehaviour } from './behaviour.js';
import type { Behaviour } from './behaviour.js';
import { SimulatedDays } from './days.js';
import type { SimulationInputs } from './inputs.js';
import { Tally } from './tally.js';

export interface SimulatedClinic {
  site_code: string | null;
  zone: string;
  site_timezone: string | null;
  calendar: WorkingCalendar | null;
  daysOff: WorkingCalendar;
}

/** The shared state of a simulation's participants. */
export interface World {
  inputs: SimulationInputs;
  behaviour: Required<Behaviour>;
  days: SimulatedDays;
  agenda: Agenda;
  tally: Tally;
  sites: readonly SimulatedClinic[];
  /** The forms with the items that the policy reads. */
  forms: ReadonlyMap<string, readonly string[]>;
  /** The policy allows manual dates. */
  takesManualDates: boolean;
}

export function createWorld(inputs: SimulationInputs): World {
  const days = new SimulatedDays(inputs.start_date, inputs.months);
  const site = (
    site_code: string | null,
    site_timezone: string | null,
    own: WorkingCalendar | null,
  ): SimulatedClinic => {
    const calendar = own ?? inputs.calendar;
    return {
      site_code,
      site_timezone,
      zone: site_timezone ?? inputs.study.timezone,
      calendar,
      daysOff: calendar ?? { id: '', weekend_days: commonWeekend, holidays: [] },
    };
  };
  const sites =
    inputs.sites.length === 0
      ? [site(null, null, null)]
      : inputs.sites.map((s) => site(s.site_code, s.timezone, s.calendar));
  const sources = sourcesInOrder(inputs.policy);
  return {
    inputs,
    days,
    sites,
    behaviour: completeBehaviour(inputs.behaviour, days.count),
    agenda: new Agenda(days.count),
    tally: new Tally(),
    forms: formsRead(inputs),
    takesManualDates: sources.some((source) => source.type === 'manual_entry' && source.is_active),
  };
}

function formsRead({ policy }: SimulationInputs): Map<string, string[]> {
  const forms = new Map<string, Set<string>>();
  const name = (form: string, item: string) => forms.set(form, (forms.get(form) ?? new Set()).add(item));
  for (const source of sourcesInOrder(policy))
    if (source.form_mapping) name(source.form_mapping.form_oid, source.form_mapping.item_oid);
  for (const { expression } of expressionsOf(policy))
    for (const item of formItemsOf(expression) ?? []) name(item.form_oid, item.item_oid);
  return new Map([...forms].map(([form, items]) => [form, [...items]]));
}

/** A working day for `date` inside a window: the day itself, else the next one, else the one before; null: none. */
export function workingDayNear(
  calendar: WorkingCalendar,
  date: string,
  window: { first: string; last: string },
): string | null {
  if (dayOff(calendar, date) === null) return date;
  const after = nextWorkingDay(calendar, date, window.last);
  if (after !== null) return after;
  const before = nextWorkingDay(calendar, window.first, date);
  return before;
}
