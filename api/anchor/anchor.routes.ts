import { anchorStatement, readHistory } from '../../db/anchor/anchors.queries.js';
import type { AnchorResponse } from '../../db/anchor/anchors.queries.js';
import {
  cancelProposal,
  evaluate,
  overrideBack,
  requestOverride,
  setEnrollmentDate,
} from '../../workflows/contract.js';
import type { AnchorOutcome, Sender } from '../../workflows/contract.js';
import { inStudy, withNote, staffOrParticipant } from '../http/access.js';
import type { Actor, ParticipantCaller } from '../http/access.js';
import { reply, route, IfMatch } from '../http/route.js';
import type { Input } from '../http/route.js';
import {
  Anchor,
  AnchorWithEvaluation,
  Cancel,
  Evaluate,
  Evaluation,
  HistoryEntry,
  Override,
  OverrideApplied,
  OverrideBack,
  OverridePending,
  Preview,
  SetDate,
} from './anchor.schemas.js';
import { Type } from '../http/common.schemas.js';
import type { TSchema } from '../http/common.schemas.js';
import { commandSender, keyInForce, participantSender, updateAnchor } from './anchor-updates.service.js';
import {
  anchorAsOf,
  anchorFor,
  currentAnchor,
  getAnchorOrThrow,
  previewOverride,
  requireOwnDate,
} from './anchors.service.js';
import { currentVersion } from '../scheduling/schedule-versions.service.js';
import { AsOf, asOf } from '../participants/as-of.schemas.js';
import type { RequestContext } from '../http/request-context.js';

const path = '/api/studies/{study_id}/participants/{participant_id}/anchor-date';
const canSet = withNote(inStudy(), 'and the policy’s can_set');
const canSetOwn = staffOrParticipant(
  withNote(inStudy(), 'and the policy’s can_set; the participant where participant_can_set is true'),
);
const canReadOwn = staffOrParticipant(
  withNote(inStudy(), 'the participant where the policy’s participant_can_set is true'),
);
const canOverride = withNote(inStudy(), 'and the policy’s can_override');

type Acting = Pick<
  Input<typeof path, TSchema, TSchema, 'either', undefined>,
  'params' | 'headers' | 'actor' | 'context' | 'services' | 'requestKey' | 'assertIfMatch'
>;

const senderOfEither = (actor: Actor | ParticipantCaller, context: RequestContext): Sender =>
  actor.role === 'participant' ? participantSender(actor, context) : commandSender(actor, context);

/**
 * The address of a message. A repeat under its Idempotency-Key has the same update id: even a concurrent one is
 * executed once.
 */
async function addressOf({ params, requestKey, services }: Acting) {
  const participant = { studyId: params.study_id, participantId: params.participant_id };
  return { ...participant, updateId: await keyInForce(services, participant, requestKey) };
}

/** The sender, and with an If-Match the version that the anchor must still have. */
async function messageOf(acting: Acting): Promise<Sender & { expected_version?: number }> {
  const { actor, context, headers, services, params, assertIfMatch } = acting;
  const sender = senderOfEither(actor, context);
  if (!headers['if-match']) return sender;
  const anchor = await currentAnchor(services, params.study_id, params.participant_id);
  assertIfMatch({ ...anchor });
  return { ...sender, expected_version: anchor.version };
}

const faults = ({ errors, warnings }: AnchorOutcome) => ({ errors, warnings });

export const anchorRoutes = [
  route({
    method: 'GET',
    path,
    operationId: 'getAnchorDate',
    tag: 'Anchor date',
    summary: 'Get the anchor date, current or as of an instant',
    access: canReadOwn,
    transaction: 'once',
    responses: { 200: Anchor, 400: undefined },
    description:
      `${asOf} With \`as_of\` the anchor is as of then, by its history. The participant’s own portal token ` +
      'reads it where the policy’s `participant_can_set` is true.',
    query: AsOf,
    prefetch: ({ params, query }) => (query.as_of === undefined ? [anchorStatement(params.participant_id)] : undefined),
    handle: async ({ tx, prefetched: [rows], params, query, actor }) => {
      if (!tx) return getAnchorOrThrow(rows![0] as AnchorResponse | undefined);
      if (actor.role === 'participant') await requireOwnDate(tx, params.study_id);
      return anchorFor(actor, await anchorAsOf(tx, params.participant_id, query.as_of));
    },
  }),
  route({
    method: 'POST',
    path,
    operationId: 'setAnchorDate',
    tag: 'Anchor date',
    summary: 'Record the manual enrollment date and evaluate all sources',
    access: canSetOwn,
    description:
      'Stores the date as a fact, then evaluates all sources by priority. A date that breaks a rule is 400 ' +
      'with `errors[].code` (FUTURE_DATE, BEFORE_CONSENT, BEFORE_STUDY_START, TOO_FAR_FROM_CONSENT …) and is ' +
      'not stored; on a finalized anchor another date is 409 OVERRIDE_REQUIRED. The participant’s own portal ' +
      'token sets it where the policy’s `participant_can_set` is true.',
    body: SetDate,
    headers: IfMatch,
    responses: { 200: AnchorWithEvaluation, 400: undefined, 409: undefined },
    handle: async (input) => {
      const { params, body, services } = input;
      const outcome = await updateAnchor(services, await addressOf(input), setEnrollmentDate, {
        ...(await messageOf(input)),
        enrollment_date: body.enrollment_date,
        reason: body.reason ?? null,
      });
      const anchor = await currentAnchor(services, params.study_id, params.participant_id);
      return {
        ...anchorFor(input.actor, anchor),
        evaluation: { result: outcome.result, source_type: outcome.source_type ?? null, ...faults(outcome) },
      };
    },
  }),
  route({
    method: 'POST',
    path: `${path}/evaluate`,
    operationId: 'evaluateAnchorDate',
    tag: 'Anchor date',
    summary: 'Evaluate the anchor date now',
    access: inStudy('researcher', 'coordinator', 'investigator'),
    description:
      'Reads every source again and decides by the policy. Changes are recorded as the caller’s, ' + 'with the reason.',
    body: Evaluate,
    responses: { 200: Evaluation, 409: undefined },
    handle: async (input) => {
      const outcome = await updateAnchor(input.services, await addressOf(input), evaluate, {
        ...commandSender(input.actor, input.context),
        reason: input.body.reason ?? null,
      });
      return {
        result: outcome.result,
        ...faults(outcome),
        anchor: await currentAnchor(input.services, input.params.study_id, input.params.participant_id),
      };
    },
  }),
  route({
    method: 'POST',
    path: `${path}/cancel`,
    operationId: 'cancelAnchorDate',
    tag: 'Anchor date',
    summary: 'Cancel a provisional date',
    access: canSet,
    body: Cancel,
    headers: IfMatch,
    responses: { 200: Anchor, 409: undefined },
    description:
      'The anchor is `unset` again, without a schedule. The manual fact is withdrawn too; nothing is proposed ' +
      'again until a source changes. An anchor that is not provisional is 409 NOT_PROVISIONAL. Of an anchor ' +
      'that was final before an override-back it is a re-anchoring: 400 NOT_ALLOWED_AFTER_… where the policy ' +
      'forbids one.',
    handle: async (input) => {
      await updateAnchor(input.services, await addressOf(input), cancelProposal, {
        ...(await messageOf(input)),
        reason: input.body?.reason ?? null,
      });
      return currentAnchor(input.services, input.params.study_id, input.params.participant_id);
    },
  }),
  route({
    method: 'POST',
    path: `${path}/override`,
    operationId: 'overrideAnchorDate',
    tag: 'Anchor date',
    summary: 'Override the enrollment date',
    access: canOverride,
    body: Override,
    description:
      'Replaces a finalized date by another one, and plans the visits by it unless ' +
      '`regenerate_schedule` is false. 200 where it is applied at once, 202 where the policy wants an ' +
      'approval. A date that breaks a rule is 400 with `errors[].code`. With `preview_hash` it is 409 ' +
      'PREVIEW_STALE when what the preview showed has changed.',
    headers: IfMatch,
    responses: { 200: OverrideApplied, 202: OverridePending, 400: undefined, 409: undefined },
    handle: async (input) => {
      const { params, body, services } = input;
      const outcome = await updateAnchor(services, await addressOf(input), requestOverride, {
        ...(await messageOf(input)),
        ...body,
      });
      const { impact, warnings } = outcome;
      if (outcome.result === 'pending_approval')
        return reply(202, {
          status: 'pending_approval',
          override_request_id: outcome.override_request_id,
          impact,
          warnings,
        });
      return {
        status: 'applied',
        anchor: await currentAnchor(services, params.study_id, params.participant_id),
        schedule_version: await currentVersion(services, params.study_id, params.participant_id),
        impact,
        warnings,
      };
    },
  }),
  route({
    method: 'POST',
    path: `${path}/override/preview`,
    operationId: 'previewOverride',
    tag: 'Anchor date',
    summary: 'Preview an override',
    access: inStudy(),
    transaction: 'read',
    body: Override,
    description:
      'Says what an override would do to each visit, and changes nothing; its `preview_hash` binds the ' +
      'override to what was seen. Anyone who works in the study may look; only the override itself is for the ' +
      'policy’s `can_override`.',
    responses: { 200: Preview, 400: undefined, 409: undefined },
    handle: ({ tx, params, body, actor }) =>
      previewOverride(tx, params.participant_id, body.new_enrollment_date, body.regenerate_schedule ?? true, actor.id),
  }),
  route({
    method: 'POST',
    path: `${path}/override-back`,
    operationId: 'revertAnchorOverride',
    tag: 'Anchor date',
    summary: 'Revert an override to the date of the sources',
    access: canOverride,
    body: OverrideBack,
    headers: IfMatch,
    responses: { 200: Anchor, 409: undefined },
    description:
      'The anchor is provisional again, on the date that its sources give, and visits are planned by it. Needs ' +
      'a reason. One that is not finalized is 409 NOT_FINALIZED, one with a pending request 409 ' +
      'OVERRIDE_PENDING. The re-anchoring guards of the policy (400 NOT_ALLOWED_AFTER_…) refuse it where the ' +
      'date would move, and hold for what was reopened as they did before.',
    handle: async (input) => {
      await updateAnchor(input.services, await addressOf(input), overrideBack, {
        ...(await messageOf(input)),
        reason: input.body.reason,
      });
      return currentAnchor(input.services, input.params.study_id, input.params.participant_id);
    },
  }),
  route({
    method: 'GET',
    path: `${path}/history`,
    operationId: 'listAnchorHistory',
    tag: 'Anchor date',
    summary: 'List the anchor date history, newest first',
    description:
      'Every change of the date: from what to what, by whom, why, and from which source. Entries never change.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Type.Array(HistoryEntry) },
    handle: ({ tx, params }) => readHistory(tx, params.participant_id),
  }),
];
