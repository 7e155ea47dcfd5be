import { listVersions } from '../../db/scheduling/schedule-versions.queries.js';
import { inStudy } from '../http/access.js';
import { route, withContentTag, response } from '../http/route.js';
import { IsoDate, Type, Uuid, nullable, oneOf, record, extended, Json } from '../http/common.schemas.js';
import { versionDiff, versionWithVisits } from './schedule-versions.service.js';
import { scheduleAsOf } from './as-of.service.js';
import { AsOf } from '../participants/as-of.schemas.js';
import { asOf } from '../participants/as-of.schemas.js';
import { VersionSummary } from './schedule-versions.schemas.js';

const path = '/api/studies/{study_id}/participants/{participant_id}';
const Visit = record('ScheduleVersionVisit', {
  id: Uuid,
  visit_key: Uuid,
  name: Type.String(),
  target_date: IsoDate,
  window_open: IsoDate,
  window_close: IsoDate,
  status: Type.String(),
  carried: Type.Boolean(),
});
const VersionWithVisits = extended('ScheduleVersion', VersionSummary, {
  participant_id: Uuid,
  study_id: Uuid,
  superseded_by_id: nullable(Uuid),
  scheduling_settings: Json,
  visits: Type.Array(Visit),
});
const Schedule = record('Schedule', {
  participant_id: Uuid,
  schedule_version: nullable(VersionSummary),
  visits: Type.Array(Visit),
});
const Diff = record('ScheduleVersionDiff', {
  from: Uuid,
  to: Uuid,
  visits: Type.Array(
    Type.Object({
      visit_key: Uuid,
      name: Type.String(),
      change: oneOf('moved', 'unchanged', 'added', 'removed'),
      from: nullable(IsoDate),
      to: nullable(IsoDate),
    }),
  ),
});

export const scheduleVersionRoutes = [
  route({
    method: 'GET',
    path: `${path}/schedule`,
    operationId: 'getSchedule',
    tag: 'Schedules',
    summary: 'Get the schedule, current or as of an instant',
    access: inStudy(),
    transaction: 'read',
    description: `${asOf} With \`as_of\` each visit has the status and the dates that it had then.`,
    query: AsOf,
    responses: {
      400: undefined,
      200: Schedule,
    },
    handle: ({ tx, params, query }) => scheduleAsOf(tx, params.participant_id, query.as_of),
  }),
  route({
    method: 'GET',
    path: `${path}/schedule-versions`,
    operationId: 'listScheduleVersions',
    tag: 'Schedules',
    summary: 'List schedule versions',
    description: 'Each version with the date that it was made from, newest last; one at most is current.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Type.Array(VersionSummary) },
    handle: ({ tx, params }) => listVersions(tx, params.participant_id),
  }),
  route({
    method: 'GET',
    path: `${path}/schedule-versions/{version_id}`,
    operationId: 'getScheduleVersion',
    tag: 'Schedules',
    summary: 'Get a schedule version with its visits',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: response(VersionWithVisits, { etag: true }) },
    description:
      'A completed visit stays the one row that it is on its older version; the newer ones refer to it ' +
      '(`carried: true`), as to a visit that was scheduled by hand for a window.',
    handle: async ({ tx, params }) =>
      withContentTag(await versionWithVisits(tx, params.participant_id, params.version_id)),
  }),
  route({
    method: 'GET',
    path: `${path}/schedule-versions/{a_id}/diff/{b_id}`,
    operationId: 'compareScheduleVersions',
    tag: 'Schedules',
    summary: 'Compare two schedule versions',
    description:
      'Each visit of the two versions: moved, unchanged, added or removed. 404 if one of them does not exist.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Diff },
    handle: ({ tx, params }) => versionDiff(tx, params.participant_id, params.a_id, params.b_id),
  }),
];
