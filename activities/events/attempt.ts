import type { Logger } from 'pino';
import { nowMs } from '../../db/client/clock.js';
import { SecretBox, SecretUnreadable } from '../../db/client/crypto.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { recordDelivered, recordFailedAttempt } from '../../db/events/event-deliveries.queries.js';
import type { ClaimedDelivery } from '../../db/events/event-deliveries.queries.js';
import {
  disableSubscription,
  isDeliveredTo,
  subscriptionSecretPlace,
} from '../../db/events/event-subscriptions.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { encryptionKeyBytes } from '../../settings.js';
import type { Settings } from '../../settings.js';
import { postEvent } from './post.js';
import type { Posted } from './post.js';
import { backOff, signedHeaders } from './sign.js';
import type { Database } from '../../db/client/database.js';

export interface EventDeps {
  database: Database;
  settings: Pick<
    Settings,
    | 'DATACAPTURE_ENCRYPTION_KEY'
    | 'ALLOW_PRIVATE_URLS'
    | 'EVENT_RETRY_INITIAL_SECONDS'
    | 'EVENT_RETRY_MAX_DAYS'
    | 'EVENT_TIMEOUT_SECONDS'
    | 'production'
  >;
  log: Pick<Logger, 'warn' | 'debug'>;
}

/** A workflow this late with an attempt counts as lost: the dispatcher's own check sends it. */
const RESCUE_SECONDS = 120;
const GONE = 410;

/** The lease of a claimed delivery. */
export const leaseSeconds = ({ settings }: EventDeps): number => settings.EVENT_TIMEOUT_SECONDS + 20;

/**
 * Sends one claimed delivery, once, and stores the result.
 * @param first the worker's own first attempt: after a failure a workflow retries it
 */
export async function sendDelivery(deps: EventDeps, delivery: ClaimedDelivery, first: boolean): Promise<void> {
  const posted = await send(deps, delivery);
  const { id, study_id } = delivery;
  if (posted.error === null)
    return withStudyScope(deps.database, study_id, ({ tx }) => recordDelivered(tx, id, posted.status!));
  const { EVENT_RETRY_INITIAL_SECONDS, EVENT_RETRY_MAX_DAYS } = deps.settings;
  const wait = Math.max(backOff(EVENT_RETRY_INITIAL_SECONDS, delivery.attempts), posted.retryAfterSeconds ?? 0);
  await withStudyScope(deps.database, study_id, async ({ tx, audit }) => {
    // Of a receiver at another address, saved meanwhile, this says nothing.
    const gone = posted.status === GONE && (await isDeliveredTo(tx, delivery.subscription_id, delivery.url));
    const goesOn = await recordFailedAttempt(tx, id, {
      status: posted.status,
      error: posted.error!,
      waitSeconds: wait,
      patienceSeconds: EVENT_RETRY_MAX_DAYS * 86_400,
      rescueSeconds: RESCUE_SECONDS,
      final: gone,
    });
    if (gone) {
      const given = await disableSubscription(
        tx,
        delivery.subscription_id,
        'the subscriber answered 410: it is gone for good',
      );
      if (given !== undefined)
        audit.record({
          study_id,
          user_id: null,
          action: 'event_subscription_disabled',
          resource_type: 'event_subscription',
          resource_id: delivery.subscription_id,
          metadata: { status: GONE, given_up: given },
        });
    }
    if (goesOn && first) await putOutbox(tx, [{ topic: 'event-delivery', studyId: study_id, subject: id }]);
  });
  deps.log.debug({ delivery: id, status: posted.status, error: posted.error }, 'event not delivered');
}

async function send({ settings }: EventDeps, delivery: ClaimedDelivery): Promise<Posted> {
  const body = JSON.stringify(delivery.event);
  let secrets: string[];
  try {
    secrets = secretsOf(settings.DATACAPTURE_ENCRYPTION_KEY, delivery);
  } catch (fault) {
    // An operator may set the right key between retries.
    if (!(fault instanceof SecretUnreadable)) throw fault;
    return { status: null, error: fault.message, retryAfterSeconds: null };
  }
  return postEvent(delivery.url, signedHeaders(secrets, delivery.event.id, body, new Date(nowMs())), body, {
    allowPrivate: settings.ALLOW_PRIVATE_URLS ?? !settings.production,
    timeoutMs: settings.EVENT_TIMEOUT_SECONDS * 1000,
  });
}

/** The secret, and the previous one while it is valid. */
function secretsOf(
  key: string | undefined,
  { subscription_id, secret_encrypted, previous_secret_encrypted, previous_secret_until }: ClaimedDelivery,
): string[] {
  const box = new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key));
  const place = subscriptionSecretPlace(subscription_id);
  const previous =
    previous_secret_until === null || previous_secret_encrypted === null ? [] : [previous_secret_encrypted];
  return [secret_encrypted, ...previous].map((sealed) => box.open(sealed, place));
}
