import { exporterAccess } from '../http/access.js';
import { response, route } from '../http/route.js';
import { exportFhir, exportOdm } from './standards.service.js';

const tag = 'Exports';

export const standardRoutes = [
  route({
    method: 'GET',
    path: '/api/exports/studies/{study_id}/odm',
    operationId: 'exportOdm',
    tag,
    summary: 'Export a study as CDISC ODM 1.3.2',
    access: exporterAccess,
    responses: { 200: response(undefined, { mediaTypes: ['application/xml'] }) },
    description:
      'XML of one moment, streamed: the plan (events, forms, items, code lists), the sites, and the data of ' +
      'every participant. Visits are events of their window, tasks and forms are forms; what belongs to no ' +
      'visit is in the event `SE.COMMON`. ' +
      'Participants appear by their codes, without name, address or birthday; superseded visits and raw trials ' +
      'are left out.',
    handle: ({ services, actor, context, studyId, siteId, params, disconnected }) =>
      exportOdm({ services, actor, context, studyId, siteId, gone: disconnected() }, params.study_id),
  }),
  route({
    method: 'GET',
    path: '/api/exports/studies/{study_id}/participants/{participant_id}/fhir',
    operationId: 'exportFhir',
    tag,
    summary: 'Export a participant as a FHIR R4 bundle',
    access: exporterAccess,
    transaction: 'change',
    responses: { 200: response(undefined, { mediaTypes: ['application/fhir+json'] }) },
    description:
      '`application/fhir+json`, a collection of ResearchStudy, Patient (the code alone), ResearchSubject, a ' +
      'Consent each, and an Observation for each task of each session with its metrics as components.',
    handle: ({ tx, audit, actor, context, services, params }) =>
      exportFhir({ tx, audit, actor, context }, services.settings, params.study_id, params.participant_id),
  }),
];
