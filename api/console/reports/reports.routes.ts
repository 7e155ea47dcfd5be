import { h } from 'preact';
import { pictureThemes } from '../../../activities/html/picture-theme.js';
import { studyHead } from '../../../db/reports/document.queries.js';
import { reportVersionOf } from '../../../db/reports/version.queries.js';
import type { ReportVersion } from '../../../db/reports/version.queries.js';
import { listStudies } from '../../../db/studies/studies.queries.js';
import { plot, studyParts } from '../../reports/report-documents.service.js';
import { reportFilters } from '../../reports/reports.schemas.js';
import { reportFilter } from '../../reports/reports.service.js';
import { inStudy } from '../../http/access.js';
import { Type, oneOf } from '../../http/common.schemas.js';
import { problem } from '../../http/errors.js';
import { consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { documentPages } from './documents.routes.js';
import { REPORTS } from './paths.js';
import { ReportPage } from './report.page.js';
import { ReportStudiesPage, STUDIES } from './studies.page.js';

const ofStudy = `${REPORTS}/{study_id}` as const;

export const reportPages = [
  consolePage({
    path: REPORTS,
    summary: 'Show the studies whose reports can be read',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })) }),
    view: async ({ tx, query: { skip = 0 }, ui }) => {
      const { items, total } = await listStudies(tx, { skip, limit: STUDIES, sort: 'study_code' });
      if (total === 1 && items[0]) return redirect(`${REPORTS}/${items[0].id}`);
      return { title: ui.words.reports.title, content: h(ReportStudiesPage, { items, total, skip }) };
    },
  }),
  consolePage({
    path: ofStudy,
    summary: 'Show the report of a study',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object(reportFilters),
    prefetch: ({ params }) => [reportVersionOf(params.study_id)],
    view: async ({ tx, services, params: { study_id }, query, prefetched }) => {
      const question = { ...reportFilter(study_id, query), study: study_id };
      const study = await studyHead(tx, study_id);
      if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
      const version = prefetched[0]![0] as ReportVersion;
      const data = { study, ...(await studyParts(services, tx, version, question)) };
      return { title: study.study_code, content: h(ReportPage, { data, asked: query }) };
    },
  }),
  consolePage({
    path: `${ofStudy}/plots/{plot}`,
    summary: 'Get a plot of a study’s report for the console',
    access: inStudy(),
    query: Type.Object({
      ...reportFilters,
      language: Type.Optional(oneOf('en', 'de')),
      theme: Type.Optional(oneOf(...pictureThemes)),
    }),
    view: ({ services, actor, context, params, query }) =>
      plot({ services, actor, context, query, studyId: params.study_id, siteId: undefined }, params.plot, undefined),
  }),
  ...documentPages,
];
