import { addDays } from '../util/dates.js';

/** A study's visit window, as far as a schedule needs it. Days count from the anchor date. */
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
  sort_order: number;
}
export interface EventMapping {
  battery_id?: number | null;
  target_day: number;
  window_before?: number;
  window_after?: number;
  /** What the event's visits are known by, where the event was called otherwise once. */
  identity?: string;
}

export interface PlannedVisit {
  /** What the visit is, whatever its dates: its window, or its capture-system event. Its `visit_key` comes of it. */
  identity: string;
  /** Of a window of a mapped event: what its visit is where it was planned before there was the window. */
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
  /** Of one that stays where somebody put it: the days that the plan has for it. */
  moved_from?: Days | null;
  /** Of what somebody changed by hand: what the plan has for it. */
  changed_from?: ChangedFrom | null;
}
/** The identity of the visit that a window plans. */
export const windowIdentity = (windowId: string): string => `window:${windowId}`;
export interface Plan {
  visits: PlannedVisit[];
  warnings: string[];
}

/**
 * The visits of `legacy` mode: each mapped event and each window, target = anchor + target_day, open window_before
 * days before it and window_after days after it (interface, "Schedule creation from the mapping"). Where a window
 * stands for a mapped event, the mapping says the days and the window lends its name and identity.
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
  const known = new Set(Object.values(mapping).map(({ identity }) => identity));
  for (const [event, rule] of Object.entries(mapping)) {
    const window = windowOf.get(event);
    if (window) mapped.add(window.id);
    // A name that another event had once is not that event's visit.
    const ofEvent = `event:${rule.identity ?? (known.has(event) ? `${event}#` : event)}`;
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
    visits.push(
      place(
        anchorDate,
        {
          identity: windowIdentity(window.id),
          visit_window_id: window.id,
          name: window.name,
          battery_id: window.battery_id,
          datacapture_event: window.datacapture_event,
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
/**
 * A visit as it stands; superseded ones do not matter to a new version, cancelled ones where somebody cancelled them.
 */
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
  /** The target that the last review held a completed visit against; null or absent: none was. */
  reviewed_target_date?: string | null;
  /** The days that the plan had for it when somebody moved it by hand; null or absent: nobody did. */
  moved_from?: Days | null;
  /** Of what somebody changed by hand: what the plan had then. */
  changed_from?: ChangedFrom | null;
}
export type KeyedVisit = PlannedVisit & { visit_key: string };

export interface Regeneration {
  /** New rows of the next version. */
  create: KeyedVisit[];
  /** Visits not done yet: their rows become superseded. */
  supersede: StandingVisit[];
  /**
   * Completed visits: they stay the one row that they are; the new version refers to those whose window is still
   * planned.
   */
  completed: { visit: StandingVisit; planned: KeyedVisit | null }[];
  /**
   * Visits to do that were scheduled by hand for a window: they stay, the new version refers to them in place of its
   * own.
   */
  kept: { visit: StandingVisit; planned: KeyedVisit }[];
  /** Visits that somebody cancelled: they stay cancelled, the new version refers to them in place of its own. */
  cancelled: { visit: StandingVisit; planned: KeyedVisit }[];
  /**
   * Visits that were missed on the very days that the plan has: they stay missed, the new version refers to them in
   * place of its own.
   */
  missed: { visit: StandingVisit; planned: KeyedVisit }[];
  /** Whether the next version would differ from the current one at all. */
  changes: boolean;
}

/**
 * What the next schedule version is made of, so that over any sequence of re-anchorings no completion is lost or
 * doubled: a completed visit's window is not planned again, everything else of the older versions gives way.
 * A missed visit is to do again where its days move; on the same days it was missed once and for all: planned anew it
 * would be missed, and told as missed, a second time. A visit without a version was scheduled by hand and is left
 * alone; where it is the visit of a planned window it stands for it, until it is missed: then it is as any that was
 * missed. A visit that somebody cancelled stays cancelled, whatever moves, until it is reopened or scheduled anew by
 * hand. One that somebody moved stays where it was put as long as the plan has the same days for it as then; so do
 * another name, battery or event, each for itself.
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

/** The plan with what visits were given by hand, where the plan has not changed its own since. */
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

/** The days that somebody gave a visit, where the plan still has those for it that it had then; nothing else. */
export function daysByHand(visit: ByHand, planned: Days): Partial<Days & Pick<StandingVisit, 'moved_from'>> {
  if (!visit.moved_from || !sameDays(visit.moved_from, planned)) return {};
  return {
    target_date: visit.target_date,
    window_open: visit.window_open,
    window_close: visit.window_close,
    moved_from: visit.moved_from,
  };
}

/** The same of name, battery and event, each for itself. */
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

/** What somebody may change of a planned visit, beside its days. */
export const CONTENT = ['name', 'battery_id', 'datacapture_event'] as const;
type Content = Pick<KeyedVisit, (typeof CONTENT)[number]>;
export type ChangedFrom = Partial<Content>;
/** When a visit is due, and from when to when it may take place. */
export interface Days {
  target_date: string;
  window_open: string;
  window_close: string;
}
export const sameDays = (a: Days, b: Days): boolean =>
  a.target_date === b.target_date && a.window_open === b.window_open && a.window_close === b.window_close;
