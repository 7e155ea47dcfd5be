import { putOutbox } from '../../db/outbox.js';
import { participantForUpdate } from '../../db/queries/participants.js';
import { closedLink, insertLinkNotification, linkHash, openLink } from '../../db/queries/portal.js';
import type { PortalParticipant } from '../../db/queries/portal.js';
import { inScope } from '../../db/transaction.js';
import type { Sender } from '../../workflows/contract.js';
import { portalSession, sessionSecret } from '../auth/portal.js';
import { problem } from '../errors.js';
import { by } from '../record.js';
import type { RequestContext } from '../route.js';
import type { Services } from '../services.js';
import type { Change } from './studies.js';

const addresses = { email: 'email', sms: 'phone' } as const;

/**
 * Asks for a message with a link to a participant's portal. The link's token is made when the message is written: here
 * there is none yet, and none is ever answered (decisions, section 3, "Portal").
 * @throws 404, 409 PARTICIPANT_WITHDRAWN, 400 NO_ADDRESS
 */
export async function requestLink({ tx, audit, actor, context }: Change, given: { participant_id: string; channel: 'email' | 'sms' }): Promise<void> {
  const participant = await participantForUpdate(tx, given.participant_id);
  if (!participant) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  if (participant.status === 'withdrawn') throw problem('PARTICIPANT_WITHDRAWN');
  const address = addresses[given.channel];
  if (!participant[address]) {
    const message = `the participant has no ${address} for the channel ${given.channel}`;
    throw problem('NO_ADDRESS', { detail: `The participant has no ${address} for the channel ${given.channel}.`, errors: [{ path: 'channel', code: 'NO_ADDRESS', message }] });
  }
  const { id, study_id } = participant;
  const notification = await insertLinkNotification(tx, { studyId: study_id, participantId: id, channel: given.channel });
  audit.record({ ...by(actor, context), study_id, action: 'portal_link_requested', resource_type: 'participant', resource_id: id, metadata: { channel: given.channel, notification_id: notification } });
  await putOutbox(tx, [{ topic: 'notification', studyId: study_id, subject: notification }]);
}

/**
 * Opens a link once and gives what the portal works with.
 * @returns the answer's body, and the `Set-Cookie` beside it
 * @throws 401 INVALID_LINK, the same for a link that is unknown, used, expired or of somebody who has withdrawn
 */
export async function openSession({ database, settings }: Services, token: string, context: RequestContext) {
  const hash = linkHash(sessionSecret(settings), token);
  const participant = await inScope(database, '*', async ({ tx, audit }): Promise<PortalParticipant | undefined> => {
    const entry = { user_id: null, resource_type: 'participant', request_id: context.requestId };
    const opened = await openLink(tx, hash);
    if (opened) {
      audit.record({ ...entry, study_id: opened.study_id, action: 'portal_session_started', resource_id: opened.id });
      return opened;
    }
    const closed = await closedLink(tx, hash);
    if (closed) audit.record({ ...entry, study_id: closed.study_id, action: 'portal_session_refused', resource_id: closed.participant_id, metadata: { reason: closed.reason } });
    return undefined;
  });
  // Thrown after the commit: the record of the refusal stays.
  if (!participant) throw problem('INVALID_LINK');
  const session = portalSession(settings, participant.id);
  return { body: { portal_token: session.token, expires_in: session.seconds, participant }, cookie: session.cookie };
}

/** A participant as sender of a message to its own workflow, as `senderOf` is for users; the policy's `participant_can_set` is checked there. */
export const participantSender = (context: RequestContext): Sender => ({
  actor_user_id: null, actor_type: 'participant', request_id: context.requestId, ip_address: context.ip, user_agent: context.userAgent?.slice(0, 500) ?? null,
});
