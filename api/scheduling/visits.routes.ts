import { reportVersionOf } from '../../db/reports/version.queries.js';
import type { ReportVersion } from '../../db/reports/version.queries.js';
import { isOfStatus, listVisits, visitSorts } from '../../db/scheduling/visits.queries.js';
import { listWindows } from '../../db/scheduling/windows.queries.js';
import { inStudy, staff } from '../http/access.js';
import { created, noContent, route, IfMatch } from '../http/route.js';
import { SoughtCode, IsoDate, Type, Uuid, listOf, paging, sorting } from '../http/common.schemas.js';
import {
  ChangedVisitWindow,
  Completion,
  NewVisit,
  NewVisitWindow,
  Review,
  Visit,
  VisitChange,
  VisitStatus,
  VisitWindow,
  VisitWindowChange,
} from './schedules.schemas.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import { reviewVisit } from './visit-review.service.js';
import { changeVisit, completeVisit, getVisitOrThrow, scheduleVisit } from './visits.service.js';
import { changeWindow, createWindow, getWindowOrThrow, removeWindow } from './windows.service.js';

const regenerates =
  'Schedules of the study’s participants follow: what changes for a participant is a new schedule version.';

export const visitRoutes = [
  route({
    method: 'GET',
    path: '/api/schedules/windows',
    operationId: 'listVisitWindows',
    tag: 'Schedules',
    summary: 'List visit windows',
    description: 'The planned visits of a study, each with its target day and its days before and after.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('sort_order', 'target_day', 'code', 'created_at'),
      study_id: Type.Optional(Uuid),
    }),
    responses: { 200: listOf(VisitWindow) },
    handle: ({ tx, query, studyId }) =>
      listWindows(tx, { studyId, skip: query.skip ?? 0, limit: query.limit ?? 50, sort: query.sort ?? 'sort_order' }),
  }),
  route({
    method: 'POST',
    path: '/api/schedules/windows',
    operationId: 'createVisitWindow',
    tag: 'Schedules',
    summary: 'Add a visit window',
    description:
      `Plans a visit for every participant, on \`target_day\` after the enrollment date. A code that the study has ` +
      `already is 409 WINDOW_CODE_TAKEN. ${regenerates}`,
    access: inStudy('researcher'),
    transaction: 'change',
    body: NewVisitWindow,
    responses: { 201: ChangedVisitWindow },
    handle: async ({ tx, audit, actor, context, studyId, body }) => {
      const window = await createWindow({ tx, audit, actor, context }, studyId, body);
      return created(await withEarlierOverrides(tx, window.study_id, window));
    },
  }),
  route({
    method: 'GET',
    path: '/api/schedules/windows/{window_id}',
    operationId: 'getVisitWindow',
    tag: 'Schedules',
    summary: 'Get a visit window',
    description: 'A visit window by its id. 404 if it does not exist.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: VisitWindow },
    handle: ({ tx, params }) => getWindowOrThrow(tx, params.window_id),
  }),
  route({
    method: 'PATCH',
    path: '/api/schedules/windows/{window_id}',
    operationId: 'updateVisitWindow',
    tag: 'Schedules',
    summary: 'Change a visit window',
    description: `Only the fields that are given change. ${regenerates}`,
    access: inStudy('researcher'),
    transaction: 'change',
    body: VisitWindowChange,
    responses: { 200: ChangedVisitWindow },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeWindow({ tx, audit, actor, context }, params.window_id, body, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: '/api/schedules/windows/{window_id}',
    operationId: 'deleteVisitWindow',
    tag: 'Schedules',
    summary: 'Delete a visit window',
    access: inStudy('researcher'),
    transaction: 'change',
    description: `The visit is no longer planned. ${regenerates} Once a visit of it was completed, 409 WINDOW_IN_USE.`,
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeWindow({ tx, audit, actor, context }, params.window_id, assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/schedules/visits',
    operationId: 'listVisits',
    tag: 'Visits',
    summary: 'List visits',
    access: inStudy(),
    transaction: 'read',
    description:
      '`from` and `to` are target dates; all days are inclusive. What is due in a week: `window_open_to` its ' +
      'last day, `window_close_from` its first.',
    query: Type.Object({
      ...paging,
      sort: sorting(...visitSorts),
      study_id: Type.Optional(Uuid),
      participant_id: Type.Optional(Uuid),
      status: Type.Optional(VisitStatus),
      from: Type.Optional(IsoDate),
      to: Type.Optional(IsoDate),
      window_open_from: Type.Optional(IsoDate),
      window_open_to: Type.Optional(IsoDate),
      window_close_from: Type.Optional(IsoDate),
      window_close_to: Type.Optional(IsoDate),
      needs_review: Type.Optional(Type.Boolean()),
      participant_code: Type.Optional(SoughtCode),
      site_code: Type.Optional(SoughtCode),
    }),
    responses: { 200: listOf(Visit) },
    prefetch: ({ query, studyId }) =>
      studyId !== undefined && query.status !== undefined ? [reportVersionOf(studyId)] : [],
    handle: async ({ tx, prefetched: [versions], services, query, studyId }) => {
      const filter = {
        studyId,
        participantId: query.participant_id,
        status: query.status,
        target: { from: query.from, to: query.to },
        windowOpen: { from: query.window_open_from, to: query.window_open_to },
        windowClose: { from: query.window_close_from, to: query.window_close_to },
        needsReview: query.needs_review,
        participantCode: query.participant_code,
        siteCode: query.site_code,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'target_date',
      };
      const total =
        versions && isOfStatus(filter)
          ? await services.tallies.withStatus(tx, versions[0] as ReportVersion, filter.studyId, filter.status)
          : undefined;
      return listVisits(tx, filter, total);
    },
  }),
  route({
    method: 'POST',
    path: '/api/schedules/visits',
    operationId: 'createVisit',
    tag: 'Visits',
    summary: 'Schedule a visit manually',
    access: staff.participants,
    transaction: 'change',
    description:
      'With or without a window. It belongs to no schedule version: re-anchoring leaves it alone. The first ' +
      'visit that counts of a window is the window’s own: a schedule that is made later refers to it (`carried`) ' +
      'and does not plan the window once more, unless it was missed on other days than the window’s. For a ' +
      'withdrawn participant 409 PARTICIPANT_WITHDRAWN.',
    body: NewVisit,
    responses: { 201: Visit },
    handle: async ({ tx, audit, actor, context, body }) =>
      created(await scheduleVisit({ tx, audit, actor, context }, body)),
  }),
  route({
    method: 'GET',
    path: '/api/visits/{visit_id}',
    operationId: 'getVisit',
    tag: 'Visits',
    summary: 'Get a visit',
    description:
      'A visit with its window, its status and what it was moved by. 404 if it does not exist or out of reach.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Visit },
    handle: ({ tx, params }) => getVisitOrThrow(tx, params.visit_id),
  }),
  route({
    method: 'PATCH',
    path: '/api/visits/{visit_id}',
    operationId: 'updateVisit',
    tag: 'Visits',
    summary: 'Correct or cancel a visit',
    access: staff.participants,
    transaction: 'change',
    description:
      'A completed, superseded or cancelled visit keeps its values (409 VISIT_CLOSED); its mark for review may ' +
      'be taken back, and the `datacapture_event` of a completed one corrected with a `reason`: its results are ' +
      'pushed again. The schedule of a withdrawn participant is frozen: dates, window and status 409 ' +
      'PARTICIPANT_WITHDRAWN. A visit that is moved so stays where it was put, through later schedule versions, ' +
      'as long as the schedule has the days for it that it had then (`moved_from`); so does another name, ' +
      'battery or event, each for itself (`changed_from`).',
    body: VisitChange,
    responses: { 200: Visit },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeVisit({ tx, audit, actor, context }, params.visit_id, body, assertIfMatch),
  }),
  route({
    method: 'POST',
    path: '/api/visits/{visit_id}/complete',
    operationId: 'completeVisit',
    tag: 'Visits',
    summary: 'Complete a visit',
    access: staff.participants,
    transaction: 'change',
    description:
      'Marks a scheduled, open or missed visit as done at `completed_at` (default: now); its adherence says ' +
      'early, in window or late. One that is completed answers 200 again; superseded and cancelled ones 409 ' +
      'VISIT_CLOSED.',
    body: Completion,
    responses: { 200: Visit },
    handle: ({ tx, audit, actor, context, params, body }) =>
      completeVisit({ tx, audit, actor, context }, params.visit_id, body),
  }),
  route({
    method: 'POST',
    path: '/api/visits/{visit_id}/review',
    operationId: 'reviewVisit',
    tag: 'Visits',
    summary: 'Resolve the review of a visit',
    access: staff.participants,
    transaction: 'change',
    description:
      'Takes `needs_review` back. With `keep_target: false` the visit is reported against the target that it ' +
      'would have now; else it keeps the one that it has. 409 NOTHING_TO_REVIEW where nothing waits.',
    body: Review,
    headers: IfMatch,
    responses: { 200: Visit, 400: undefined },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      reviewVisit({ tx, audit, actor, context }, params.visit_id, body, assertIfMatch),
  }),
];
