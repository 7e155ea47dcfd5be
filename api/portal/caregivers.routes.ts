import { caregiverSorts, caregiversOf, listCaregivers } from '../../db/portal/caregivers.queries.js';
import { staff } from '../http/access.js';
import { created, noContent, route } from '../http/route.js';
import {
  CareGiven,
  Caregiver,
  CaregiverChange,
  CaregiverOf,
  CaregiverStatus,
  NewCaregiver,
} from './caregivers.schemas.js';
import { Paged, Type, listOf, paging, sorting, text } from '../http/common.schemas.js';
import {
  addCaregiver,
  assignCare,
  changeCaregiver,
  getCaregiverOrThrow,
  removeCaregiver,
  unassignCare,
} from './caregivers.service.js';
import { getParticipantOrThrow } from '../participants/participants.service.js';

const tag = 'Caregivers';
const may = staff.participants;
const one = '/api/studies/{study_id}/caregivers/{caregiver_id}';
const shared =
  'Staff with assigned sites reach those who care for a participant there, or for nobody yet; one who cares ' +
  'for others too is 403 SITE_NOT_ASSIGNED.';

export const caregiverRoutes = [
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/caregivers',
    operationId: 'listCaregivers',
    tag,
    summary: 'List the study’s caregivers',
    access: may,
    transaction: 'read',
    description: '`search` is found anywhere in name or email, taken literally and without regard to case.',
    query: Type.Object({
      ...paging,
      sort: sorting(...caregiverSorts),
      status: Type.Optional(CaregiverStatus),
      search: Type.Optional(text(200)),
    }),
    responses: { 200: listOf(Caregiver) },
    handle: ({ tx, params, query }) =>
      listCaregivers(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'created_at',
        status: query.status,
        search: query.search || undefined,
      }),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/caregivers',
    operationId: 'createCaregiver',
    tag,
    summary: 'Add a caregiver',
    access: may,
    transaction: 'change',
    description: 'Adds a person who opens the portal for participants of the study, once they are assigned.',
    body: NewCaregiver,
    responses: { 201: Caregiver },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await addCaregiver({ tx, audit, actor, context }, params.study_id, body)),
  }),
  route({
    method: 'GET',
    path: one,
    operationId: 'getCaregiver',
    tag,
    summary: 'Get a caregiver',
    description: 'A caregiver with the participants that it cares for. 404 if it does not exist.',
    access: may,
    transaction: 'read',
    responses: { 200: Caregiver },
    handle: ({ tx, params }) => getCaregiverOrThrow(tx, params.study_id, params.caregiver_id),
  }),
  route({
    method: 'PATCH',
    path: one,
    operationId: 'updateCaregiver',
    tag,
    summary: 'Change a caregiver',
    access: may,
    transaction: 'change',
    description:
      'An inactive one is let in nowhere, also with a portal token that it has; one that is active again gets in ' +
      `by a new link alone. ${shared}`,
    body: CaregiverChange,
    responses: { 200: Caregiver },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeCaregiver({ tx, audit, actor, context }, params.study_id, params.caregiver_id, body, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: one,
    operationId: 'deleteCaregiver',
    tag,
    summary: 'Delete a caregiver',
    access: may,
    transaction: 'change',
    description: `Its actions stay in the audit log under its id. ${shared}`,
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeCaregiver({ tx, audit, actor, context }, params.study_id, params.caregiver_id, assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'PUT',
    path: `${one}/participants/{participant_id}`,
    operationId: 'assignCaregiver',
    tag,
    summary: 'Assign a caregiver',
    access: may,
    transaction: 'change',
    description:
      'The caregiver then opens the portal for the participant, as its `relationship` says (`mother`, ' +
      '`guardian` …). The same again changes nothing. For a withdrawn participant 409 PARTICIPANT_WITHDRAWN.',
    body: CareGiven,
    responses: { 200: Caregiver, 409: undefined },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      assignCare({ tx, audit, actor, context }, params, body.relationship, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: `${one}/participants/{participant_id}`,
    operationId: 'unassignCaregiver',
    tag,
    summary: 'Unassign a caregiver',
    access: may,
    transaction: 'change',
    description:
      'Takes effect at once: a portal token of the caregiver no longer shows the participant, and ' +
      'its devices get no messages about it.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await unassignCare({ tx, audit, actor, context }, params, assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/participants/{participant_id}/caregivers',
    operationId: 'listParticipantCaregivers',
    tag,
    summary: 'List a participant’s caregivers',
    description: 'Who opens the portal for the participant, and in which relationship.',
    access: may,
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(CaregiverOf) },
    handle: async ({ tx, params, query }) =>
      caregiversOf(tx, (await getParticipantOrThrow(tx, params.participant_id)).id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      }),
  }),
];
