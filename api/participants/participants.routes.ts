import { participantSorts, participantsPage } from '../../db/participants/participants.queries.js';
import { inStudy, staff } from '../http/access.js';
import { created, noContent, route } from '../http/route.js';
import { SoughtCode, Type, Uuid, listOf, paging, sorting, text } from '../http/common.schemas.js';
import {
  NewParticipant,
  Participant,
  ParticipantChange,
  ParticipantStatus,
  Reinstatement,
  Withdrawal,
} from './participants.schemas.js';
import {
  changeParticipant,
  enrollParticipant,
  getParticipantOrThrow,
  reinstateWithdrawn,
  removeParticipant,
  withdraw,
} from './participants.service.js';

const filters = Type.Object({
  ...paging,
  sort: sorting(...participantSorts),
  status: Type.Optional(ParticipantStatus),
  search: Type.Optional({ ...text(200), 'x-nfc': true }),
  site_code: Type.Optional(SoughtCode),
});
const filtersOfAll = Type.Object({ ...filters.properties, study_id: Type.Optional(Uuid) });
const list = (
  path: '/api/participants' | '/api/studies/{study_id}/participants',
  operationId: string,
  summary: string,
) =>
  route({
    method: 'GET',
    path,
    operationId,
    tag: 'Participants',
    summary,
    access: inStudy(),
    description:
      '`search` is found anywhere in participant_code, external_id or email, taken literally and without regard ' +
      'to case.',
    query: path === '/api/participants' ? filtersOfAll : filters,
    responses: { 200: listOf(Participant) },
    transaction: 'list',
    prefetch: ({ query, studyId }) => [
      participantsPage({
        studyId,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'created_at',
        status: query.status,
        search: query.search || undefined,
        siteCode: query.site_code,
      }),
    ],
    handle: ({ prefetched: [page] }) => page![0],
  });

export const participantRoutes = [
  list('/api/studies/{study_id}/participants', 'listStudyParticipants', 'List the study’s participants'),
  list('/api/participants', 'listParticipants', 'List participants of one study or of all accessible studies'),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/participants',
    operationId: 'createParticipant',
    tag: 'Participants',
    summary: 'Enroll a participant',
    access: staff.participants,
    transaction: 'change',
    description:
      'Makes the participant and its anchor date (`unset`, version 1), which is decided once a source gives one: ' +
      'enrollment_date is not writable here. A code or `external_id` that the study has already is 409; so is ' +
      'STUDY_CLOSED, where the study is completed or archived, and SITE_CLOSED, where the site is inactive.',
    body: NewParticipant,
    responses: { 201: Participant },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await enrollParticipant({ tx, audit, actor, context }, params.study_id, body)),
  }),
  route({
    method: 'GET',
    path: '/api/participants/{participant_id}',
    operationId: 'getParticipant',
    tag: 'Participants',
    summary: 'Get a participant',
    description: 'A participant by its id. 404 if it does not exist or out of reach.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Participant },
    handle: ({ tx, params }) => getParticipantOrThrow(tx, params.participant_id),
  }),
  route({
    method: 'PATCH',
    path: '/api/participants/{participant_id}',
    operationId: 'updateParticipant',
    tag: 'Participants',
    summary: 'Change a participant',
    access: staff.participants,
    transaction: 'change',
    description:
      'Only the fields that are given change; a code or `external_id` of another participant is 409. Of an ' +
      'erased participant email, phone, date_of_birth and participant_code stay as they are: another value is ' +
      '409 PARTICIPANT_ERASED.',
    body: ParticipantChange,
    responses: { 200: Participant },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeParticipant({ tx, audit, actor, context }, params.participant_id, body, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: '/api/participants/{participant_id}',
    operationId: 'deleteParticipant',
    tag: 'Participants',
    summary: 'Delete a participant without data',
    access: staff.participants,
    transaction: 'change',
    description:
      'For one that was entered by mistake. A participant for whom anything was recorded is 409 ' +
      'PARTICIPANT_HAS_DATA: withdraw instead.',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeParticipant({ tx, audit, actor, context }, params.participant_id, assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'POST',
    path: '/api/participants/{participant_id}/withdraw',
    operationId: 'withdrawParticipant',
    tag: 'Participants',
    summary: 'Withdraw a participant',
    access: staff.participants,
    transaction: 'change',
    description:
      'Keeps the enrollment date and freezes the schedule: nothing is planned or reminded of. ' +
      '`withdrawn_at` (default: now) may not be ahead (400). A second withdrawal is 409 PARTICIPANT_WITHDRAWN.',
    body: Withdrawal,
    responses: { 200: Participant },
    handle: ({ tx, audit, actor, context, params, body }) =>
      withdraw({ tx, audit, actor, context }, params.participant_id, body),
  }),
  route({
    method: 'POST',
    path: '/api/participants/{participant_id}/reinstate',
    operationId: 'reinstateParticipant',
    tag: 'Participants',
    summary: 'Reinstate a withdrawn participant',
    access: staff.participants,
    transaction: 'change',
    description:
      'For a withdrawal by mistake. The enrollment date is evaluated again, the schedule continues as a new ' +
      'version, and reminders of future visits are planned. A participant who has not withdrawn is 409 ' +
      'NOT_WITHDRAWN, one whose identity was erased 409 PARTICIPANT_ERASED.',
    body: Reinstatement,
    responses: { 200: Participant },
    handle: ({ tx, audit, actor, context, params, body }) =>
      reinstateWithdrawn({ tx, audit, actor, context }, params.participant_id, body),
  }),
];
