import { shownSession, summarySource, taskSummary } from '../scheduling/effective-status.js';
import { createHash } from 'node:crypto';
import pg from 'pg';
import {
  choiceColumn,
  code,
  date,
  id,
  instant,
  participantFilter,
  setAsideColumn,
  utcDate,
  visitNameColumn,
} from './columns.js';
import type { DatasetColumn, Dataset } from './columns.js';
import { SUMMARY_SOURCES } from './words.js';

/** A metric of a task: a column of a wide export. */
export interface WideMetric {
  task: string;
  metric: string;
}

/** A statement can have 1,664 columns. */
export const MAX_METRICS = 1_500;
export class TooManyColumns extends Error {}
const tasksOf = (metrics: readonly WideMetric[]): string[] => [...new Set(metrics.map(({ task }) => task))];
/** Whether there are more columns than a statement can have: those of metrics, and of the source of each task. */
export const isTooWide = (metrics: readonly WideMetric[]): boolean =>
  metrics.length + tasksOf(metrics).length > MAX_METRICS;

/** The database truncates longer names, and two could collide. */
const NAME_BYTES = 63;

/**
 * Pivots task_summaries: a row for each session with its visit, a column for each metric of each task in the order of
 * names, then whether they count, and for each task whether its metrics are the client's or computed.
 * @throws TooManyColumns
 */
export function wideSummaries(metrics: readonly WideMetric[]): Dataset {
  if (isTooWide(metrics))
    throw new TooManyColumns(`there are ${metrics.length} metrics; a wide export has room for ${MAX_METRICS}`);
  const fixed = [
    id('session_id', 'the session; while it is active its public id', shownSession('t')),
    ...participantFilter,
    id('visit_id', 'its visit'),
    visitNameColumn('visit_name', 'v'),
    code('window_code', 'window of the visit, or event of the protocol', 'coalesce(w.code, e.event_oid)'),
    date('target_date', 'the visit was due on', 'v.target_date'),
    instant('started_at', 'start of the session'),
    instant('completed_at', 'its end'),
  ];
  const taken = new Set(fixed.map(({ name }) => name));
  const sorted = [...metrics].sort((a, b) => order(a.task, b.task) || order(a.metric, b.metric));
  const columns = sorted.map(({ task, metric }): DatasetColumn => {
    const value = `k.tasks -> ${pg.escapeLiteral(task)} -> ${pg.escapeLiteral(metric)}`;
    return {
      name: nameOf({ task, metric }, taken),
      type: 'number',
      about: `${metric} of the task ${task}`,
      sql: `case when jsonb_typeof(${value}) = 'number' then (${value})::numeric end`,
    };
  });
  const sources = tasksOf(sorted).map((task) =>
    choiceColumn(
      SUMMARY_SOURCES,
      nameOf({ task, metric: 'summary_source' }, taken),
      `of the task ${task}: client, or computed from the trials, where the client gave no summary`,
      `k.sources ->> ${pg.escapeLiteral(task)}`,
    ),
  );
  return {
    from: `(select x.session_id, x.study_id, jsonb_object_agg(x.task, ${taskSummary('x')}) as tasks,
        jsonb_object_agg(x.task, ${summarySource('x')}) as sources from session_tasks x
      where x.study_id = :study group by 1, 2) k
      join assessment_sessions t on t.id = k.session_id join participants p on p.id = t.participant_id
        left join sites st on st.id = p.site_id
      left join scheduled_visits v on v.id = t.visit_id left join visit_windows w on w.id = v.visit_window_id
      left join event_definitions e on e.id = v.event_definition_id`,
    study: 'k.study_id',
    date: utcDate('t.started_at'),
    order: 'p.participant_code, t.started_at, t.id',
    columns: [...fixed, ...columns, ...(columns.length > 0 ? [setAsideColumn] : []), ...sources],
  };
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** `task.metric`; a name that is too long or taken ends with a part of its hash. */
function nameOf({ task, metric }: WideMetric, taken: Set<string>): string {
  const whole = `${task}.${metric}`;
  const unlike = Buffer.byteLength(whole) > NAME_BYTES || taken.has(whole);
  const name = unlike
    ? `${cut(whole, NAME_BYTES - 9)}~${createHash('sha256')
        .update(JSON.stringify([task, metric]))
        .digest('hex')
        .slice(0, 8)}`
    : whole;
  taken.add(name);
  return name;
}

function cut(text: string, bytes: number): string {
  let kept = '';
  for (const character of text) {
    if (Buffer.byteLength(kept + character) > bytes) break;
    kept += character;
  }
  return kept;
}
