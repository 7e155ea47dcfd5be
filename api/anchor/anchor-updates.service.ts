import { createHash, randomUUID } from 'node:crypto';
import { isOver } from '../../db/anchor/anchor-commands.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import { addressWithDetails } from '../../db/participants/message-details.queries.js';
import type { MessageDetails } from '../../db/participants/message-details.queries.js';
import { AnchorUpdateTimeoutError } from '../../workflows/client.js';
import type { AnchorClient, ParticipantAddress } from '../../workflows/client.js';
import type { AnchorOutcome, Sender } from '../../workflows/contract.js';
import type { MessageKind } from '../../workflows/domain/anchor/message-content.js';
import type { Dependencies } from '../dependencies.js';
import type { Actor, ParticipantCaller } from '../http/access.js';
import { problem, problemOf } from '../http/errors.js';
import type { RequestContext } from '../http/request-context.js';

/** The acting user, as a message to the participant's workflow carries it. */
export const commandSender = (actor: Actor, context: RequestContext): Sender => ({
  actor_user_id: actor.id,
  actor_type: 'user',
  request_id: context.requestId,
  ip_address: context.ip,
  user_agent: context.userAgent?.slice(0, 500) ?? null,
});

/**
 * A participant, or its caregiver, as sender of a message to its workflow; the workflow checks the policy's
 * `participant_can_set`.
 */
export const participantSender = (
  { caregiver }: Pick<ParticipantCaller, 'caregiver'>,
  context: RequestContext,
): Sender => ({
  ...(caregiver && { caregiver_id: caregiver.id }),
  actor_user_id: null,
  actor_type: 'participant',
  request_id: context.requestId,
  ip_address: context.ip,
  user_agent: context.userAgent?.slice(0, 500) ?? null,
});

/**
 * Reads the participant as the caller sees it, and stores the details of the message.
 * @throws 404
 */
async function participantOf(
  services: Dependencies,
  { studyId, participantId, evenWithdrawn = false }: Addressed,
  details: MessageDetails & { id: string },
): Promise<ParticipantAddress & { status: string; erased: boolean; kept: boolean }> {
  const row = await addressWithDetails(services.database, studyId, participantId, { ...details, evenWithdrawn });
  if (!row) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  const { id, study_id, site_id, status, erased, kept } = row;
  return { participant_id: id, study_id, site_id, status, erased, kept };
}

interface Addressed {
  studyId: string;
  participantId: string;
  evenWithdrawn?: boolean;
  /** The console sends it; otherwise it is a request of the API. */
  via?: 'page';
  /** The id of the authorization of the message with this update id; undefined: any. */
  authorizationId?: (updateId: string) => string;
}

export type AnchorUpdate = Parameters<AnchorClient['update']>[0];

/** The message kind of each update, as its authorization names it. */
const KINDS: Readonly<Record<string, MessageKind>> = {
  setEnrollmentDate: 'set',
  requestOverride: 'override',
  cancelProposal: 'cancel',
  overrideBack: 'override_back',
  decideOverride: 'decide_override',
  evaluate: 'evaluate',
};

/**
 * Sends an update to a participant's workflow and returns the result. Its details are stored without waiting for the
 * disk: if a crash of the database takes them, the message is refused, and sent once more under an id of its own.
 * @throws the refusal as the problem that decisions.md assigns; 503 when Temporal or the worker is unavailable
 */
export async function updateAnchor(
  services: Dependencies,
  target: Addressed & { updateId: string },
  definition: AnchorUpdate,
  message: object,
): Promise<AnchorOutcome> {
  const own = requestOf(message);
  const ids = updateIdsOf(target.updateId, own);
  const sent = (updateId: string): Promise<AnchorOutcome> =>
    send(services, { ...target, updateId }, definition, message);
  const first = await sent(ids.first);
  const answered = wantsDetails(first) ? await sent(ids.again) : first;
  const outcome = own !== null && isOfEarlier(answered, own) ? await sent(ids.own) : answered;
  if (outcome.refused) {
    const { status, code, detail, preview } = outcome.refused;
    throw problemOf(status, code, detail, {
      errors: outcome.errors,
      warnings: outcome.warnings,
      // By the activity that refused it, in its transaction.
      recorded: true,
      ...(preview !== undefined && { extra: { preview } }),
    });
  }
  return outcome;
}

/** The messages of the API are valid: this code is only left for details that are not there. */
const wantsDetails = ({ refused }: AnchorOutcome): boolean => refused?.code === 'INVALID_MESSAGE';

/** As `requestKeyOf` makes it of an Idempotency-Key; without one it is the request's own id. */
const OF_A_KEY = /^[0-9a-f]{64}$/;

/**
 * The key under which a request's command is sent. A command of more than a day ago does not count any more: the next
 * one under its Idempotency-Key has another, which is the same for its own repeats.
 */
export async function keyInForce(
  { database }: Pick<Dependencies, 'database'>,
  { studyId, participantId }: Pick<Addressed, 'studyId' | 'participantId'>,
  requestKey: string,
): Promise<string> {
  if (!OF_A_KEY.test(requestKey)) return requestKey;
  return readInScope(database, studyId, async (tx) => {
    let key = requestKey;
    while (await isOver(tx, `${participantId.toLowerCase()}/${key}`))
      key = createHash('sha256').update(`after a day ${key}`).digest('hex');
    return key;
  });
}

const requestOf = (message: object): string | null => {
  const { http_request_id, request_id } = message as { http_request_id?: string | null; request_id?: string | null };
  return (http_request_id ?? request_id)?.slice(0, 36) ?? null;
};

/**
 * The ids under which a request's message is sent: first, again without details that were lost, and for this request
 * alone, where the result of an earlier one under the same `Idempotency-Key` does not count.
 * @param requestKey the same for a repeated request
 * @param own the id of this request
 */
export const updateIdsOf = (requestKey: string, own: string | null) => ({
  first: requestKey,
  again: `${requestKey}/again`,
  own: `${requestKey}/${own}`,
});

/**
 * Whether a result is a refusal of an earlier request under the same Idempotency-Key: it changed nothing, and does not
 * count for this one.
 */
const isOfEarlier = ({ refused, http_request_id: earlier }: AnchorOutcome, own: string): boolean =>
  refused !== undefined && earlier !== undefined && earlier !== null && earlier !== own;

/** @throws 404, 409 PARTICIPANT_WITHDRAWN or, of a decision, NOT_PENDING after an erasure, 503 */
async function send(
  services: Dependencies,
  target: Addressed & { updateId: string },
  definition: AnchorUpdate,
  message: object,
): Promise<AnchorOutcome> {
  const { reason = null, ip_address = null, user_agent = null, ...travels } = message as Partial<MessageDetails>;
  const details = { id: randomUUID(), reason, ip_address: ip_address?.slice(0, 45) ?? null, user_agent };
  const participant = await participantOf(services, target, details);
  if (participant.status === 'withdrawn' && !target.evenWithdrawn)
    throw problem('PARTICIPANT_WITHDRAWN', { detail: 'The participant has withdrawn: the anchor stays as it is.' });
  // A reason that is given now would be kept of an erased participant, here or in a workflow's history.
  if (participant.erased)
    throw problem('NOT_PENDING', {
      detail: 'The participant’s identity was erased: the override request ended with it.',
    });
  await services.temporal.client();
  try {
    const { participant_id, study_id } = participant;
    // The whole message is signed, including the details that stay here.
    const { authorization } = await services.signing.signed(
      { participant_id, study_id },
      KINDS[definition.name]!,
      message,
      target.via ?? 'rest',
      target.authorizationId?.(target.updateId),
    );
    const sent = {
      ...(participant.kept ? { ...travels, details_id: details.id } : message),
      ...(authorization !== undefined && { authorization }),
    };
    return await services.anchors.update(definition, participant, sent, target.updateId);
  } catch (fault) {
    if (fault instanceof AnchorUpdateTimeoutError)
      throw problem('WORKER_UNAVAILABLE', { headers: { 'Retry-After': '2' } });
    throw fault;
  }
}
