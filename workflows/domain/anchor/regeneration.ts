import { inCalendar } from '../util/dates.js';
import { planInstances } from '../scheduling/events/plan.js';
import type { EdcSources } from '../scheduling/events/plan.js';
import { impactOf } from './preview.js';
import type { Impact } from './preview.js';
import { planVisits, regenerate } from '../scheduling/schedule.js';
import type {
  EventMapping,
  KeyedVisit,
  Plan,
  Regeneration,
  StandingVisit,
  WindowDefinition,
} from '../scheduling/schedule.js';
import type { Policy } from './policy-schema.js';
import type { Decision, Facts } from '../util/types.js';

export interface ScheduleInputs {
  windows: readonly WindowDefinition[];
  mapping: Readonly<Record<string, EventMapping>>;
  /** Set in `edc` mode, which ignores windows and mapping. */
  edc?: EdcSources | null;
  /** The participant's live visits: not superseded; cancelled only by hand. */
  standing: readonly StandingVisit[];
  /** The highest version number so far; 0: none. */
  latest_number: number;
  /** The date of the highest version, current or not. */
  latest_date: string | null;
  /** The date of the current version; null: none is current. */
  current_date: string | null;
}
/** Computes a visit's stable key from its identity. */
export type KeyOf = (identity: string) => string;

export interface NextVersion {
  change: Regeneration;
  /**
   * The anchor has moved since the previous version: completed visits are reconciled with another anchor, not with a
   * changed window, and before a first version no anchor could conflict with a completion.
   */
  moved: boolean;
  warnings: string[];
  version_number: number;
  scheduling_mode: 'legacy' | 'edc';
  holiday_calendar_id: string | null;
}

/** The visits from `date` in the study's scheduling mode. */
const planOf = (date: string, inputs: ScheduleInputs): Plan =>
  withinCalendar(inputs.edc ? planInstances(date, inputs.edc) : planVisits(date, inputs.windows, inputs.mapping));

/**
 * A visit outside of the years 1 to 9999 is not planned, with a warning: one participant's odd date does not stop
 * others.
 */
function withinCalendar(plan: Plan): Plan {
  const visits = plan.visits.filter(
    ({ target_date, window_open, window_close }) =>
      inCalendar(target_date) && inCalendar(window_open) && inCalendar(window_close),
  );
  if (visits.length === plan.visits.length) return plan;
  const left = plan.visits.filter((visit) => !visits.includes(visit));
  return {
    visits,
    warnings: [
      ...plan.warnings,
      ...left.map(({ name }) => `OUTSIDE_CALENDAR: ${name} is not planned: its days lie outside the years 1 to 9999`),
    ],
  };
}

/**
 * A plan's visits with their keys. If a mapped event got a window after its visit was planned, the existing visit is
 * kept: no second one is created.
 */
function keyedPlan(plan: Plan, { standing }: ScheduleInputs, keyOf: KeyOf): KeyedVisit[] {
  const stands = new Set(standing.map(({ visit_key }) => visit_key));
  return plan.visits.map(({ before_window: before, ...visit }) => {
    const visit_key = keyOf(visit.identity);
    if (before === undefined || stands.has(visit_key) || !stands.has(keyOf(before))) return { ...visit, visit_key };
    return { ...visit, visit_key: keyOf(before) };
  });
}

/** A visit of the present plan under the current version's date. Undefined: it is not planned (any more). */
export const plannedVisit = (inputs: ScheduleInputs, keyOf: KeyOf, visitKey: string): KeyedVisit | undefined =>
  inputs.current_date === null
    ? undefined
    : keyedPlan(planOf(inputs.current_date, inputs), inputs, keyOf).find((visit) => visit.visit_key === visitKey);

/**
 * Whether a decision requires a schedule: a final date does; a proposal does if the policy says so or a schedule
 * exists.
 */
export const scheduleFollows = (
  decision: Pick<Decision, 'transitions'>,
  policy: Policy,
  hasCurrent: boolean,
): boolean => {
  const last = decision.transitions.at(-1);
  return last !== undefined && (last.status_after === 'finalized' || policy.schedule_on_provisional || hasCurrent);
};

/**
 * The schedule of a decision: from its date, or from today if there is none and a schedule is required (`ensure`). The
 * same date from another source, or a proposal that becomes final, keeps a matching schedule.
 */
export function scheduleAfter(
  policy: Policy,
  facts: Pick<Facts, 'anchor' | 'today'>,
  decision: Pick<Decision, 'transitions'>,
  inputs: ScheduleInputs,
  { hasCurrent, ensure }: { hasCurrent: boolean; ensure: boolean },
): { inputs: ScheduleInputs; date: string; reason: 'anchor_changed' | 'first' } | undefined {
  if (!ensure && !scheduleFollows(decision, policy, hasCurrent)) return undefined;
  const last = decision.transitions.at(-1);
  const from = (last ? last.value!.date : facts.anchor.date) ?? facts.today;
  return inputs.current_date === from
    ? undefined
    : { inputs, date: from, reason: hasCurrent ? 'anchor_changed' : 'first' };
}

/** The next schedule version from `date`: created, superseded and carried visits. */
export function nextVersion(date: string, inputs: ScheduleInputs, keyOf: KeyOf): NextVersion {
  const plan = planOf(date, inputs);
  return {
    change: regenerate(keyedPlan(plan, inputs, keyOf), inputs.standing),
    moved: inputs.latest_date !== null && date !== inputs.latest_date,
    warnings: plan.warnings,
    version_number: inputs.latest_number + 1,
    scheduling_mode: inputs.edc ? 'edc' : 'legacy',
    holiday_calendar_id: inputs.edc?.calendar?.id ?? null,
  };
}

/** The effect of an override to `date` on the participant's visits; without regeneration only a warning. */
export function previewOf(
  date: string,
  inputs: ScheduleInputs,
  keyOf: KeyOf,
  context: { today: string; warnings: readonly string[]; regenerate: boolean },
): Impact {
  if (!context.regenerate) {
    return {
      completed_visits_to_reconcile: 0,
      pending_visits_to_reschedule: 0,
      new_schedule_version: inputs.latest_number,
      warnings: [...context.warnings, 'SCHEDULE_NOT_REGENERATED'],
      visits: [],
    };
  }
  const next = nextVersion(date, inputs, keyOf);
  return impactOf(next.change, {
    version_number: next.version_number,
    today: context.today,
    reconciles: next.moved || inputs.current_date !== null,
    warnings: [...context.warnings, ...next.warnings],
  });
}

/** The inputs of a preview; their hash is the `preview_hash`. When any of them changes, the preview is stale. */
export const previewBasis = (
  inputs: ScheduleInputs,
  basis: { policy_version: number; anchor_version: number; date: string; regenerate: boolean },
) => ({
  ...basis,
  ...(inputs.edc ? { edc: inputs.edc } : { windows: inputs.windows, mapping: inputs.mapping }),
  visits: [...inputs.standing]
    .map((v) => ({
      visit_key: v.visit_key,
      status: v.status,
      target_date: v.target_date,
      window_open: v.window_open,
      window_close: v.window_close,
    }))
    .sort((a, b) => (a.visit_key < b.visit_key ? -1 : 1)),
});
