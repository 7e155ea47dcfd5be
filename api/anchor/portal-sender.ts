import type { Sender } from '../../workflows/contract.js';
import type { ParticipantCaller } from '../http/access.js';
import { problem } from '../http/errors.js';
import { currentPolicy } from '../studies/policy.service.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** @throws 403 if the policy lets no participant set, and so see, the enrollment date */
export async function requireOwnDate(tx: Tx, studyId: string): Promise<void> {
  const { permissions } = await currentPolicy(tx, studyId);
  if (!permissions.participant_can_set)
    throw problem('FORBIDDEN', { detail: 'The policy does not let participants set the enrollment date.' });
}

/**
 * A participant, or its caregiver, as sender of a message to its workflow, like `senderOf` for users; the workflow
 * checks the policy's `participant_can_set`.
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
