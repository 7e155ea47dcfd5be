import { Counts } from './tally.js';
import { clockChanges } from './days.js';
import { dayOff } from '../scheduling/events/calendar.js';
import type { Holiday } from '../scheduling/events/calendar.js';
import type { SimulatedPerson } from './person.js';
import { planLabel } from './labels.js';
import type { SimulatedVisit } from './visits.js';
import type { World } from './world.js';

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
/** Fractions are rounded at once: six digits, the same on every machine. */
export const fraction = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((part / whole) * 1e6) / 1e6;

export type SimulatedOutcome = 'in_window' | 'early' | 'late' | 'missed' | 'frozen' | 'pending';
export interface Adherence {
  due: number;
  completed: number;
  in_window: number;
  late: number;
  missed: number;
  rate: number | null;
}

/** The outcome of a visit that no later version replaced. A withdrawn participant's open visits are frozen. */
function fateOf(visit: SimulatedVisit, person: SimulatedPerson): SimulatedOutcome {
  if (visit.completedDay !== null)
    return visit.completedDay > visit.closeDay ? 'late' : visit.completedDay < visit.openDay ? 'early' : 'in_window';
  if (visit.status === 'missed') return 'missed';
  return person.withdrawnDay === null ? 'pending' : 'frozen';
}

interface JudgedVisit {
  visit: SimulatedVisit;
  person: SimulatedPerson;
  fate: SimulatedOutcome;
}

/** Computes the result of a completed simulation. */
export function resultOf(world: World, people: readonly SimulatedPerson[]) {
  const { inputs, days, tally, behaviour } = world;
  const rows = people.flatMap((person) => person.visits.all.map((visit) => ({ visit, person })));
  const standing: JudgedVisit[] = rows
    .filter(({ visit }) => visit.status !== 'superseded')
    .map(({ visit, person }) => ({ visit, person, fate: fateOf(visit, person) }));
  const fates = new Counts();
  for (const { fate } of standing) fates.add(fate);
  const visits = {
    generated: rows.length,
    superseded: rows.length - standing.length,
    standing: standing.length,
    completed_in_window: fates.get('in_window'),
    completed_early: fates.get('early'),
    completed_late: fates.get('late'),
    missed: fates.get('missed'),
    frozen_by_withdrawal: fates.get('frozen'),
    pending_at_end: fates.get('pending'),
  };
  const anchors = new Counts();
  for (const person of people) if (person.arrivedDay !== null) anchors.add(person.anchor.status);
  const arrived = people.filter((person) => person.arrivedDay !== null).length;
  const daily = perDay(world, standing);
  const weekdays = perWeekday(world, standing);
  return {
    simulation: {
      participants: inputs.participants,
      months: inputs.months,
      days: days.count,
      seed: inputs.seed,
      start_date: days.first,
      end_date: days.last,
      scheduling_mode: inputs.scheduling_mode,
      sites: inputs.sites.length,
      behaviour,
    },
    totals: {
      participants: {
        total: people.length,
        arrived,
        not_arrived: people.length - arrived,
        unset: anchors.get('unset'),
        provisional: anchors.get('provisional'),
        finalized: anchors.get('finalized'),
        withdrawn: people.filter((person) => person.withdrawnDay !== null).length,
      },
      visits,
      schedules_generated: tally.schedulesGenerated,
      generation_warnings: tally.generationWarnings.sorted(),
    },
    adherence: {
      ...adherenceOf(standing),
      by_visit: perVisit(world, standing),
      by_month: days.months().map((month) => ({
        month,
        ...adherenceOf(standing.filter(({ visit }) => visit.window_close.startsWith(month))),
      })),
    },
    missed_windows: {
      total: visits.missed + visits.completed_late,
      never_done: visits.missed,
      done_late: visits.completed_late,
    },
    visits_per_day: daily.days,
    targets_outside: daily.outside,
    load_by_weekday: weekdays,
    enrolment: days.months().map((month) => ({
      month,
      arrived: people.filter((p) => p.arrivedDay !== null && days.date(p.arrivedDay).startsWith(month)).length,
      finalized: people.filter((p) => p.finalDay !== null && days.date(p.finalDay).startsWith(month)).length,
      withdrawn: people.filter((p) => p.withdrawnDay !== null && days.date(p.withdrawnDay).startsWith(month)).length,
    })),
    anchors: {
      evaluations: tally.evaluations,
      results: tally.results.sorted(),
      validation_faults: tally.faults.sorted(),
      refused_by_hand: tally.refusedByHand.sorted(),
      days_from_arrival_to_final: spread(
        people.filter((p) => p.finalDay !== null).map((p) => p.finalDay! - p.arrivedDay!),
      ),
    },
    reanchorings: reanchorings(world),
    clashes: clashes(world, standing),
    time: time(world, people, standing),
    checks: checks(
      rows.map(({ visit }) => visit),
      visits,
      daily,
      weekdays,
    ),
  };
}
export type SimulationResult = ReturnType<typeof resultOf>;

/** Adherence of past visits: completed ones, or those whose window has passed. */
function adherenceOf(standing: readonly JudgedVisit[]): Adherence {
  const count = (fate: SimulatedOutcome) => standing.reduce((sum, s) => sum + (s.fate === fate ? 1 : 0), 0);
  const [inWindow, early, late, missed] = [count('in_window'), count('early'), count('late'), count('missed')];
  const due = inWindow + early + late + missed;
  return { due, completed: inWindow + early + late, in_window: inWindow, late, missed, rate: fraction(inWindow, due) };
}

function perVisit(world: World, standing: readonly JudgedVisit[]) {
  const groups = new Map<string, { code: string; name: string; day: number; of: JudgedVisit[] }>();
  for (const one of standing) {
    const { identity, name } = one.visit.planned;
    const group = groups.get(identity) ?? { ...planLabel(world.inputs, identity, name), of: [] };
    group.of.push(one);
    groups.set(identity, group);
  }
  return [...groups.values()]
    .sort((a, b) => a.day - b.day || (a.code < b.code ? -1 : 1))
    .map(({ code, name, day, of }) => ({ code, name, target_day: day, ...adherenceOf(of) }));
}

function perDay({ days }: World, standing: readonly JudgedVisit[]) {
  const list = Array.from({ length: days.count }, (_, day) => ({
    date: days.date(day),
    due: 0,
    completed: 0,
    missed: 0,
  }));
  const outside = { before_start: 0, after_end: 0 };
  for (const { visit, fate } of standing) {
    const target = days.number(visit.target_date);
    if (target < 0) outside.before_start += 1;
    else if (target >= days.count) outside.after_end += 1;
    else list[target]!.due += 1;
    if (visit.completedDay !== null) list[visit.completedDay]!.completed += 1;
    // A visit scheduled after its window is missed at once, on an unknown day.
    if (fate === 'missed') list[Math.max(0, visit.closeDay)]!.missed += 1;
  }
  return { days: list, outside };
}

function perWeekday({ days }: World, standing: readonly JudgedVisit[]) {
  const list = WEEKDAYS.map((name, i) => ({ weekday: i + 1, name, due: 0, completed: 0 }));
  for (const { visit } of standing) {
    list[days.weekday(visit.target_date) - 1]!.due += 1;
    if (visit.completedDay !== null) list[days.weekday(days.date(visit.completedDay)) - 1]!.completed += 1;
  }
  return list;
}

function reanchorings({ tally, days }: World) {
  const { overrides, shifts } = tally;
  const sizes = new Map<number, number>();
  for (const { days: by } of shifts) sizes.set(by, (sizes.get(by) ?? 0) + 1);
  return {
    requested: overrides.get('requested'),
    granted: overrides.get('granted'),
    denied: overrides.get('denied'),
    expired: overrides.get('expired'),
    refused: overrides.get('refused'),
    refusals: tally.overrideRefusals.sorted(),
    by_reconsent: tally.byReconsent,
    changed_while_provisional: tally.changedWhileProvisional,
    visits_moved: tally.visitsMoved,
    completed_carried: tally.completedCarried,
    carried_off_target: tally.carriedOffTarget,
    mean_shift_days:
      shifts.length === 0
        ? null
        : Math.round((shifts.reduce((sum, s) => sum + Math.abs(s.days), 0) / shifts.length) * 100) / 100,
    by_shift: [...sizes].sort(([a], [b]) => a - b).map(([by, count]) => ({ days: by, count })),
    by_month: days
      .months()
      .map((month) => ({ month, count: shifts.filter((s) => days.date(s.day).startsWith(month)).length })),
  };
}

/** Targets and completions on days off, by the participant's calendar. */
function clashes({ days, tally }: World, standing: readonly JudgedVisit[]) {
  const targets = new Counts();
  const completions = new Counts();
  const byMonth = new Map(days.months().map((month) => [month, { month, weekend: 0, holiday: 0 }]));
  const holidays = new Map<string, Holiday & { due: number }>();
  for (const { visit, person } of standing) {
    const off = dayOff(person.site.daysOff, visit.target_date);
    if (off) {
      targets.add(off.kind);
      const month = byMonth.get(visit.target_date.slice(0, 7));
      if (month) month[off.kind] += 1;
      if (off.kind === 'holiday') {
        const key = `${visit.target_date} ${off.name ?? ''}`;
        const entry = holidays.get(key) ?? { date: visit.target_date, name: off.name, due: 0 };
        entry.due += 1;
        holidays.set(key, entry);
      }
    }
    const done = visit.completedDay !== null && dayOff(person.site.daysOff, days.date(visit.completedDay));
    if (done) completions.add(done.kind);
  }
  return {
    targets_on_weekend: targets.get('weekend'),
    targets_on_holiday: targets.get('holiday'),
    completed_on_weekend: completions.get('weekend'),
    completed_on_holiday: completions.get('holiday'),
    shifted_to_working_day: tally.generationWarnings.get('HOLIDAY_SHIFTED'),
    no_working_day_in_window: tally.generationWarnings.get('HOLIDAY_IN_WINDOW'),
    by_month: [...byMonth.values()],
    holidays: [...holidays.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry),
  };
}

function time({ days, sites }: World, people: readonly SimulatedPerson[], standing: readonly JudgedVisit[]) {
  const zones = [...new Set(sites.map((site) => site.zone))].sort();
  const changes = new Map(zones.map((zone) => [zone, clockChanges(zone, days.first, days.last)]));
  return {
    zones: zones.map((zone) => ({
      zone,
      participants: people.filter((p) => p.site.zone === zone).length,
      clock_changes: changes.get(zone)!,
    })),
    visits_on_clock_changes: standing.filter(({ visit, person }) =>
      changes.get(person.site.zone)!.includes(visit.target_date),
    ).length,
    anchors_off_local_date: people.filter((person) => person.dateIsOffLocal()).length,
  };
}

function spread(values: number[]): { median: number; p90: number; max: number } | null {
  if (values.length === 0) return null;
  values.sort((a, b) => a - b);
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(values.length * share))]!;
  return { median: at(0.5), p90: at(0.9), max: values.at(-1)! };
}

/** Invariants of every simulation, counted independently. */
function checks(
  rows: readonly SimulatedVisit[],
  visits: Record<string, number>,
  daily: ReturnType<typeof perDay>,
  weekdays: ReturnType<typeof perWeekday>,
) {
  const sum = <T>(list: readonly T[], valueOf: (one: T) => number) =>
    list.reduce((total, one) => total + valueOf(one), 0);
  const done = rows.filter((visit) => visit.completedDay !== null);
  const completed = visits.completed_in_window! + visits.completed_early! + visits.completed_late!;
  const live = rows.filter((visit) => visit.status !== 'superseded');
  return {
    visits_add_up:
      completed + visits.missed! + visits.frozen_by_withdrawal! + visits.pending_at_end! + visits.superseded! ===
      visits.generated,
    days_add_up:
      sum(daily.days, (d) => d.due) + daily.outside.before_start + daily.outside.after_end === visits.standing &&
      sum(daily.days, (d) => d.completed) === completed,
    weekdays_add_up: sum(weekdays, (d) => d.due) === visits.standing && sum(weekdays, (d) => d.completed) === completed,
    no_completion_lost: done.every((visit) => visit.status === 'completed') && done.length === completed,
    no_visit_doubled: new Set(live.map((visit) => visit.visit_key)).size === live.length,
  };
}
