import { pictureThemes } from '../../activities/html/picture-theme.js';
import { inStudy } from '../http/access.js';
import { route, response } from '../http/route.js';
import { Type, Uuid, oneOf } from '../http/common.schemas.js';
import { studyPlots } from './document/data.js';
import { reportFilters } from './reports.schemas.js';
import { participantPdf, plot, sessionPdf, studyPdf } from './report-documents.service.js';

const tag = 'Reports';
const theme = {
  theme: Type.Optional({ ...oneOf(...pictureThemes), description: 'default `auto`: as the reader’s screen' }),
};
const language = { language: Type.Optional(oneOf('en', 'de')) };
const printing = {
  page_size: Type.Optional(
    Type.Unsafe<'letter' | 'a4'>({ type: 'string', enum: ['letter', 'a4'], default: 'letter', 'x-any-case': true }),
  ),
  ...language,
};
const ofStudy = '/api/reports/studies/{study_id}';
const common = { method: 'GET', tag, access: inStudy() } as const;
const printed =
  'A tagged PDF with cover, contents and page numbers; every page names the SHA-256 of its data and the audit ' +
  'head. Participants appear by their codes. Printing it is recorded in the audit log. 503 where no browser ' +
  'can print it now.';

export const reportDocumentRoutes = [
  route({
    ...common,
    path: `${ofStudy}/pdf/summary`,
    operationId: 'getStudyReportPdf',
    summary: 'Get the study’s report as PDF',
    description: printed,
    query: Type.Object({ ...printing, ...reportFilters }),
    responses: { 200: response(undefined, { mediaTypes: ['application/pdf'] }), 400: undefined },
    handle: ({ services, actor, context, params, siteId, query }) =>
      studyPdf({ services, actor, context, query, studyId: params.study_id, siteId }),
  }),
  route({
    ...common,
    path: `${ofStudy}/participants/{participant_id}/pdf`,
    operationId: 'getParticipantReportPdf',
    summary: 'Get a participant’s report as PDF',
    description: printed,
    query: Type.Object({ ...printing, from: reportFilters.from, to: reportFilters.to }),
    responses: { 200: response(undefined, { mediaTypes: ['application/pdf'] }), 400: undefined },
    handle: ({ services, actor, context, params, siteId, query }) =>
      participantPdf({ services, actor, context, query, studyId: params.study_id, siteId }, params.participant_id),
  }),
  route({
    ...common,
    path: `${ofStudy}/sessions/{session_id}/pdf`,
    operationId: 'getSessionReportPdf',
    summary: 'Get a session’s report as PDF',
    description: printed,
    query: Type.Object(printing),
    responses: { 200: response(undefined, { mediaTypes: ['application/pdf'] }), 400: undefined },
    handle: ({ services, actor, context, params, siteId, query }) =>
      sessionPdf({ services, actor, context, query, studyId: params.study_id, siteId }, params.session_id),
  }),
  route({
    ...common,
    path: `${ofStudy}/plots/{plot}`,
    operationId: 'getStudyPlot',
    summary: 'Get a plot of the study as SVG',
    description:
      `\`plot\` is ${studyPlots.map((name) => `\`${name}.svg\``).join(', ')}, or \`course.svg\` of the ` +
      'participant that `participant_id` names.',
    query: Type.Object({ ...language, ...theme, ...reportFilters, participant_id: Type.Optional(Uuid) }),
    responses: { 200: response(undefined, { mediaTypes: ['image/svg+xml'] }), 400: undefined },
    handle: ({ services, actor, context, params, siteId, query: { participant_id, ...query } }) =>
      plot({ services, actor, context, query, studyId: params.study_id, siteId }, params.plot, participant_id),
  }),
];
