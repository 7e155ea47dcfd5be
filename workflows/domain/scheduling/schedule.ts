import { addDays } from '../util/dates.js';

/** A study's visit window for scheduling. Days count from the anchor date. */
export interface WindowDefinition {
  id: string;
  code: string;
  name: string;
  battery_id: number | null;
  target_day: number;
  window_before: number;
  window_after: number;
  is_baseline: boolean;
  datacapture_event: string | null;
  /** The identity of its event's visits, if the event was renamed. */
  event_identity?: string;
  sort_order: number;
}
export interface EventMapping {
  battery_id?: number | null;
  target_day: number;
  window_before?: number;
  window_after?: number;
  /** The identity of the event's visits, if the event was renamed. */
  identity?: string;
}

export interface PlannedVisit {
  /**
   * The visit's identity, independent of its dates: its window, or its capture-system event. Its `visit_key` is derived
   * from it.
   */
  identity: string;
  /** For a window of an event: the visit's identity if the event's mapping planned it before the window existed. */
  before_window?: string;
  visit_window_id: string | null;
  /** Set on study event instances (`edc` mode), where the window is null. */
  event_definition_id?: string | null;
  event_oid?: string | null;
  event_occurrence?: number | null;
  name: string;
  battery_id: number | null;
  datacapture_event: string | null;
  is_baseline: boolean;
  target_date: string;
  window_open: string;
  window_close: string;
  /** For a visit that a user moved: the plan's dates. */
  moved_from?: Days | null;
  /** For fields that a user changed: the plan's values. */
  changed_from?: ChangedFrom | null;
}
/** The identity of the visit that a window plans. */
export const windowIdentity = (windowId: string): string => `window:${windowId}`;
export interface Plan {
  visits: PlannedVisit[];
  warnings: string[];
}

/**
 * The visits of `legacy` mode: each mapped event and each window, target = anchor + target_day, open window_before days
 * before it and window_after days after it. If a mapped event has a window, the mapping defines the days and the window
 * provides name and identity.
 */
export function planVisits(
  anchorDate: string,
  windows: readonly WindowDefinition[],
  mapping: Readonly<Record<string, EventMapping>>,
): Plan {
  const windowOf = new Map<string, WindowDefinition>();
  for (const window of windows) {
    if (window.datacapture_event !== null && !windowOf.has(window.datacapture_event))
      windowOf.set(window.datacapture_event, window);
  }
  const visits: PlannedVisit[] = [];
  const mapped = new Set<string>();
  const known = new Set([
    ...Object.values(mapping).map(({ identity }) => identity),
    ...windows.map(({ event_identity }) => event_identity),
  ]);
  // The former name of another event does not identify this event's visit.
  const eventIdentity = (event: string, identity: string | undefined) =>
    `event:${identity ?? (known.has(event) ? `${event}#` : event)}`;
  for (const [event, rule] of Object.entries(mapping)) {
    const window = windowOf.get(event);
    if (window) mapped.add(window.id);
    const ofEvent = eventIdentity(event, rule.identity);
    visits.push(
      place(
        anchorDate,
        {
          identity: window ? windowIdentity(window.id) : ofEvent,
          ...(window && { before_window: ofEvent }),
          visit_window_id: window?.id ?? null,
          name: window?.name ?? event,
          battery_id: rule.battery_id ?? window?.battery_id ?? null,
          datacapture_event: event,
          is_baseline: window?.is_baseline ?? false,
        },
        { target_day: rule.target_day, window_before: rule.window_before ?? 0, window_after: rule.window_after ?? 7 },
      ),
    );
  }
  for (const window of windows) {
    if (mapped.has(window.id)) continue;
    const { datacapture_event: event, event_identity } = window;
    visits.push(
      place(
        anchorDate,
        {
          identity: windowIdentity(window.id),
          // The mapping had its event before, and may have planned the visit.
          ...(event !== null &&
            windowOf.get(event) === window && { before_window: eventIdentity(event, event_identity) }),
          visit_window_id: window.id,
          name: window.name,
          battery_id: window.battery_id,
          datacapture_event: event,
          is_baseline: window.is_baseline,
        },
        window,
      ),
    );
  }
  visits.sort((a, b) =>
    a.target_date < b.target_date ? -1 : a.target_date > b.target_date ? 1 : a.identity < b.identity ? -1 : 1,
  );
  return { visits, warnings: visits.length === 0 ? ['NO_VISIT_WINDOWS'] : [] };
}

type What = Pick<
  PlannedVisit,
  'identity' | 'before_window' | 'visit_window_id' | 'name' | 'battery_id' | 'datacapture_event' | 'is_baseline'
>;
function place(
  anchorDate: string,
  what: What,
  days: { target_day: number; window_before: number; window_after: number },
): PlannedVisit {
  const target = addDays(anchorDate, days.target_day);
  return {
    ...what,
    target_date: target,
    window_open: addDays(target, -days.window_before),
    window_close: addDays(target, days.window_after),
  };
}

export type VisitStatus = 'scheduled' | 'open' | 'completed' | 'missed' | 'superseded' | 'cancelled';
/** An existing visit; a new version ignores superseded ones, and cancelled ones unless a user cancelled them. */
export interface StandingVisit {
  id: string;
  visit_key: string;
  status: VisitStatus;
  name: string;
  target_date: string;
  window_open: string;
  window_close: string;
  battery_id: number | null;
  datacapture_event: string | null;
  schedule_version_id: string | null;
  needs_review: boolean;
  reporting_target_date: string | null;
  /** The target that the last review compared a completed visit with; null or absent: none. */
  reviewed_target_date?: string | null;
  /** The plan's dates when a user moved it; null or absent: never moved. */
  moved_from?: Days | null;
  /** For fields that a user changed: the plan's values then. */
  changed_from?: ChangedFrom | null;
}
export type KeyedVisit = PlannedVisit & { visit_key: string };

export interface Regeneration {
  /** New rows of the next version. */
  create: KeyedVisit[];
  /** Open visits: their rows become superseded. */
  supersede: StandingVisit[];
  /** Completed visits: each stays one row; the new version refers to those whose window is still planned. */
  completed: { visit: StandingVisit; planned: KeyedVisit | null }[];
  /** Open visits scheduled by hand for a window: they stay, and the new version refers to them instead of new ones. */
  kept: { visit: StandingVisit; planned: KeyedVisit }[];
  /** Visits that a user cancelled: they stay cancelled, and the new version refers to them instead of new ones. */
  cancelled: { visit: StandingVisit; planned: KeyedVisit }[];
  /**
   * Visits missed on exactly the planned dates: they stay missed, and the new version refers to them instead of new
   * ones.
   */
  missed: { visit: StandingVisit; planned: KeyedVisit }[];
  /** Whether the next version would differ from the current one. */
  changes: boolean;
}

/**
 * Composes the next schedule version, so that over any sequence of re-anchorings no completion is lost or duplicated: a
 * completed visit's window is not planned again, all other visits of older versions are superseded. A missed visit is
 * open again if its dates move; on the same dates it stays missed: planned again, it would be missed and reported a
 * second time. A visit without a version was scheduled by hand and stays; if it is the visit of a planned window it
 * replaces it, until it is missed: then it is treated like any missed visit. A visit that a user cancelled stays
 * cancelled, whatever moves, until it is reopened or scheduled again by hand. One that a user moved stays there as long
 * as the plan has the same dates as then; the same holds for a changed name, battery or event, each separately.
 */
export function regenerate(plan: readonly KeyedVisit[], standing: readonly StandingVisit[]): Regeneration {
  const planned = asChanged(plan, standing);
  const plannedByKey = new Map(planned.map((visit) => [visit.visit_key, visit]));
  const byHand = (visit: StandingVisit) => visit.schedule_version_id === null;
  const toDo = (visit: StandingVisit) => visit.status === 'scheduled' || visit.status === 'open';
  const standingFor = standing.filter((visit) => visit.status !== 'cancelled');
  const scheduled = standingFor.filter((visit) => !byHand(visit) || plannedByKey.has(visit.visit_key));
  const kept = scheduled
    .filter((visit) => byHand(visit) && toDo(visit))
    .map((visit) => ({ visit, planned: plannedByKey.get(visit.visit_key)! }));
  const completed = scheduled
    .filter((visit) => visit.status === 'completed')
    .map((visit) => ({ visit, planned: plannedByKey.get(visit.visit_key) ?? null }));
  const live = new Set(standingFor.map((visit) => visit.visit_key));
  const cancelled = standing
    .filter((visit) => visit.status === 'cancelled' && plannedByKey.has(visit.visit_key) && !live.has(visit.visit_key))
    .map((visit) => ({ visit, planned: plannedByKey.get(visit.visit_key)! }));
  const missed = scheduled.flatMap((visit) => {
    const same = visit.status === 'missed' ? plannedByKey.get(visit.visit_key) : undefined;
    return same && sameDays(visit, same) ? [{ visit, planned: same }] : [];
  });
  const stands = new Set([...completed, ...kept, ...cancelled, ...missed].map(({ visit }) => visit.visit_key));
  const supersede = scheduled.filter(
    (visit) => (visit.status === 'missed' && !stands.has(visit.visit_key)) || (toDo(visit) && !byHand(visit)),
  );
  const create = planned.filter((visit) => !stands.has(visit.visit_key));
  const pending = new Map(supersede.map((visit) => [visit.visit_key, visit]));
  const changes =
    create.length !== supersede.length ||
    create.some((visit) => {
      const was = pending.get(visit.visit_key);
      return (
        !was ||
        !sameDays(was, visit) ||
        was.name !== visit.name ||
        was.battery_id !== visit.battery_id ||
        was.datacapture_event !== visit.datacapture_event
      );
    });
  return { create, supersede, completed, kept, cancelled, missed, changes };
}

/** The plan with the visits' manual changes, unless the plan's own values changed since. */
function asChanged(plan: readonly KeyedVisit[], standing: readonly StandingVisit[]): readonly KeyedVisit[] {
  const changed = new Map(
    standing.flatMap((visit) =>
      (visit.moved_from ?? visit.changed_from) && visit.schedule_version_id !== null && visit.status !== 'completed'
        ? [[visit.visit_key, visit]]
        : [],
    ),
  );
  if (changed.size === 0) return plan;
  return plan.map((visit) => {
    const was = changed.get(visit.visit_key);
    return was ? { ...visit, ...daysByHand(was, visit), ...contentByHand(was, visit) } : visit;
  });
}

type ByHand = Pick<
  StandingVisit,
  | 'moved_from'
  | 'changed_from'
  | 'target_date'
  | 'window_open'
  | 'window_close'
  | 'name'
  | 'battery_id'
  | 'datacapture_event'
>;

/** The dates that a user gave a visit, if the plan still has the same dates as then; otherwise empty. */
export function daysByHand(visit: ByHand, planned: Days): Partial<Days & Pick<StandingVisit, 'moved_from'>> {
  if (!visit.moved_from || !sameDays(visit.moved_from, planned)) return {};
  return {
    target_date: visit.target_date,
    window_open: visit.window_open,
    window_close: visit.window_close,
    moved_from: visit.moved_from,
  };
}

/** The same for name, battery and event, each separately. */
export function contentByHand(visit: ByHand, planned: Content): Partial<Content & Pick<StandingVisit, 'changed_from'>> {
  const kept = CONTENT.filter(
    (field) => visit.changed_from?.[field] !== undefined && visit.changed_from[field] === planned[field],
  );
  if (kept.length === 0) return {};
  return {
    ...Object.fromEntries(kept.map((field) => [field, visit[field]])),
    changed_from: Object.fromEntries(kept.map((field) => [field, planned[field]])),
  };
}

/** The fields of a planned visit that a user may change, besides its dates. */
export const CONTENT = ['name', 'battery_id', 'datacapture_event'] as const;
type Content = Pick<KeyedVisit, (typeof CONTENT)[number]>;
export type ChangedFrom = Partial<Content>;
/** A visit's target date, and its window. */
export interface Days {
  target_date: string;
  window_open: string;
  window_close: string;
}
export const sameDays = (a: Days, b: Days): boolean =>
  a.target_date === b.target_date && a.window_open === b.window_open && a.window_close === b.window_close;
