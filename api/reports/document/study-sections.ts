import type { TaskReport } from '../../../db/reports/study.queries.js';
import { metricWithUnit } from '../../../workflows/domain/assessment/metric-ranges.js';
import { isEmpty } from './charts.js';
import type { Plot, StudyData } from './data.js';
import type { Cell } from './page.js';
import type { Locale } from './words.js';

/** A section of a study's report, for any medium. */
export interface StudySection {
  title: string;
  /** Highlighted figures: label and value. */
  tiles?: readonly (readonly [string, string])[];
  /** Set if there is something to draw. */
  plot?: Plot;
  parts: readonly ReportTable[];
  notes: readonly string[];
}
export interface ReportTable {
  title?: string;
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** The sections of a study's report, in order: the PDF and the console's page show the same. */
export function studySections(data: StudyData, speech: Locale): StudySection[] {
  const { words: w } = speech;
  const { enrollment, completion, adherence, sites, modules } = data;
  // If there is nothing to draw, the table states it.
  const drawn = (plot: Plot) => (isEmpty(plot) ? {} : { plot });
  return [
    overview(data, speech),
    {
      title: w.enrollment,
      ...drawn({ name: 'enrollment', data: enrollment }),
      parts: [
        {
          head: [w.month, w.enrolled, w.cumulative],
          rows: enrollment.by_month.map((m) => [m.month, m.enrolled, m.cumulative]),
        },
      ],
      notes: enrollment.without_date > 0 ? [`${w.withoutDate}: ${speech.count(enrollment.without_date)}`] : [],
    },
    {
      title: w.completion,
      ...drawn({ name: 'completion', data: completion }),
      parts: [
        {
          head: [w.window, w.code, w.due, w.completed, w.inWindow, w.late, w.missed, w.rate],
          rows: completion.map((c) => [
            c.code === null ? w.otherVisits : c.name,
            c.code,
            c.due,
            c.completed,
            c.in_window,
            c.late,
            c.missed,
            speech.percent(c.rate),
          ]),
        },
      ],
      notes: [],
    },
    {
      title: w.adherence,
      ...drawn({ name: 'adherence', data: adherence }),
      parts: isEmpty({ name: 'adherence', data: adherence }) ? [{ head: [], rows: [] }] : [],
      notes: [],
    },
    {
      title: w.sites,
      parts: [
        {
          head: [w.site, w.participants, w.sessions, w.visitsCompleted, w.visitsMissed],
          rows: sites.map((x) => [
            x.site_code ?? w.noSite,
            x.participants,
            x.sessions,
            x.visits_completed,
            x.visits_missed,
          ]),
        },
      ],
      notes: [],
    },
    {
      title: w.metrics,
      ...(modules.length === 0 ? {} : drawn({ name: 'metrics', data: modules })),
      parts: [
        {
          head: [w.task, w.metric, w.n, w.mean, w.sd, w.min, w.p25, w.median, w.p75, w.max],
          rows: metricRows(modules),
        },
      ],
      notes: modules.some(({ metrics: all }) => Object.values(all).some(({ excluded }) => excluded > 0))
        ? [w.excluded]
        : [],
    },
    { title: w.method, parts: [], notes: [w.methodText] },
  ];
}

function overview({ summary }: StudyData, speech: Locale): StudySection {
  const { words: w } = speech;
  const { participants: p, sessions: s, visits: v, anchors: a } = summary;
  const counted = (title: string, rows: [string, number][]) => ({ title, head: [w.status, w.n], rows });
  return {
    title: w.overview,
    tiles: [
      [w.participants, speech.count(p.total)],
      [w.visitsCompleted, speech.count(v.completed)],
      [`${w.sessions}: ${w.completed}`, speech.count(s.completed)],
      [w.adherenceRate, speech.percent(summary.adherence.rate)],
    ],
    parts: [
      counted(w.participants, [
        [w.enrolled, p.enrolled],
        [w.withdrawn, p.withdrawn],
        [w.total, p.total],
      ]),
      counted(w.visits, [
        [w.scheduled, v.scheduled],
        [w.open, v.open],
        [w.completed, v.completed],
        [w.missed, v.missed],
        [w.superseded, v.superseded],
        [w.cancelled, v.cancelled],
        [w.total, v.total],
      ]),
      counted(w.sessions, [
        [w.completed, s.completed],
        [w.expired, s.expired],
        [`${w.active}, ${w.abandoned.toLowerCase()}`, s.total - s.completed - s.expired],
        [w.total, s.total],
      ]),
      counted(w.anchors, [
        [w.unset, a.unset],
        [w.provisional, a.provisional],
        [w.finalized, a.finalized],
        [w.overridden, a.overridden],
      ]),
    ],
    notes: [],
  };
}

const metricRows = (modules: readonly TaskReport[]): Cell[][] =>
  modules.flatMap(({ task, metrics }) =>
    Object.entries(metrics)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([metric, d]) => [
        task,
        metricWithUnit(metric),
        d.excluded > 0 ? `${d.n} (+${d.excluded})` : d.n,
        d.mean,
        d.sd,
        d.min,
        d.p25,
        d.median,
        d.p75,
        d.max,
      ]),
  );
