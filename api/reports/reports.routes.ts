import type { ReportScope, ReportFilter } from '../../db/reports/base.queries.js';
import * as study from '../../db/reports/study.queries.js';
import { participantStatements } from '../../db/reports/participant.queries.js';
import { reportVersionOf } from '../../db/reports/version.queries.js';
import type { ReportVersion } from '../../db/reports/version.queries.js';
import { reportedVisits } from '../../db/reports/visits.queries.js';
import { inStudy } from '../http/access.js';
import { auditActor } from '../http/audit-actor.js';
import { route } from '../http/route.js';
import { pageOf } from '../http/common.schemas.js';
import {
  CompletionReport,
  EnrollmentReport,
  ModulesReport,
  ParticipantReport,
  PersonReportQuery,
  ReportQuery,
  SitesReport,
  SitesReportQuery,
  SummaryReport,
  TotalsReport,
  TotalsReportQuery,
  VisitReportQuery,
  VisitsReport,
} from './reports.schemas.js';
import type { Dependencies } from '../dependencies.js';
import { reportFilter, participantReport, report } from './reports.service.js';
import type { Tx } from '../../db/client/database.js';

const tag = 'Reports';
const counts = { method: 'GET', tag, access: inStudy(), transaction: 'read', query: ReportQuery } as const;
const ofStudy = '/api/reports/studies/{study_id}';
/** A cached report is checked against the study's version, which is read as the transaction opens. */
const keptCounts = {
  ...counts,
  prefetch: ({ params }: { params: { study_id: string } }) => [reportVersionOf(params.study_id)],
} as const;
const judged =
  'A visit is due when it is completed or its window has closed on the participant’s own calendar; superseded ' +
  'and cancelled ones never are. Withdrawn participants’ visits count.';

/** A study's report, cached or computed now (see document/cache.ts). */
async function kept<T extends object>(
  {
    tx,
    prefetched: [versions],
    services,
    params,
    query,
  }: { tx: Tx; prefetched: unknown[][]; services: Dependencies; params: { study_id: string }; query: ReportFilter },
  name: string,
  compute: (tx: Tx, asked: ReportScope, tally: () => Promise<study.KeptTally | undefined>) => Promise<T>,
) {
  const question = { ...reportFilter(params.study_id, query), study: params.study_id };
  const version = versions![0] as ReportVersion;
  const tally = () => services.tallies.of(tx, version, question);
  return report(query, await services.reports.answer(version, name, question, () => compute(tx, question, tally)));
}

export const reportRoutes = [
  route({
    ...counts,
    transaction: 'once',
    query: TotalsReportQuery,
    path: '/api/reports/summary',
    operationId: 'getReportsSummary',
    summary: 'Report a summary across accessible studies',
    description: 'Counts of studies, participants, sessions and visits in all studies that the caller sees.',
    responses: { 200: TotalsReport, 400: undefined },
    prefetch: ({ query, studyId }) => [study.totals({ study: studyId ?? null, ...query })],
    handle: ({ prefetched: [rows], query, studyId }) => {
      reportFilter(studyId, query);
      return report(query, rows![0] as study.Totals);
    },
  }),
  route({
    ...keptCounts,
    path: `${ofStudy}/summary`,
    operationId: 'getStudySummary',
    summary: 'Report a study’s summary',
    responses: { 200: SummaryReport, 400: undefined },
    description:
      'Visits, sessions and anchors by their status. `overridden` anchors are among the finalized. `rate` is ' +
      `the share of due visits that were completed inside their window. ${judged}`,
    handle: (request) =>
      kept(request, 'summary', async (tx, question, tally) => study.studySummary(tx, question, await tally())),
  }),
  route({
    ...keptCounts,
    path: `${ofStudy}/enrollment`,
    operationId: 'getEnrollmentReport',
    summary: 'Report enrollment by month and site',
    responses: { 200: EnrollmentReport, 400: undefined },
    description:
      'The month is that of `enrollment_date`; `total` is of all participants, those without a date ' +
      '(`without_date`) are in no month.',
    handle: (request) => kept(request, 'enrollment', study.enrollment),
  }),
  route({
    ...keptCounts,
    path: `${ofStudy}/completion`,
    operationId: 'getCompletionReport',
    summary: 'Report visit completion by window',
    responses: { 200: CompletionReport, 400: undefined },
    description:
      `\`rate\` is completed of due; \`missed\` is due and not completed. ${judged} Visits of no window are ` +
      'last, with `code` null.',
    handle: (request) =>
      kept(request, 'completion', async (tx, question, tally) => ({
        by_window: await study.completion(tx, question, await tally()),
      })),
  }),
  route({
    ...keptCounts,
    path: `${ofStudy}/modules`,
    operationId: 'getModulesReport',
    summary: 'Report the distribution of task metrics',
    responses: { 200: ModulesReport, 400: undefined },
    description: 'Of the task summaries of all sessions. `sd` is the sample’s; percentiles are interpolated.',
    handle: (request) =>
      kept(request, 'modules', async (tx, question) => ({ by_task: await study.modules(tx, question) })),
  }),
  route({
    ...keptCounts,
    path: `${ofStudy}/sites`,
    operationId: 'getSitesReport',
    summary: 'Report sites side by side',
    query: SitesReportQuery,
    responses: { 200: SitesReport, 400: undefined },
    description:
      'Sessions and visits count for their participant’s site; participants without one are last, with ' +
      '`site_code` null.',
    handle: async (request) => {
      const { skip, limit, ...filter } = request.query;
      const all = { ...request, query: filter };
      const { items, ...head } = await kept(all, 'sites', async (tx, question) => ({
        items: await study.sites(tx, question),
      }));
      return { ...head, ...pageOf(items, { skip, limit }) };
    },
  }),
  route({
    method: 'GET',
    path: `${ofStudy}/visits`,
    operationId: 'getVisitsReport',
    tag,
    summary: 'Report visits with adherence and days off target',
    access: inStudy(),
    transaction: 'change',
    query: VisitReportQuery,
    responses: { 200: VisitsReport, 400: undefined },
    description: `By target date; superseded rows are left out. Reading it is recorded in the audit log. ${judged}`,
    handle: async ({ tx, audit, actor, context, params, query }) => {
      const { skip = 0, limit = 50, adherence, ...filter } = query;
      const found = await reportedVisits(tx, reportFilter(params.study_id, filter), { skip, limit, adherence });
      audit.record({
        ...auditActor(actor, context),
        study_id: params.study_id,
        action: 'report_read',
        resource_type: 'report',
        resource_id: 'visits',
        metadata: { rows: found.items.length },
      });
      return report(filter, found);
    },
  }),
  route({
    method: 'GET',
    path: '/api/reports/participants/{participant_id}',
    operationId: 'getParticipantReport',
    tag,
    summary: 'Get the report of a participant',
    access: inStudy(),
    transaction: 'change',
    description: 'Codes only, no name or address. Reading it is recorded in the audit log.',
    query: PersonReportQuery,
    responses: { 200: ParticipantReport, 400: undefined },
    prefetch: ({ params, query }) => participantStatements(params.participant_id, query),
    handle: ({ prefetched, audit, actor, context, params, query }) => {
      const found = participantReport(prefetched, query);
      audit.record({
        ...auditActor(actor, context),
        study_id: found.identity.study_id,
        action: 'report_read',
        resource_type: 'participant',
        resource_id: params.participant_id,
        metadata: { report: 'participant' },
      });
      return report(query, found);
    },
  }),
];
