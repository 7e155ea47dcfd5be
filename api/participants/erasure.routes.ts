import { nowIso } from '../../db/client/clock.js';
import { attachment } from '../http/conventions/file-names.js';
import { exportedParts } from '../../db/participants/erasure.queries.js';
import { inStudy } from '../http/access.js';
import { reply, route } from '../http/route.js';
import { Instant, Reason, Type, text, input, record, Json, Rows } from '../http/common.schemas.js';
import { Participant } from './participants.schemas.js';
import { dataExport, eraseParticipant } from './erasure.service.js';

const count = Type.Integer({ minimum: 0 });

export const erasureRoutes = [
  route({
    method: 'POST',
    path: '/api/participants/{participant_id}/erase',
    operationId: 'eraseParticipant',
    tag: 'Participants',
    summary: 'Erase a participant’s identifying data',
    access: inStudy('admin'),
    transaction: 'change',
    description:
      'Removes email, phone, date_of_birth, form items that identify (by their usual names, by the capture ' +
      'system’s mapping, and those in `form_items`; also where decisions quote them), device ids, links, ' +
      'waiting messages, the care of caregivers (and what identifies one who then cares for nobody), and files ' +
      'of exports in the background that name the participant, names that staff gave visits and notes of reviews. ' +
      'An enrolled participant is withdrawn. ' +
      'Dates, results and audit stay, under the participant’s code or, with `replace_code`, a pseudonym. ' +
      'external_id stays, so that the capture system’s record is not enrolled again; what that sends later is ' +
      'not kept. A name in `form_items` that no form of the study has is 400 UNKNOWN_FORM_ITEM, and nothing is ' +
      'erased. It cannot be undone; a second time is 409 PARTICIPANT_ERASED. So is a change that gives ' +
      'email, phone, date_of_birth, ' +
      'another participant_code, or items of a form; other facts are still taken.',
    body: input('ParticipantErase', {
      reason: Reason,
      replace_code: Type.Optional(Type.Boolean()),
      form_items: Type.Optional(Type.Array(text(200, 1), { maxItems: 200 })),
    }),
    responses: {
      200: record('ParticipantErased', {
        participant: Participant,
        erased_at: Instant,
        erased: Type.Object({
          forms: count,
          decisions: count,
          devices: count,
          notifications: count,
          caregivers: count,
          exports: count,
        }),
      }),
    },
    handle: ({ tx, audit, actor, context, params, body: given }) =>
      eraseParticipant({ tx, audit, actor, context }, params.participant_id, given),
  }),
  route({
    method: 'GET',
    path: '/api/participants/{participant_id}/data-export',
    operationId: 'exportParticipantData',
    tag: 'Participants',
    summary: 'Export everything stored about a participant',
    access: inStudy('researcher'),
    transaction: 'change',
    description:
      'All of it in one document, for a participant who asks what is stored. Each export is an audit record.',
    responses: {
      200: record('ParticipantDataExport', {
        exported_at: Instant,
        participant: Json,
        ...Object.fromEntries(exportedParts.filter((part) => part !== 'participant').map((part) => [part, Rows])),
      }),
    },
    handle: async ({ tx, audit, actor, context, params }) =>
      reply(200, await dataExport({ tx, audit, actor, context }, params.participant_id), {
        'Content-Disposition': attachment(['participant'], 'json', nowIso(), params.participant_id),
      }),
  }),
];
