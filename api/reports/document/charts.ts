import { heatColors } from '../../../activities/html/palette.js';
import { WIDTH, axis, color, counts } from './chart-parts.js';
import type { DrawableChart } from './chart-parts.js';
import type { Plot, PlotOf } from './data.js';
import { course, courses, distributions, metrics } from './metric-charts.js';
import type { Locale } from './words.js';

/** A plot in a language, ready to be drawn. */
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

function enrollment({ by_month }: PlotOf<'enrollment'>['data'], speech: Locale): DrawableChart {
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

function completion(windows: PlotOf<'completion'>['data'], speech: Locale): DrawableChart {
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

function adherence(cells: PlotOf<'adherence'>['data'], speech: Locale): DrawableChart {
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
