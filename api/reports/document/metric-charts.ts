import type { MetricCourse } from '../../../db/reports/participant.queries.js';
import type { TaskReport } from '../../../db/reports/study.queries.js';
import { PLAUSIBLE_LIMIT } from '../../../workflows/domain/assessment/quality.js';
import { metricWithUnit, rangeOfMetric } from '../../../workflows/domain/assessment/metric-ranges.js';
import { WIDTH, axis, color } from './chart-parts.js';
import type { DrawableChart } from './chart-parts.js';
import type { PlotOf } from './data.js';
import { BOLD } from './fonts.js';
import type { Locale } from './words.js';

/** The most informative metrics of a task, in this order. */
const TELLING = [
  'mean_rt',
  'accuracy',
  'd_prime',
  'interference',
  'completion_time',
  'max_span',
  'errors',
  'omissions',
  'commissions',
  'median_rt',
  'sd_rt',
  'lapses',
];
const MAX_PANELS = 12;
/** The metrics that fit into a plot: the most informative ones of each task, two at most. */
function telling<T extends { task: string; metric: string }>(all: readonly T[]): T[] {
  const rank = (metric: string) => (TELLING.includes(metric) ? TELLING.indexOf(metric) : TELLING.length);
  const byTask = new Map<string, T[]>();
  for (const one of all) byTask.set(one.task, [...(byTask.get(one.task) ?? []), one]);
  return [...byTask.values()]
    .flatMap((ones) =>
      ones.sort((a, b) => rank(a.metric) - rank(b.metric) || (a.metric < b.metric ? -1 : 1)).slice(0, 2),
    )
    .slice(0, MAX_PANELS);
}
/** The metrics of a study's plot, with their distributions. */
export const distributions = (modules: readonly TaskReport[]) =>
  telling(
    modules.flatMap(({ task, metrics }) =>
      Object.entries(metrics).flatMap(([metric, found]) => (found.n > 0 ? [{ task, metric, ...found }] : [])),
    ),
  );
/** A value in visible precision: an axis finds no steps between the smallest numbers. */
const drawable = (value: number | null): number =>
  value === null || Math.abs(value) < 1e-9 ? 0 : Number(value.toPrecision(7));
/** Metric courses without implausible values: an axis with them would show nothing else. */
export const courses = (all: readonly MetricCourse[]): MetricCourse[] =>
  all
    .map((one) => ({
      ...one,
      points: one.points.flatMap((point) =>
        Math.abs(point.value) <= PLAUSIBLE_LIMIT ? [{ ...point, value: drawable(point.value) }] : [],
      ),
    }))
    .filter(({ points }) => points.length > 0);

/** Small plots in two columns. */
function panels(count: number, height: number) {
  const rows = Math.ceil(count / 2);
  const grid = Array.from({ length: count }, (_, i) => ({
    left: i % 2 === 0 ? 60 : WIDTH / 2 + 60,
    top: Math.floor(i / 2) * height + 36,
    width: WIDTH / 2 - 90,
    height: height - 76,
  }));
  return {
    grid,
    height: Math.max(rows, 1) * height,
    titles: (texts: string[]) =>
      texts.map((text, i) => ({
        text,
        left: grid[i]!.left - 40,
        top: grid[i]!.top - 32,
        textStyle: { fontSize: 12, fontWeight: BOLD, color: color.ink },
      })),
  };
}

/** Box plots of the most informative metrics of a study. */
export function metrics(modules: readonly TaskReport[], speech: Locale): DrawableChart {
  const shown = distributions(modules);
  const { grid, height, titles } = panels(shown.length, 130);
  return {
    title: speech.words.plotMetrics,
    description: speech.say('plotMetricsText', shown.length),
    width: WIDTH,
    height,
    option: {
      title: titles(shown.map(({ task, metric, n }) => `${task}: ${metricWithUnit(metric)}, n = ${n}`)),
      grid,
      xAxis: shown.map(({ metric, min, max }, gridIndex) => ({
        gridIndex,
        splitNumber: 4,
        ...around(metric, [min, max].map(drawable), speech),
      })),
      yAxis: shown.map((_, gridIndex) => ({ gridIndex, type: 'category', data: [''], axisTick: { show: false } })),
      series: shown.map(({ min, p25, median, p75, max }, i) => ({
        type: 'boxplot',
        xAxisIndex: i,
        yAxisIndex: i,
        data: [[min, p25, median, p75, max].map(drawable)],
        itemStyle: { color: color.band, borderColor: color.blue },
      })),
    },
  };
}

/**
 * An axis with some margin around its values, within the metric's possible range. An end that is no round number has no
 * label.
 */
function around(metric: string, values: readonly number[], speech: Locale) {
  const low = Math.min(...values),
    high = Math.max(...values),
    room = (high - low || Math.abs(high) || 1) / 8;
  const range = rangeOfMetric(metric) ?? { min: low >= 0 ? 0 : -Infinity, max: Infinity };
  // An impossible value of the metric is shown nevertheless.
  const atMin = low >= range.min && low - room <= range.min,
    atMax = high <= range.max && high + room >= range.max;
  return {
    type: 'value',
    min: atMin ? range.min : low - room,
    max: atMax ? range.max : high + room,
    ...axis,
    axisLabel: {
      ...axis.axisLabel,
      showMinLabel: atMin,
      showMaxLabel: atMax,
      formatter: (value: number) => speech.number(Number(value.toPrecision(4))),
    },
  };
}

/** The metrics of a participant over time, with the middle half of the study. */
export function course(
  { participant_code, metrics: all, modules }: PlotOf<'course'>['data'],
  speech: Locale,
): DrawableChart {
  const shown = telling(courses(all));
  const { grid, height, titles } = panels(shown.length, 170);
  const reference = ({ task, metric }: MetricCourse) => {
    const found = modules.find((m) => m.task === task)?.metrics[metric];
    return found && found.p25 !== null && found.p75 !== null
      ? { p25: drawable(found.p25), p75: drawable(found.p75) }
      : undefined;
  };
  return {
    title: speech.words.plotCourse,
    description: speech.say('plotCourseText', shown.length, participant_code),
    width: WIDTH,
    height,
    option: {
      title: titles(shown.map(({ task, metric }) => `${task}: ${metricWithUnit(metric)}`)),
      grid,
      xAxis: shown.map(({ points }, gridIndex) => ({
        gridIndex,
        type: 'category',
        data: points.map(({ at }) => at.slice(0, 10)),
        ...axis,
        axisLabel: { ...axis.axisLabel, fontSize: 9 },
      })),
      // The band is always visible, even if the participant's own values are far from it.
      yAxis: shown.map((one, gridIndex) => {
        const band = reference(one),
          values = one.points.map(({ value }) => value);
        return {
          gridIndex,
          splitNumber: 3,
          ...around(one.metric, band ? [...values, band.p25, band.p75] : values, speech),
        };
      }),
      series: shown.map((one, i) => {
        const band = reference(one);
        return {
          type: 'line',
          xAxisIndex: i,
          yAxisIndex: i,
          data: one.points.map(({ value }) => value),
          itemStyle: { color: color.blue },
          symbolSize: 6,
          ...(band && {
            markArea: {
              silent: true,
              itemStyle: { color: color.band, opacity: 0.7 },
              data: [[{ yAxis: band.p25 }, { yAxis: band.p75 }]],
            },
          }),
        };
      }),
    },
  };
}
