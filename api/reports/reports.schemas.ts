import { ParticipantStatus } from '../participants/participants.schemas.js';
import { Anchor } from '../anchor/anchor.schemas.js';
import {
  SoughtCode,
  Instant,
  IsoDate,
  Json,
  Type,
  Uuid,
  nullable,
  oneOf,
  paging,
  text,
  named,
  record,
} from '../http/common.schemas.js';
import { VisitStatus } from '../scheduling/schedules.schemas.js';
import { SessionSource, SummarySource } from '../assessment/sessions/sessions.schemas.js';

export const reportFilters = {
  from: Type.Optional({
    ...IsoDate,
    description:
      'first day: of participants by enrollment_date, of sessions by their start (UTC), of visits by target_date',
    'x-parameter': 'FirstDay',
  }),
  to: Type.Optional({ ...IsoDate, description: 'last day, inclusive', 'x-parameter': 'LastDay' }),
  site_code: Type.Optional({ ...SoughtCode, description: 'participants of this site', 'x-parameter': 'SiteCode' }),
  arm: Type.Optional({ ...text(100, 1), 'x-nfc': true, description: 'participants of this arm', 'x-parameter': 'Arm' }),
};
export const ReportQuery = Type.Object(reportFilters);
export const TotalsReportQuery = Type.Object({ ...reportFilters, study_id: Type.Optional(Uuid) });
export const SitesReportQuery = Type.Object({ ...reportFilters, ...paging });
const Adherence = named('Adherence', oneOf('early', 'in_window', 'late', 'missed', 'pending', 'cancelled'));
export const VisitReportQuery = Type.Object({ ...reportFilters, ...paging, adherence: Type.Optional(Adherence) });
export const PersonReportQuery = Type.Object({ from: reportFilters.from, to: reportFilters.to });

/** The head of every report: its time and its filter. */
const head = {
  generated_at: Instant,
  filters: record('ReportFilters', {
    from: nullable(IsoDate),
    to: nullable(IsoDate),
    site_code: nullable(Type.String()),
    arm: nullable(Type.String()),
  }),
};
const N = Type.Integer({ minimum: 0 });
const Rate = nullable(Type.Number({ minimum: 0, maximum: 1, description: 'null where nothing is due' }));

export const TotalsReport = record('TotalsReport', { ...head, studies: N, participants: N, sessions: N, visits: N });
export const SummaryReport = record('SummaryReport', {
  ...head,
  participants: Type.Object({ total: N, enrolled: N, withdrawn: N }),
  sessions: Type.Object({ total: N, completed: N, expired: N }),
  visits: Type.Object({ total: N, scheduled: N, open: N, completed: N, missed: N, superseded: N, cancelled: N }),
  anchors: Type.Object({ unset: N, provisional: N, finalized: N, overridden: N }),
  adherence: Type.Object({ due: N, completed_in_window: N, rate: Rate }),
});
export const EnrollmentReport = record('EnrollmentReport', {
  ...head,
  total: N,
  without_date: N,
  by_month: Type.Array(
    Type.Object({ month: Type.String({ pattern: '^\\d{4,}-\\d{2}$' }), enrolled: N, cumulative: N }),
  ),
  by_site: Type.Array(Type.Object({ site_code: nullable(Type.String()), enrolled: N })),
});
export const CompletionReport = record('CompletionReport', {
  ...head,
  by_window: Type.Array(
    Type.Object({
      code: nullable(Type.String()),
      name: Type.String(),
      due: N,
      completed: N,
      in_window: N,
      late: N,
      missed: N,
      rate: Rate,
    }),
  ),
});
const Distribution = record('MetricDistribution', {
  n: N,
  excluded: Type.Integer({
    description: 'values that no test yields (absolute value above 10¹²): kept, exported, and in no other figure here',
  }),
  mean: nullable(Type.Number({ description: 'null, as all below: there is no value that counts' })),
  sd: nullable(Type.Number()),
  median: nullable(Type.Number()),
  p25: nullable(Type.Number()),
  p75: nullable(Type.Number()),
  min: nullable(Type.Number()),
  max: nullable(Type.Number()),
});
export const ModulesReport = record('ModulesReport', {
  ...head,
  by_task: Type.Array(
    Type.Object({ task: Type.String(), sessions: N, metrics: Type.Record(Type.String(), Distribution) }),
  ),
});
export const SitesReport = record('SitesReport', {
  ...head,
  total: N,
  items: Type.Array(
    Type.Object({
      site_code: nullable(Type.String()),
      participants: N,
      sessions: N,
      visits_completed: N,
      visits_missed: N,
    }),
  ),
});
const ReportedVisit = record('ReportedVisit', {
  id: Uuid,
  participant_id: Uuid,
  participant_code: Type.String(),
  site_code: nullable(Type.String()),
  arm: nullable(Type.String()),
  window_code: nullable(Type.String()),
  name: Type.String(),
  target_date: IsoDate,
  window_open: IsoDate,
  window_close: IsoDate,
  status: VisitStatus,
  completed_at: nullable(Instant),
  adherence: Adherence,
  days_off_target: nullable(Type.Integer({ description: 'of a completed visit; negative: before the target' })),
});
export const VisitsReport = record('VisitsReport', { ...head, items: Type.Array(ReportedVisit), total: N });

const ReportedSession = record('ReportedSession', {
  id: Uuid,
  visit_id: nullable(Uuid),
  battery_id: nullable(Type.Integer()),
  battery_version: nullable(Type.Integer()),
  language: nullable(Type.String()),
  status: Type.String(),
  source: SessionSource,
  started_at: Instant,
  completed_at: nullable(Instant),
  task_summaries: Type.Record(Type.String(), Json),
  summary_sources: Type.Record(Type.String(), SummarySource),
  trial_count: N,
});
export const ParticipantReport = record('ParticipantReport', {
  ...head,
  identity: Type.Object({
    id: Uuid,
    study_id: Uuid,
    participant_code: Type.String(),
    external_id: nullable(Type.String()),
    site_code: nullable(Type.String()),
    arm: nullable(Type.String()),
    status: ParticipantStatus,
    preferred_language: nullable(Type.String()),
    enrollment_date: nullable(IsoDate),
    withdrawn_at: nullable(Instant),
    created_at: Instant,
  }),
  anchor: Anchor,
  schedule: nullable(Json),
  visits: Type.Array(ReportedVisit),
  sessions: Type.Array(ReportedSession),
  metrics: Type.Array(
    Type.Object({
      task: Type.String(),
      metric: Type.String(),
      points: Type.Array(Type.Object({ session_id: Uuid, at: Instant, value: Type.Number() })),
    }),
  ),
});
