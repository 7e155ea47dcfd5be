import { setTimeout as pause } from 'node:timers/promises';
import { putOutbox } from '../../db/outbox/outbox.js';
import { ownersOf } from '../../db/identity/link-requests.queries.js';
import { asCaregiver, insertLinkNotification } from '../../db/portal/portal.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { sha256 } from '../http/security/tokens.js';
import { invalid } from '../http/errors.js';
import { assertAllowed } from '../http/middleware/rate-limit.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestContext } from '../http/request-context.js';

/** The minimum time of an answer, so that it does not reveal whether there was anything to do. */
const MIN_MS = 150;

/**
 * Sends a link to the owners of an address, in each of their studies. Known and unknown addresses get the same answer.
 * @throws 422 not exactly one address, 429 by address
 */
export async function requestNewLink(
  services: Dependencies,
  input: { email?: string; phone?: string },
  context: RequestContext,
): Promise<void> {
  if ((input.email === undefined) === (input.phone === undefined))
    throw invalid('email', 'ONE_OF', 'or phone: exactly one of the two is given');
  const channel = input.email === undefined ? 'sms' : 'email';
  const address = (input.email ?? input.phone)!;
  const key = channel === 'email' ? address.toLowerCase() : address.replaceAll(/\D/g, '');
  assertAllowed(await services.rateLimits.auth.take(`portal-link:${sha256(key).toString('base64url')}`));
  await Promise.all([
    pause(MIN_MS),
    withStudyScope(services.database, '*', async ({ tx, audit }) => {
      for (const { study_id, participant_id, caregiver_id } of await ownersOf(tx, channel, address)) {
        const notification = await insertLinkNotification(tx, {
          studyId: study_id,
          to: participant_id === null ? { caregiver_id: caregiver_id! } : { participant_id },
          channel,
        });
        audit.record({
          study_id,
          user_id: null,
          request_id: context.requestId,
          action: 'portal_link_requested',
          resource_type: participant_id === null ? 'caregiver' : 'participant',
          resource_id: (participant_id ?? caregiver_id)!,
          metadata: {
            ...(participant_id === null ? asCaregiver(caregiver_id!) : { actor_type: 'participant' }),
            channel,
            notification_id: notification,
          },
        });
        await putOutbox(tx, [{ topic: 'notification', studyId: study_id, subject: notification }]);
      }
    }),
  ]);
}
