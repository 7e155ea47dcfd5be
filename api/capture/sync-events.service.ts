import { putOutbox } from '../../db/outbox/outbox.js';
import { findConfig, unknownBatteries, updateConfig } from '../../db/capture/datacapture-configs.queries.js';
import { eventsInUse } from '../../db/capture/known-events.queries.js';
import { insertEventWindow, lockEventWindows, updateEventWindow } from '../../db/scheduling/event-windows.queries.js';
import type { DatacaptureConfigRow, EventBattery } from '../../db/capture/datacapture-configs.queries.js';
import type { EventWindow, StoredEventWindow } from '../../db/scheduling/event-windows.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { armOf } from '../../workflows/domain/capture/arms.js';
import { enrollmentEvents } from '../../workflows/domain/capture/enrollment.js';
import type { CaptureEvent } from '../../workflows/domain/capture/query.js';
import type { Actor } from '../http/access.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import type { Dependencies } from '../dependencies.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import type { WithEarlierOverrides } from '../studies/earlier-overrides.service.js';
import { requireConfig } from './datacapture.service.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

export interface EventSync {
  created: number;
  updated: number;
  unchanged: number;
  skipped: { datacapture_event: string; reason: string }[];
  renamed: { event_id: string; from: string; to: string }[];
  missing: { datacapture_event: string; reason: string }[];
}

/** Creates or updates visit windows from events; a window's battery, code and baseline mark stay. */
export async function syncEvents(
  who: { services: Dependencies; actor: Actor; context: RequestContext; studyId: string },
  events: readonly CaptureEvent[],
): Promise<WithEarlierOverrides<EventSync>> {
  const { services, actor, context, studyId } = who;
  return withStudyScope(services.database, studyId, async ({ tx, audit }) => {
    const config = (await findConfig(tx, studyId, 'for no key update')) ?? (await requireConfig(tx, studyId));
    const mapping = config.event_battery_mapping;
    const unknown = await unknownBatteries(
      tx,
      studyId,
      Object.values(mapping).map((entry) => entry.battery_id),
    );
    const { windows, codes } = await lockEventWindows(tx, studyId);
    const result: EventSync = {
      created: 0,
      updated: 0,
      unchanged: 0,
      skipped: [],
      renamed: await tellRenamed(tx, config),
      missing: await missingEvents(tx, config, events),
    };
    let marks = false;
    const record = (action: string, id: string, fields: string[]) =>
      audit.record({
        ...auditActor(actor, context),
        study_id: studyId,
        action,
        resource_type: 'visit_window',
        resource_id: id,
        metadata: { source: 'datacapture', fields },
      });

    for (const [index, event] of events.entries()) {
      const wanted = windowOf(event, mapping[event.unique_event_name], index);
      if (!wanted) {
        result.skipped.push({
          datacapture_event: event.unique_event_name,
          reason:
            'The event has no day offset (the project does not use scheduling), and the event mapping does not ' +
            'name it.',
        });
        continue;
      }
      const stored = windows.find((window) => window.datacapture_event === wanted.datacapture_event);
      if (stored) {
        const fields = changedFields({ ...stored }, { ...wanted });
        if (fields.length > 0) {
          await updateEventWindow(tx, stored.id, wanted);
          record('visit_window_changed', stored.id, fields);
        }
        result[fields.length > 0 ? 'updated' : 'unchanged'] += 1;
        continue;
      }
      const battery = mapping[wanted.datacapture_event]?.battery_id;
      const code = freeCode(wanted.datacapture_event, codes);
      codes.push(code);
      const known = config.known_events;
      const is_baseline = isBaseline({ event, events, windows, known, targetDay: wanted.target_day });
      marks ||= is_baseline;
      const id = await insertEventWindow(tx, studyId, {
        ...wanted,
        code,
        is_baseline,
        battery_id: battery === undefined || unknown.includes(battery) ? null : battery,
      });
      record('visit_window_created', id, ['code', ...Object.keys(wanted)]);
      result.created += 1;
    }
    if (result.created + result.updated > 0) {
      await putOutbox(tx, [
        {
          topic: 'study-changed',
          studyId,
          subject: studyId,
          // A baseline visit may be completed already: anchors are evaluated, too.
          payload: { kind: marks ? 'baseline' : 'windows', actor_user_id: actor.id, request_id: context.requestId },
        },
      ]);
      return withEarlierOverrides(tx, studyId, result);
    }
    return result;
  });
}

/** Reports events that were renamed since the last report. */
async function tellRenamed(tx: Tx, { study_id, known_events }: DatacaptureConfigRow): Promise<EventSync['renamed']> {
  const renamed = Object.entries(known_events).filter(([, event]) => !event.gone && event.told !== event.name);
  if (renamed.length > 0) {
    const told = renamed.map(([id, event]) => [id, { ...event, told: event.name }] as const);
    await updateConfig(tx, study_id, { known_events: { ...known_events, ...Object.fromEntries(told) } });
  }
  return renamed.map(([event_id, { told: from, name: to }]) => ({ event_id, from, to }));
}

/** Events that are named here but missing there. A classic project has no events: there a name is the visit's own. */
async function missingEvents(
  tx: Tx,
  config: DatacaptureConfigRow,
  events: readonly CaptureEvent[],
): Promise<EventSync['missing']> {
  if (events.length === 0) return [];
  const there = new Set(events.map(({ unique_event_name }) => unique_event_name));
  const named = new Set([
    ...Object.keys(config.event_battery_mapping),
    ...enrollmentEvents(config.enrollment_event),
    ...(await eventsInUse(tx, config.study_id)),
  ]);
  return [...named]
    .filter((name) => !there.has(name))
    .sort()
    .map((datacapture_event) => ({
      datacapture_event,
      reason:
        'The capture system has no such event: it was deleted, or never was. Results of its visits cannot be ' +
        'delivered: correct the mapping, or `datacapture_event` of the visits.',
    }));
}

/** The window of an event with days: its own, or the mapping's. */
function windowOf(event: CaptureEvent, mapped: EventBattery | undefined, index: number): EventWindow | undefined {
  const days = daysOf(event, mapped);
  if (days === undefined || event.unique_event_name === '') return undefined;
  return {
    datacapture_event: event.unique_event_name.slice(0, 200),
    name: (event.event_name || event.unique_event_name).slice(0, 300),
    ...days,
    sort_order: index,
  };
}

/** Offsets are stored positive: the window is [target − offset_min, target + offset_max]. */
function daysOf(
  { day_offset, offset_min, offset_max }: CaptureEvent,
  mapped: EventBattery | undefined,
): Pick<EventWindow, 'target_day' | 'window_before' | 'window_after'> | undefined {
  if (day_offset !== null)
    return {
      target_day: day_offset,
      window_before: Math.abs(offset_min ?? 0),
      window_after: Math.abs(offset_max ?? 0),
    };
  return (
    mapped && { target_day: mapped.target_day, window_before: mapped.window_before, window_after: mapped.window_after }
  );
}

/**
 * The first event of its arm, if it is on day 0 and the study has no windows of the arm's events yet: each arm has a
 * baseline of its own, since its participants have no visits of the others.
 */
function isBaseline({
  event,
  events,
  windows,
  known,
  targetDay,
}: {
  event: CaptureEvent;
  events: readonly CaptureEvent[];
  windows: readonly StoredEventWindow[];
  known: DatacaptureConfigRow['known_events'];
  targetDay: number;
}): boolean {
  if (targetDay !== 0 || events.find(({ arm_num }) => arm_num === event.arm_num) !== event) return false;
  const arms = new Map(events.map(({ unique_event_name: name, arm_num }) => [name, arm_num]));
  const arm = ({ datacapture_event: name }: StoredEventWindow) => arms.get(name) ?? armOf(known, name);
  // A window whose arm is unknown may be of this one.
  return windows.every((window) => ![event.arm_num, undefined].includes(arm(window)));
}

function freeCode(event: string, codes: readonly string[]): string {
  const base = event.slice(0, 60);
  for (let n = 1; ; n += 1) {
    const code = n === 1 ? base : `${base}-${n}`;
    if (!codes.includes(code)) return code;
  }
}
