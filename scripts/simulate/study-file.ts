import { readFileSync } from 'node:fs';
import { Type, body, text } from '../../api/http/common.schemas.js';
import { NewEventDefinition, NewHolidayCalendar } from '../../api/scheduling/edc.schemas.js';
import { NewVisitWindow } from '../../api/scheduling/schedules.schemas.js';
import { acceptPolicy } from '../../api/studies/policy.service.js';
import { check } from '../../api/http/validation/validation.js';
import { asHoliday } from '../../workflows/domain/scheduling/events/calendar.js';
import type { WorkingCalendar } from '../../workflows/domain/scheduling/events/calendar.js';
import { BehaviourInput } from '../../workflows/domain/simulation/behaviour.js';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import { examplePlan } from './example-plan.js';

const { site_id: _site, is_default: _default, ...calendarFields } = NewHolidayCalendar.properties;
const { study_id: _study, ...windowFields } = NewVisitWindow.properties;
const Site = body({
  site_code: text(64, 1),
  timezone: Type.Optional(Type.String({ format: 'time-zone', maxLength: 50 })),
});

/** A study in a file: its policy, and optionally other parts. A file may also be the policy alone. */
const StudyFile = body({
  policy: Type.Optional(Type.Unknown()),
  study: Type.Optional(
    body({
      start_date: Type.Optional(Type.String({ format: 'date' })),
      timezone: Type.Optional(Type.String({ format: 'time-zone', maxLength: 50 })),
      consent_mode: Type.Optional(Type.Enum(['none', 'external', 'econsent'])),
    }),
  ),
  scheduling_mode: Type.Optional(Type.Enum(['legacy', 'edc'])),
  windows: Type.Optional(Type.Array(body(windowFields))),
  event_definitions: Type.Optional(Type.Array(NewEventDefinition)),
  holiday_calendars: Type.Optional(Type.Array(body({ ...calendarFields, site_code: Type.Optional(text(64, 1)) }))),
  sites: Type.Optional(Type.Array(Site)),
  behaviour: Type.Optional(BehaviourInput),
});
type StudyFile = Type.Static<typeof StudyFile>;

export interface ReadStudy {
  inputs: Omit<SimulationInputs, 'participants' | 'months' | 'seed' | 'start_date'>;
  start_date: string | null;
  notes: string[];
}

/**
 * Reads a study or a policy from a JSON file and validates it by the API's schemas.
 * @throws Error, or the API's problem, in one sentence that names the fault
 */
export function readStudyFile(path: string): ReadStudy {
  const parsed = parse(path);
  const known = Object.keys(StudyFile.properties);
  const whole = parsed !== null && typeof parsed === 'object' && Object.keys(parsed).some((key) => known.includes(key));
  const file: StudyFile = whole ? (parsed as StudyFile) : { policy: parsed };
  check(StudyFile, file, 'body');
  const policy = acceptPolicy(file.policy ?? {});
  const planned = (file.windows?.length ?? 0) + (file.event_definitions?.length ?? 0) > 0;
  const plan = planned ? file : examplePlan;
  const calendars = plan.holiday_calendars ?? [];
  const siteCodes = new Set(calendars.map((calendar) => calendar.site_code).filter((code) => code !== undefined));
  for (const code of siteCodes)
    if (!file.sites?.some((site) => site.site_code === code))
      throw new Error(`holiday_calendars names the site ${code}, which sites does not.`);
  const own = (code: string | undefined): WorkingCalendar | null => {
    const found = calendars.find((calendar) => calendar.site_code === code);
    return found
      ? { id: found.name, weekend_days: found.weekend_days ?? [6, 7], holidays: (found.holidays ?? []).map(asHoliday) }
      : null;
  };
  return {
    start_date: file.study?.start_date ?? null,
    notes: planned
      ? []
      : ['The file plans no visits: an example protocol of eight events with a holiday calendar is used.'],
    inputs: {
      policy,
      behaviour: file.behaviour ?? {},
      mapping: {},
      study: {
        start_date: file.study?.start_date ?? null,
        timezone: file.study?.timezone ?? 'UTC',
        consent_mode: file.study?.consent_mode ?? 'econsent',
      },
      scheduling_mode: plan.scheduling_mode ?? ((plan.event_definitions?.length ?? 0) > 0 ? 'edc' : 'legacy'),
      windows: (plan.windows ?? []).map((window, sort_order) => ({
        battery_id: null,
        window_before: 0,
        window_after: 7,
        is_baseline: false,
        datacapture_event: null,
        sort_order,
        ...window,
        id: window.code,
      })),
      events: (plan.event_definitions ?? []).map((event, sort_order) => ({
        battery_id: null,
        window_before: 0,
        window_after: 7,
        is_baseline: false,
        datacapture_event: null,
        repeating: null,
        sort_order,
        ...event,
        id: event.event_oid,
      })),
      calendar: own(undefined),
      sites: (file.sites ?? []).map((site) => ({
        site_code: site.site_code,
        timezone: site.timezone ?? null,
        calendar: own(site.site_code),
      })),
    },
  };
}

function parse(path: string): unknown {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (fault) {
    throw new Error(`The file ${path} cannot be read (${(fault as NodeJS.ErrnoException).code ?? 'unknown'}).`, {
      cause: fault,
    });
  }
  try {
    return JSON.parse(content) as unknown;
  } catch (fault) {
    throw new Error(`The file ${path} is not valid JSON: ${(fault as Error).message}.`, { cause: fault });
  }
}
