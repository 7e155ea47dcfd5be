import { listConsents } from '../../db/participants/consents.queries.js';
import { listForms } from '../../db/participants/forms.queries.js';
import { inStudy, withNote, staff } from '../http/access.js';
import type { IncomingHttpHeaders } from 'node:http';
import type { Settings } from '../../settings.js';
import { created, route, withContentTag, response } from '../http/route.js';
import { Reauthentication, asSignature } from '../identity/reauthentication.schemas.js';
import { Type, listOf, paging, sorting, text } from '../http/common.schemas.js';
import {
  Consent,
  ConsentChange,
  Eligibility,
  FormInstance,
  FormChange,
  FormStatus,
  NewConsent,
  NewForm,
  NewRandomization,
  PutEligibility,
  Randomization,
} from './facts.schemas.js';
import { changeConsent, createConsent } from './consents.service.js';
import { eligibility, saveEligibility } from './eligibility.service.js';
import { changeForm, createForm } from './forms.service.js';
import { randomization, randomize } from './randomization.service.js';
import { proofIn } from '../identity/reauthentication.service.js';
import type { Credential } from '../http/request-context.js';

const of = '/api/studies/{study_id}/participants/{participant_id}';
const evaluated = 'The anchor date is evaluated again after the change.';

/** A signer's input in the request. */
const signingOf = (
  settings: Settings,
  headers: IncomingHttpHeaders,
  credential: Credential | undefined,
  { meaning, ...proof }: { meaning: string | undefined; password: string | undefined; code: string | undefined },
) => ({ settings, proof: proofIn(headers, proof, credential), meaning });

/** The facts behind an anchor date. */
export const factRoutes = [
  route({
    method: 'GET',
    path: `${of}/consents`,
    operationId: 'listConsents',
    tag: 'Consents',
    summary: 'List the participant’s consents',
    description: 'Each consent by version and purpose, with its status.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ ...paging, sort: sorting('created_at', 'signed_at') }),
    responses: { 200: listOf(Consent) },
    handle: ({ tx, params, query }) =>
      listConsents(tx, params.participant_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'created_at',
      }),
  }),
  route({
    method: 'POST',
    path: `${of}/consents`,
    operationId: 'createConsent',
    tag: 'Consents',
    summary: 'Record a consent',
    access: staff.participants,
    transaction: 'change',
    description: `A signed consent has a \`signed_at\` (default: now). ${evaluated}`,
    body: NewConsent,
    responses: { 201: Consent },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await createConsent({ tx, audit, actor, context }, params.participant_id, body)),
  }),
  route({
    method: 'PATCH',
    path: `${of}/consents/{consent_id}`,
    operationId: 'updateConsent',
    tag: 'Consents',
    summary: 'Sign, decline, revoke or correct a consent',
    access: staff.participants,
    transaction: 'change',
    description:
      'pending → signed or declined; signed → revoked; declined and revoked are final (409 INVALID_TRANSITION). ' +
      `${evaluated}`,
    body: ConsentChange,
    responses: { 200: Consent },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeConsent({ tx, audit, actor, context }, params.participant_id, params.consent_id, body, assertIfMatch),
  }),
  route({
    method: 'GET',
    path: `${of}/eligibility`,
    operationId: 'getEligibility',
    tag: 'Eligibility',
    summary: 'Get the eligibility assessment',
    description: 'The criteria that were met or not, waivers, and the status. 404 where nothing was assessed yet.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Eligibility },
    handle: ({ tx, params }) => eligibility(tx, params.participant_id),
  }),
  route({
    method: 'PUT',
    path: `${of}/eligibility`,
    operationId: 'setEligibility',
    tag: 'Eligibility',
    summary: 'Set the eligibility assessment',
    transaction: 'change',
    access: withNote(staff.participants, 'eligible, ineligible and waivers: admin, researcher, investigator'),
    description:
      'Replaces the assessment. `eligible` and `ineligible` are confirmations, with `confirmed_at` ' +
      '(default: now); a coordinator prepares the assessment but does not confirm it (403), nor changes criteria ' +
      'or waiver of a confirmed one without taking the confirmation back. Who does change them confirms them: ' +
      '`confirmed_by_id` follows, `confirmed_at` stays. `eligible` against a ' +
      'criterion that no waiver names is 400; a new note on an erased participant is ' +
      `409 PARTICIPANT_ERASED. The same waiver by another user approves it. Approving is ${asSignature} ${evaluated}`,
    body: PutEligibility,
    responses: { 200: Eligibility, 401: undefined },
    handle: ({
      tx,
      audit,
      actor,
      context,
      params,
      body: { password, code, ...assessment },
      headers,
      credential,
      services,
      assertIfMatch,
    }) =>
      saveEligibility({ tx, audit, actor, context }, params.participant_id, assessment, assertIfMatch, {
        signing: signingOf(services.settings, headers, credential, { meaning: undefined, password, code }),
      }),
  }),
  route({
    method: 'GET',
    path: `${of}/randomization`,
    operationId: 'getRandomization',
    tag: 'Randomization',
    summary: 'Get the randomization',
    description: 'The arm and when it was drawn. 404 where the participant is not randomized.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: response(Randomization, { etag: true }) },
    handle: async ({ tx, params }) => withContentTag(await randomization(tx, params.participant_id)),
  }),
  route({
    method: 'POST',
    path: `${of}/randomization`,
    operationId: 'recordRandomization',
    tag: 'Randomization',
    summary: 'Record the randomization',
    access: staff.participants,
    transaction: 'change',
    description:
      'Records the arm that was drawn; the service draws none. A second one is 409 ALREADY_RANDOMIZED. The arm ' +
      `becomes the participant’s. ${evaluated}`,
    body: NewRandomization,
    responses: { 201: Randomization },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await randomize({ tx, audit, actor, context }, params.participant_id, body)),
  }),
  route({
    method: 'GET',
    path: `${of}/forms`,
    operationId: 'listForms',
    tag: 'Forms',
    summary: 'List the participant’s forms',
    description: 'Forms with their items; `form_oid` and `status` narrow it.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('created_at', 'form_oid'),
      form_oid: Type.Optional({ ...text(200), 'x-nfc': true }),
      status: Type.Optional(FormStatus),
    }),
    responses: { 200: listOf(FormInstance) },
    handle: ({ tx, params, query }) =>
      listForms(tx, params.participant_id, {
        ...query,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'created_at',
      }),
  }),
  route({
    method: 'POST',
    path: `${of}/forms`,
    operationId: 'createForm',
    tag: 'Forms',
    summary: 'Add a form',
    transaction: 'change',
    access: withNote(staff.participants, 'signed and locked: admin, investigator'),
    description:
      `Items of an erased participant are not kept: 409 PARTICIPANT_ERASED. All forms of a participant together ` +
      `hold at most 5,000,000 bytes: 422 MAX_TOTAL. Signing is ${asSignature} ${evaluated}`,
    headers: Reauthentication,
    body: NewForm,
    responses: { 201: FormInstance, 401: undefined },
    handle: async ({
      tx,
      audit,
      actor,
      context,
      params,
      body: { meaning, password, code, ...form },
      headers,
      credential,
      services,
    }) =>
      created(
        await createForm(
          { tx, audit, actor, context },
          params.participant_id,
          form,
          signingOf(services.settings, headers, credential, { meaning, password, code }),
        ),
      ),
  }),
  route({
    method: 'PATCH',
    path: `${of}/forms/{form_id}`,
    operationId: 'updateForm',
    tag: 'Forms',
    summary: 'Fill in, complete, sign or lock a form',
    transaction: 'change',
    access: withNote(staff.participants, 'signed and locked: admin, investigator'),
    description:
      'draft ↔ complete → signed → locked (else 409 INVALID_TRANSITION). `items` is merged (RFC 7396) until ' +
      'the form is signed (then 409 FORM_FROZEN), and stays as it is once the participant is erased (409 ' +
      `PARTICIPANT_ERASED). Investigators and admins sign and lock. Signing is ${asSignature} ${evaluated}`,
    headers: Reauthentication,
    body: FormChange,
    responses: { 200: FormInstance, 401: undefined },
    handle: ({
      tx,
      audit,
      actor,
      context,
      params,
      body: { meaning, password, code, ...change },
      headers,
      credential,
      services,
      assertIfMatch,
    }) =>
      changeForm(
        { tx, audit, actor, context },
        params.participant_id,
        params.form_id,
        change,
        signingOf(services.settings, headers, credential, { meaning, password, code }),
        assertIfMatch,
      ),
  }),
];
