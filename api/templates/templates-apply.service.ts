import { insertEventDefinition } from '../../db/scheduling/event-definitions.queries.js';
import { insertCalendar } from '../../db/scheduling/holiday-calendars.queries.js';
import type { HolidayCalendarFields } from '../../db/scheduling/holiday-calendars.queries.js';
import { insertWindow } from '../../db/scheduling/windows.queries.js';
import { taskDefinition } from '../../workflows/domain/assessment/tasks.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import type { PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { changeBattery, createBattery } from '../assessment/batteries/batteries.service.js';
import { CAPTURE_DEFAULTS } from '../capture/capture-defaults.js';
import { createStudy } from '../studies/studies.service.js';
import type { RequestScope } from '../http/state.js';
import type { StudyTemplate } from './templates.service.js';
import { storeConfigValue } from '../../db/studies/study-config.queries.js';
import type { Tx } from '../../db/client/database.js';

/**
 * The windows that a template makes. A mapping needs a battery: an event of the capture system whose battery was
 * retired becomes a window without one, and its visits stay in the plan.
 */
function windowsOf({ visit_windows, capture }: StudyTemplate): StudyTemplate['visit_windows'] {
  const bare = Object.entries(capture?.event_battery_mapping ?? {}).filter(([, { battery }]) => battery === null);
  const windows = visit_windows.map((window) => {
    const days = bare.find(([event]) => event === window.datacapture_event)?.[1];
    // The mapping defined the days.
    return days ? { ...window, ...days, battery: window.battery } : window;
  });
  const codes = new Set(windows.map(({ code }) => code));
  const last = Math.max(0, ...windows.map(({ sort_order }) => sort_order));
  for (const [event, days] of bare) {
    if (windows.some(({ datacapture_event }) => datacapture_event === event)) continue;
    let code = event.slice(0, 64).trim();
    for (let n = 2; codes.has(code); n += 1) code = `${event.slice(0, 56).trim()} ${n}`;
    codes.add(code);
    const sort_order = last + windows.length - visit_windows.length + 1;
    windows.push({ code, name: event, ...days, is_baseline: false, datacapture_event: event, sort_order });
  }
  return windows;
}

/** The template's mapping, of events that have a battery. */
const mappingOf = ({ capture }: StudyTemplate) =>
  Object.fromEntries(
    Object.entries(capture?.event_battery_mapping ?? {}).filter(([, { battery }]) => battery !== null),
  );

/** Everything that applying a template would create, with defaults; nothing is changed. */
export function previewTemplate(template: StudyTemplate) {
  const { study, batteries, event_definitions, holiday_calendars = [] } = template;
  const visit_windows = windowsOf(template);
  const { enrollment_date_policy: policy, notifications = null, ...config } = study.config;
  return {
    template_id: template.id,
    study: {
      description: study.description ?? template.description,
      timezone: study.timezone ?? 'UTC',
      consent_mode: study.consent_mode,
      status: 'active',
      config,
    },
    batteries: batteries.map((battery) => ({
      ...battery,
      status: 'published',
      version: 1,
      modules: battery.modules.map((module, index) => {
        const { title, defaults, estimated_minutes } = taskDefinition(module.task);
        return {
          position: index + 1,
          task: module.task,
          name: module.name ?? title,
          required: module.required ?? true,
          estimated_minutes: module.estimated_minutes ?? estimated_minutes,
          settings: { ...defaults, ...module.settings },
        };
      }),
    })),
    visit_windows,
    event_definitions,
    holiday_calendars,
    notifications,
    enrollment_date_policy: completePolicy((policy ?? {}) as PolicyInput),
    event_battery_mapping: mappingOf(template),
    batteries_created: batteries.length,
    visit_windows_created: visit_windows.length,
  };
}

/**
 * Creates a study from a template, in the caller's transaction: all of it, or nothing if anything conflicts.
 * @throws 409 STUDY_CODE_TAKEN, 422 if a saved design is no longer valid
 */
export async function applyTemplate(
  change: RequestScope,
  template: StudyTemplate,
  input: { study_code: string; study_name?: string },
) {
  const { tx, audit, actor, context } = change;
  const {
    study: { description, timezone, consent_mode, config },
    batteries,
    event_definitions,
    holiday_calendars = [],
  } = template;
  const visit_windows = windowsOf(template);
  const study_name = input.study_name ?? template.name;
  const study = await createStudy(change, {
    study_code: input.study_code,
    study_name,
    description: description ?? template.description,
    consent_mode,
    config: { ...config, template_id: template.id },
    ...(timezone && { timezone }),
  });
  const ids = new Map<string, number>();
  for (const battery of batteries) {
    const { id } = await createBattery(change, study.id, { ...battery });
    await changeBattery(change, id, { status: 'published' }, () => undefined);
    ids.set(battery.code, id);
  }
  const plan = { tx, studyId: study.id, batteryId: (code: string | null) => batteryOf(ids, code) };
  for (const { battery, ...window } of visit_windows)
    await insertWindow(tx, { ...window, study_id: study.id, battery_id: plan.batteryId(battery) });
  for (const { battery, ...event } of event_definitions)
    await insertEventDefinition(tx, study.id, { ...event, battery_id: plan.batteryId(battery) });
  for (const calendar of holiday_calendars) await insertCalendar(tx, study.id, calendar as HolidayCalendarFields);
  await keepCaptureDefaults(plan, template);
  audit.record({
    ...auditActor(actor, context),
    study_id: study.id,
    action: 'template_applied',
    resource_type: 'study',
    resource_id: study.id,
    metadata: {
      template_id: template.id,
      batteries: batteries.length,
      visit_windows: visit_windows.map(({ code }) => code),
      event_definitions: event_definitions.length,
      holiday_calendars: holiday_calendars.length,
    },
  });
  return {
    study_id: study.id,
    study_code: study.study_code,
    study_name: study.study_name,
    message: `Study ${study.study_code} was made from the template ${template.id}.`,
    batteries_created: batteries.length,
    visit_windows_created: visit_windows.length,
  };
}

/**
 * Stores the capture system's mappings with the batteries' real ids: a configuration also needs an address and a token,
 * which a template can't have.
 */
async function keepCaptureDefaults(
  { tx, studyId, batteryId }: { tx: Tx; studyId: string; batteryId: (code: string | null) => number | null },
  template: StudyTemplate,
): Promise<void> {
  const { capture } = template;
  if (!capture) return;
  const events = Object.entries(mappingOf(template)).map(([event, { battery, ...days }]) => [
    event,
    { battery_id: batteryId(battery), ...days },
  ]);
  const defaults = { ...capture, event_battery_mapping: Object.fromEntries(events) as Record<string, unknown> };
  await storeConfigValue(tx, studyId, CAPTURE_DEFAULTS, defaults);
}

function batteryOf(ids: ReadonlyMap<string, number>, code: string | null): number | null {
  if (code === null) return null;
  const id = ids.get(code);
  if (id === undefined)
    throw problem('INVALID_VALUE', { detail: `The template names a battery ${code} that it does not have.` });
  return id;
}
