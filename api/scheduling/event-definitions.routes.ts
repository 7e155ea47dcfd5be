import { listEventDefinitions, listEventInstances } from '../../db/scheduling/event-definitions.queries.js';
import { inStudy, staff } from '../http/access.js';
import { created, noContent, route } from '../http/route.js';
import { Type, Uuid, listOf, paging, sorting } from '../http/common.schemas.js';
import {
  ChangedEventDefinition,
  EventDefinition,
  EventDefinitionChange,
  EventInstance,
  NewEventDefinition,
} from './edc.schemas.js';
import { VisitStatus } from './schedules.schemas.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import {
  changeEventDefinition,
  createEventDefinition,
  getEventDefinitionOrThrow,
  removeEventDefinition,
} from './event-definitions.service.js';

const tag = 'Event definitions';
const regenerates =
  'In scheduling mode `edc` schedules follow in the background: what changes for a participant is a new schedule ' +
  'version.';

export const eventDefinitionRoutes = [
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/event-definitions',
    operationId: 'listEventDefinitions',
    tag,
    summary: 'List event definitions',
    description: 'The events of the study in the scheduling mode `edc`, by target day.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ ...paging, sort: sorting('sort_order', 'target_day', 'event_oid', 'created_at') }),
    responses: { 200: listOf(EventDefinition) },
    handle: ({ tx, params, query }) =>
      listEventDefinitions(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'sort_order',
      }),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/event-definitions',
    operationId: 'createEventDefinition',
    tag,
    summary: 'Create an event definition',
    access: staff.configure,
    transaction: 'change',
    description: `A repeating event comes \`count\` times, the first on \`target_day\`. ${regenerates}`,
    body: NewEventDefinition,
    responses: { 201: ChangedEventDefinition },
    handle: async ({ tx, audit, actor, context, params, body }) => {
      const event = await createEventDefinition({ tx, audit, actor, context }, params.study_id, body);
      return created(await withEarlierOverrides(tx, event.study_id, event));
    },
  }),
  route({
    method: 'GET',
    path: '/api/event-definitions/{event_definition_id}',
    operationId: 'getEventDefinition',
    tag,
    summary: 'Get an event definition',
    description: 'An event of the study in the scheduling mode `edc`. 404 if it does not exist.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: EventDefinition },
    handle: ({ tx, params }) => getEventDefinitionOrThrow(tx, params.event_definition_id),
  }),
  route({
    method: 'PATCH',
    path: '/api/event-definitions/{event_definition_id}',
    operationId: 'updateEventDefinition',
    tag,
    summary: 'Change an event definition',
    description:
      'Only the fields that are given change. An `event_oid` that the study has already is 409 ' +
      `EVENT_OID_TAKEN. ${regenerates}`,
    access: staff.configure,
    transaction: 'change',
    body: EventDefinitionChange,
    responses: { 200: ChangedEventDefinition },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeEventDefinition({ tx, audit, actor, context }, params.event_definition_id, body, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: '/api/event-definitions/{event_definition_id}',
    operationId: 'deleteEventDefinition',
    tag,
    summary: 'Delete an event definition without completed instances',
    description: `An event with a completed instance stays: 409 EVENT_IN_USE. ${regenerates}`,
    access: staff.configure,
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeEventDefinition({ tx, audit, actor, context }, params.event_definition_id, assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/participants/{participant_id}/event-instances',
    operationId: 'listEventInstances',
    tag,
    summary: 'List a participant’s event instances',
    access: inStudy(),
    transaction: 'read',
    description:
      'Of all schedule versions; `status` and `schedule_version_id` narrow them. Each is a scheduled visit as ' +
      'well, under the same id.',
    query: Type.Object({
      ...paging,
      sort: sorting('target_date', 'event_oid', 'status'),
      status: Type.Optional(VisitStatus),
      schedule_version_id: Type.Optional(Uuid),
    }),
    responses: { 200: listOf(EventInstance) },
    handle: ({ tx, params, query }) =>
      listEventInstances(tx, params.participant_id, {
        status: query.status,
        versionId: query.schedule_version_id,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'target_date',
      }),
  }),
];
