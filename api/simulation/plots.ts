import { chartSvg } from '../../activities/html/chart.js';
import type { Chart } from '../../activities/html/chart.js';
import { figureColors as colors } from '../../activities/html/palette.js';
import type { SimulationResult } from '../../workflows/domain/simulation/result.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const monthName = (month: string) => `${MONTHS[Number(month.slice(5, 7)) - 1]} ${month.slice(0, 4)}`;
const percent = (rate: number | null) => (rate === null ? 'none' : `${Math.round(rate * 1000) / 10} %`);

/** Every plot of a result by name. */
const charts = {
  visits_per_day: (result): Chart => {
    const days = result.visits_per_day;
    const busiest = days.reduce((most, day) => (day.completed > most.completed ? day : most), days[0]!);
    return {
      title: 'Visits a day',
      xLabel: 'Date',
      yLabel: 'Visits',
      places: days.length,
      stacked: true,
      description:
        `Visits completed on each of ${days.length} days, with the seven-day means of visits due and completed. ` +
        `${busiest.completed} on the busiest day, ${busiest.date}.`,
      ticks: days.flatMap(({ date }, index) => (date.endsWith('-01') ? [{ at: index, label: monthName(date) }] : [])),
      series: [
        { name: 'completed on the day', color: '#b9dcf2', as: 'bar', values: days.map((day) => day.completed) },
        {
          name: 'due (seven-day mean)',
          color: colors.vermilion,
          as: 'line',
          values: sevenDayMean(days.map((day) => day.due)),
        },
        {
          name: 'completed (seven-day mean)',
          color: colors.blue,
          as: 'line',
          values: sevenDayMean(days.map((day) => day.completed)),
        },
      ],
    };
  },
  adherence: (result) => {
    const { by_month, rate } = result.adherence;
    return {
      ...overMonths(by_month),
      title: 'Adherence by month',
      yLabel: 'Share of visits that are over',
      stacked: false,
      percent: true,
      description:
        'Share of visits that were completed inside their window, and completed at all, by the month in which ' +
        `the window closed; ${percent(rate)} inside the window over the whole study.`,
      series: [
        { name: 'completed inside the window', color: colors.blue, as: 'line', values: by_month.map((m) => m.rate) },
        {
          name: 'completed at all',
          color: colors.green,
          as: 'line',
          values: by_month.map((m) => (m.due === 0 ? null : m.completed / m.due)),
        },
      ],
    };
  },
  adherence_by_visit: (result) => {
    const visits = result.adherence.by_visit;
    return {
      title: 'What became of each visit',
      xLabel: 'Visit',
      yLabel: 'Visits that are over',
      places: visits.length,
      stacked: true,
      description:
        `For each of ${visits.length} planned visits how many were completed inside their window, completed ` +
        'late, or missed.',
      ticks: visits.map(({ code }, index) => ({ at: index, label: code })),
      series: [
        { name: 'inside the window', color: colors.blue, as: 'bar', values: visits.map((v) => v.in_window) },
        { name: 'late', color: colors.orange, as: 'bar', values: visits.map((v) => v.late) },
        { name: 'missed', color: colors.vermilion, as: 'bar', values: visits.map((v) => v.missed) },
      ],
    };
  },
  missed_windows: (result) => {
    const { by_month } = result.adherence;
    const { total, never_done, done_late } = result.missed_windows;
    return {
      ...overMonths(by_month),
      title: 'Missed windows',
      yLabel: 'Visits',
      stacked: true,
      description:
        `Visits that were not done inside their window, by the month in which it closed: ${total} in all, ` +
        `${done_late} of them done late and ${never_done} never.`,
      series: [
        { name: 'done late', color: colors.orange, as: 'bar', values: by_month.map((m) => m.late) },
        { name: 'never done', color: colors.vermilion, as: 'bar', values: by_month.map((m) => m.missed) },
      ],
    };
  },
  reanchorings: (result) => {
    const { by_month, granted, by_reconsent } = result.reanchorings;
    return {
      ...overMonths(by_month),
      title: 'Re-anchorings',
      yLabel: 'Final dates moved',
      stacked: true,
      description: `Final dates that moved, by month: ${granted} by an override, ${by_reconsent} by a further consent.`,
      series: [{ name: 'final dates moved', color: colors.blue, as: 'bar', values: by_month.map((m) => m.count) }],
    };
  },
  clashes: (result) => {
    const { by_month, targets_on_weekend, targets_on_holiday, shifted_to_working_day } = result.clashes;
    return {
      ...overMonths(by_month),
      title: 'Targets on weekends and holidays',
      yLabel: 'Visits',
      stacked: true,
      description:
        `Visits whose target falls on a day on which nobody works, by month: ${targets_on_weekend} on weekends, ` +
        `${targets_on_holiday} on holidays; ${shifted_to_working_day} were moved to a working day when schedules ` +
        'were made.',
      series: [
        { name: 'weekend', color: colors.sky, as: 'bar', values: by_month.map((m) => m.weekend) },
        { name: 'holiday', color: colors.vermilion, as: 'bar', values: by_month.map((m) => m.holiday) },
      ],
    };
  },
  load_by_weekday: (result) => {
    const days = result.load_by_weekday;
    return {
      title: 'Load by weekday',
      xLabel: 'Day of the week',
      yLabel: 'Visits',
      places: 7,
      stacked: false,
      description:
        'Visits due and completed on each day of the week: ' +
        `${days.map((d) => `${d.name} ${d.due} due, ${d.completed} completed`).join('; ')}.`,
      ticks: days.map(({ name }, index) => ({ at: index, label: name })),
      series: [
        { name: 'due', color: colors.orange, as: 'bar', values: days.map((d) => d.due) },
        { name: 'completed', color: colors.blue, as: 'bar', values: days.map((d) => d.completed) },
      ],
    };
  },
  enrolment: (result) => {
    const months = result.enrolment;
    return {
      ...overMonths(months),
      title: 'Enrolment',
      yLabel: 'Participants so far',
      stacked: false,
      description:
        'Participants who have arrived, whose date is final, and who have withdrawn, added up month by month: ' +
        `${result.totals.participants.arrived} arrived in all.`,
      series: [
        { name: 'arrived', color: colors.grey, as: 'line', values: addedUp(months.map((m) => m.arrived)) },
        { name: 'date final', color: colors.blue, as: 'line', values: addedUp(months.map((m) => m.finalized)) },
        { name: 'withdrawn', color: colors.vermilion, as: 'line', values: addedUp(months.map((m) => m.withdrawn)) },
      ],
    };
  },
} satisfies Record<string, (result: SimulationResult) => Chart>;

export type PlotName = keyof typeof charts;
export const plotNames = Object.keys(charts) as PlotName[];
export const isPlotName = (name: string): name is PlotName => Object.hasOwn(charts, name);

/** A plot of the result as SVG; the same result gives the same bytes. */
export const plotSvg = (name: PlotName, result: SimulationResult): string => chartSvg(charts[name](result));

function overMonths(months: readonly { month: string }[]): Pick<Chart, 'xLabel' | 'places' | 'ticks'> {
  return {
    xLabel: 'Month',
    places: months.length,
    ticks: months.map(({ month }, index) => ({ at: index, label: monthName(month) })),
  };
}

/** The mean of each day and up to three days on either side. */
function sevenDayMean(values: readonly number[]): number[] {
  return values.map((_, index) => {
    const near = values.slice(Math.max(0, index - 3), index + 4);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}

function addedUp(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value));
}
