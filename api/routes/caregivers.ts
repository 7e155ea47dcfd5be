import { caregiverSorts, caregiversOf, listCaregivers } from '../../db/queries/caregivers.js';
import { staff } from '../access.js';
import { created, noContent, route } from '../route.js';
import {
  CareGiven,
  Caregiver,
  CaregiverChange,
  CaregiverOf,
  CaregiverStatus,
  NewCaregiver,
} from '../schemas/caregivers.js';
import { Paged, Type, listOf, paging, sorting, text } from '../schemas/common.js';
import {
  addCaregiver,
  assignCare,
  changeCaregiver,
  existingCaregiver,
  removeCaregiver,
  unassignCare,
} from '../services/caregivers.js';
import { existing } from '../services/participants.js';

const tag = 'Caregivers';
const may = staff.participants;
const one = '/api/studies/{study_id}/caregivers/{caregiver_id}';
const shared =
  'Who is assigned to sites reaches those who care for a participant there, or for nobody yet; one who cares for others too is 403 SITE_NOT_ASSIGNED.';

export const caregiverRoutes = [
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/caregivers',
    tag,
    summary: 'List the study’s caregivers',
    may,
    within: 'read',
    description: '`search` is found anywhere in name or email, taken literally and without regard to case.',
    query: Type.Object({
      ...paging,
      sort: sorting(...caregiverSorts),
      status: Type.Optional(CaregiverStatus),
      search: Type.Optional(text(200)),
    }),
    answers: { 200: listOf(Caregiver) },
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
    tag,
    summary: 'Add a caregiver',
    may,
    within: 'change',
    description: 'Who opens the portal for one or several participants of the study, as soon as it is said for whom.',
    body: NewCaregiver,
    answers: { 201: Caregiver },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await addCaregiver({ tx, audit, actor, context }, params.study_id, body)),
  }),
  route({
    method: 'GET',
    path: one,
    tag,
    summary: 'A caregiver',
    may,
    within: 'read',
    answers: { 200: Caregiver },
    handle: ({ tx, params }) => existingCaregiver(tx, params.study_id, params.caregiver_id),
  }),
  route({
    method: 'PATCH',
    path: one,
    tag,
    summary: 'Change a caregiver',
    may,
    within: 'change',
    description: `An inactive one is let in nowhere, also with a portal token that it has; one that is active again gets in by a new link alone. ${shared}`,
    body: CaregiverChange,
    answers: { 200: Caregiver },
    handle: ({ tx, audit, actor, context, params, body, unchangedSince }) =>
      changeCaregiver({ tx, audit, actor, context }, params.study_id, params.caregiver_id, body, unchangedSince),
  }),
  route({
    method: 'DELETE',
    path: one,
    tag,
    summary: 'Remove a caregiver',
    may,
    within: 'change',
    description: `What it did stays in the audit log under its id. ${shared}`,
    answers: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, unchangedSince }) => {
      await removeCaregiver({ tx, audit, actor, context }, params.study_id, params.caregiver_id, unchangedSince);
      return noContent();
    },
  }),
  route({
    method: 'PUT',
    path: `${one}/participants/{participant_id}`,
    tag,
    summary: 'Say that a caregiver cares for a participant',
    may,
    within: 'change',
    description: 'And what it is to it (`mother`, `guardian` …). The same again changes nothing.',
    body: CareGiven,
    answers: { 200: Caregiver, 409: undefined },
    handle: ({ tx, audit, actor, context, params, body, unchangedSince }) =>
      assignCare({ tx, audit, actor, context }, params, body.relationship, unchangedSince),
  }),
  route({
    method: 'DELETE',
    path: `${one}/participants/{participant_id}`,
    tag,
    summary: 'End the care for a participant',
    may,
    within: 'change',
    description:
      'At once: a portal token of the caregiver shows nothing of the participant any more, its devices get no messages about it.',
    answers: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, unchangedSince }) => {
      await unassignCare({ tx, audit, actor, context }, params, unchangedSince);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/participants/{participant_id}/caregivers',
    tag,
    summary: 'Who cares for a participant',
    may,
    within: 'read',
    query: Paged,
    answers: { 200: listOf(CaregiverOf) },
    handle: async ({ tx, params, query }) =>
      caregiversOf(tx, (await existing(tx, params.participant_id)).id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      }),
  }),
];
