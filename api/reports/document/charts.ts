import type { EChartsCoreOption } from 'echarts/core';
import type { MetricCourse } from '../../../db/reports/participant.queries.js';
import type { TaskReport } from '../../../db/reports/study.queries.js';
import { PLAUSIBLE_LIMIT } from '../../../workflows/domain/assessment/quality.js';
import { rangeOfMetric } from '../../../workflows/domain/assessment/metric-ranges.js';
import { figureColors, heatColors } from '../../../activities/html/palette.js';
import type { Plot } from './data.js';
import { BOLD } from './fonts.js';
import type { Locale } from './words.js';

/** A plot ready to be drawn, with its description for screen readers. */
export interface DrawableChart {
  title: string;
  description: string;
  width: number;
  height: number;
  option: EChartsCoreOption;
}

const color = {
  ...figureColors,
  band: '#d6e8f3',
  ink: '#222222',
};
const WIDTH = 720;
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
const axis = { axisLine: { lineStyle: { color: color.ink } }, axisLabel: { color: color.ink, fontSize: 11 } };
const counts = { type: 'value', minInterval: 1, ...axis };

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
const distributions = (modules: readonly TaskReport[]) =>
  telling(
    modules.flatMap(({ task, metrics }) =>
      Object.entries(metrics).flatMap(([metric, found]) => (found.n > 0 ? [{ task, metric, ...found }] : [])),
    ),
  );
/** A value in visible precision: an axis finds no steps between the smallest numbers. */
const drawable = (value: number | null): number =>
  value === null || Math.abs(value) < 1e-9 ? 0 : Number(value.toPrecision(7));
/** Metric courses without implausible values: an axis with them would show nothing else. */
const courses = (all: readonly MetricCourse[]): MetricCourse[] =>
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

export function chartOf(plot: Plot, speech: Locale): DrawableChart {
  const chart = drawn(plot, speech);
  return isEmpty(plot)
    ? {
        ...chart,
        option: {
          title: {
            text: speech.words.nothing,
            left: 'center',
            top: 'middle',
            textStyle: { fontSize: 13, fontWeight: 'normal', color: color.ink },
          },
        },
      }
    : chart;
}

/** Whether there is nothing to draw: empty axes, or none, would look like a failed plot. */
export const isEmpty = ({ name, data }: Plot): boolean =>
  (name === 'enrollment'
    ? data.by_month
    : name === 'course'
      ? courses(data.metrics)
      : name === 'metrics'
        ? distributions(data)
        : name === 'adherence'
          ? data.filter(({ due }) => due > 0)
          : data
  ).length === 0;

function drawn(plot: Plot, speech: Locale): DrawableChart {
  switch (plot.name) {
    case 'enrollment':
      return enrollment(plot.data, speech);
    case 'completion':
      return completion(plot.data, speech);
    case 'adherence':
      return adherence(plot.data, speech);
    case 'metrics':
      return metrics(plot.data, speech);
    case 'course':
      return course(plot.data, speech);
  }
}

function enrollment({ by_month }: Extract<Plot, { name: 'enrollment' }>['data'], speech: Locale): DrawableChart {
  const { words } = speech;
  return {
    title: words.plotEnrollment,
    description: speech.say('plotEnrollmentText', by_month.at(-1)?.cumulative ?? 0, by_month.length),
    width: WIDTH,
    height: 300,
    option: {
      legend: { top: 0 },
      grid: { left: 56, right: 56, top: 40, bottom: 48 },
      xAxis: { type: 'category', data: by_month.map(({ month }) => month), ...axis },
      yAxis: [
        { ...counts, name: words.enrolled },
        { ...counts, name: words.cumulative, splitLine: { show: false } },
      ],
      series: [
        {
          type: 'bar',
          name: words.enrolled,
          data: by_month.map(({ enrolled }) => enrolled),
          itemStyle: { color: color.sky },
          barMaxWidth: 40,
        },
        {
          type: 'line',
          name: words.cumulative,
          yAxisIndex: 1,
          data: by_month.map(({ cumulative }) => cumulative),
          itemStyle: { color: color.vermilion },
          symbolSize: 5,
          showSymbol: by_month.length < 40,
        },
      ],
    },
  };
}

function completion(windows: Extract<Plot, { name: 'completion' }>['data'], speech: Locale): DrawableChart {
  const { words } = speech;
  const shown = [...windows].reverse();
  const bar = (name: string, fill: string, valueOf: (w: (typeof windows)[number]) => number) => ({
    type: 'bar',
    stack: 'all',
    name,
    itemStyle: { color: fill },
    barMaxWidth: 22,
    data: shown.map(valueOf),
  });
  return {
    title: words.plotCompletion,
    description: speech.say('plotCompletionText', windows.length),
    width: WIDTH,
    height: 90 + Math.max(windows.length, 1) * 28,
    option: {
      legend: { top: 0 },
      grid: { left: 150, right: 24, top: 36, bottom: 32 },
      xAxis: counts,
      yAxis: {
        type: 'category',
        data: shown.map(({ code }) => code ?? words.otherVisits),
        ...axis,
        axisLabel: { ...axis.axisLabel, width: 135, overflow: 'truncate' },
      },
      series: [
        bar(words.inWindow, color.blue, (w) => w.in_window),
        bar(words.early, color.sky, (w) => w.completed - w.in_window - w.late),
        bar(words.late, color.orange, (w) => w.late),
        bar(words.missed, color.vermilion, (w) => w.missed),
      ],
    },
  };
}

function adherence(cells: Extract<Plot, { name: 'adherence' }>['data'], speech: Locale): DrawableChart {
  const { words } = speech;
  const windows = [...new Set(cells.map(({ code }) => code))];
  const sites = [...new Set(cells.map(({ site_code }) => site_code ?? words.noSite))].reverse();
  // Each has its name, truncated if necessary: the renderer would omit names that it considers too close.
  const every = { interval: 0, overflow: 'truncate' };
  const room = (WIDTH - 134) / Math.max(windows.length, 1) - 6,
    oblique = windows.some((code) => String(code ?? '').length * 7 > room);
  const data = cells
    .filter(({ due }) => due > 0)
    .map(({ site_code, code, due, in_window }) => [
      windows.indexOf(code),
      sites.indexOf(site_code ?? words.noSite),
      // As in Locale.percent: only all of them are 100.
      in_window === 0 || in_window === due
        ? (in_window / due) * 100
        : Math.min(Math.max(Math.round((in_window / due) * 100), 1), 99),
    ]);
  return {
    title: words.plotAdherence,
    description: speech.say('plotAdherenceText', sites.length, windows.length),
    width: WIDTH,
    height: 130 + Math.max(sites.length, 1) * 34,
    option: {
      grid: { left: 110, right: 24, top: 16, bottom: 90 },
      xAxis: {
        type: 'category',
        data: windows,
        ...axis,
        axisLabel: { ...axis.axisLabel, ...every, ...(oblique ? { rotate: 45, width: 75 } : { width: room }) },
      },
      yAxis: { type: 'category', data: sites, ...axis, axisLabel: { ...axis.axisLabel, ...every, width: 95 } },
      // In steps: a dark picture has another colour for each (activities/html/picture-theme.ts).
      visualMap: {
        type: 'piecewise',
        orient: 'horizontal',
        left: 'center',
        bottom: 0,
        itemGap: 18,
        textStyle: { color: color.ink, fontSize: 11 },
        pieces: heatColors.light.steps.map((step, i) => {
          const [low, high] = [i * 20, i === 4 ? 100 : i * 20 + 19];
          return { min: low, max: high, label: `${low}–${high} %`, color: step };
        }),
      },
      series: [
        {
          type: 'heatmap',
          data,
          label: {
            show: windows.length <= 16,
            formatter: ({ value }: { value: number[] }) => `${value[2]}`,
            color: heatColors.light.figure,
          },
          itemStyle: { borderColor: '#ffffff', borderWidth: 1 },
        },
      ],
    },
  };
}

function metrics(modules: readonly TaskReport[], speech: Locale): DrawableChart {
  const shown = distributions(modules);
  const { grid, height, titles } = panels(shown.length, 130);
  return {
    title: speech.words.plotMetrics,
    description: speech.say('plotMetricsText', shown.length),
    width: WIDTH,
    height,
    option: {
      title: titles(shown.map(({ task, metric, n }) => `${task}: ${metric} (n = ${n})`)),
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

function course(
  {
    participant_code,
    metrics: all,
    modules,
  }: { participant_code: string; metrics: readonly MetricCourse[]; modules: readonly TaskReport[] },
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
      title: titles(shown.map(({ task, metric }) => `${task}: ${metric}`)),
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
