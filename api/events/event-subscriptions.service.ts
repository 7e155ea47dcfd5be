import { randomBytes, randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import { deliveryById, redeliver } from '../../db/events/event-deliveries.queries.js';
import type { EventDelivery } from '../../db/events/event-deliveries.queries.js';
import {
  countSubscriptions,
  deleteSubscription,
  disableSubscription,
  enableSubscription,
  giveNewSecret,
  insertSubscription,
  replaceSecret,
  subscriptionById,
  subscriptionSecretPlace,
  updateSubscription,
} from '../../db/events/event-subscriptions.queries.js';
import type { EventSubscription } from '../../db/events/event-subscriptions.queries.js';
import { brokenRule, problem } from '../http/errors.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import type { EventSubscriptionChange, NewEventSubscription } from './events.schemas.js';
import { seal } from '../secrets.js';
import type { Dependencies } from '../dependencies.js';
import { requireOutgoingUrl } from '../http/outgoing-urls.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

interface SubscriptionChange extends RequestScope {
  services: Dependencies;
}

/** More than any study has receivers: each event goes to all of them. */
const MAX_SUBSCRIPTIONS = 50;
const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/**
 * Subscribes to a study's events. @returns the subscription with its secret, shown only here. @throws 400 the url, or
 * too many of them, 503 without an encryption key
 */
export async function createSubscription(
  { tx, audit, actor, context, services }: SubscriptionChange,
  studyId: string,
  input: Static<typeof NewEventSubscription>,
): Promise<EventSubscription & { secret: string }> {
  requireOutgoingUrl(services.settings, input.url, 'url');
  if ((await countSubscriptions(tx, studyId)) >= MAX_SUBSCRIPTIONS)
    throw brokenRule('url', 'TOO_MANY', `is one too many: the study has ${MAX_SUBSCRIPTIONS} subscriptions`);
  const id = randomUUID();
  const secret = newSecret();
  const { url, events, description = null, ordered = false } = input;
  await insertSubscription(tx, {
    id,
    study_id: studyId,
    url,
    events,
    description,
    ordered,
    secret_encrypted: seal(services, secret, subscriptionSecretPlace(id)),
    created_by_id: actor.id,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'event_subscription_created',
    resource_type: 'event_subscription',
    resource_id: id,
    metadata: { events, ordered, host: new URL(url).host },
  });
  return { ...(await getSubscriptionOrThrow(tx, studyId, id)), secret };
}

/**
 * Changes a subscription, disables or re-enables it. Another url gets a new secret, shown only here: the previous one
 * belongs to the former receiver.
 * @throws 404, 400 the url, 409 STALE
 */
export async function changeSubscription(
  change: SubscriptionChange,
  studyId: string,
  id: string,
  input: Static<typeof EventSubscriptionChange>,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<EventSubscription & { secret?: string }> {
  const { tx, audit, actor, context, services } = change;
  const before = await getSubscriptionOrThrow(tx, studyId, id, true);
  assertIfMatch({ ...before });
  const fields = changedFields({ ...before }, input);
  if (fields.length === 0) return before;
  if (input.url !== undefined) requireOutgoingUrl(services.settings, input.url, 'url');
  const { status, ...values } = input;
  await updateSubscription(tx, id, values);
  const secret = fields.includes('url') ? newSecret() : undefined;
  if (secret) await giveNewSecret(tx, id, seal(services, secret, subscriptionSecretPlace(id)));
  if (status === 'disabled') await disableSubscription(tx, id, 'disabled by hand');
  if (status === 'active' && before.status === 'disabled') await enableSubscription(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'event_subscription_changed',
    resource_type: 'event_subscription',
    resource_id: id,
    metadata: {
      fields,
      ...(status && { status }),
      ...(secret && { host_before: new URL(before.url).host, host: new URL(input.url!).host }),
    },
  });
  return { ...(await getSubscriptionOrThrow(tx, studyId, id)), ...(secret && { secret }) };
}

/** @throws 404, 409 STALE */
export async function removeSubscription(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<void> {
  assertIfMatch({ ...(await getSubscriptionOrThrow(tx, studyId, id, true)) });
  await deleteSubscription(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'event_subscription_deleted',
    resource_type: 'event_subscription',
    resource_id: id,
  });
}

/** Creates a new secret; the previous one also signs for EVENT_SECRET_OVERLAP_HOURS. @throws 404, 503 */
export async function rotateSecret(
  { tx, audit, actor, context, services }: SubscriptionChange,
  studyId: string,
  id: string,
): Promise<{ id: string; secret: string; previous_secret_until: string }> {
  await getSubscriptionOrThrow(tx, studyId, id, true);
  const secret = newSecret();
  await replaceSecret(
    tx,
    id,
    seal(services, secret, subscriptionSecretPlace(id)),
    services.settings.EVENT_SECRET_OVERLAP_HOURS,
  );
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'event_subscription_secret_rotated',
    resource_type: 'event_subscription',
    resource_id: id,
  });
  const { previous_secret_until } = await getSubscriptionOrThrow(tx, studyId, id);
  return { id, secret, previous_secret_until: previous_secret_until! };
}

/** Sends a delivery again: same id, same body. @throws 404, 409 SUBSCRIPTION_DISABLED */
export async function redeliverEvent(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  subscriptionId: string,
  id: string,
): Promise<EventDelivery> {
  const subscription = await getSubscriptionOrThrow(tx, studyId, subscriptionId);
  const before = await existingDelivery(tx, subscriptionId, id);
  if (subscription.status === 'disabled') throw problem('SUBSCRIPTION_DISABLED');
  await redeliver(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'event_redelivered',
    resource_type: 'event_delivery',
    resource_id: id,
    metadata: { subscription_id: subscriptionId, event_id: before.event_id, status_before: before.status },
  });
  return existingDelivery(tx, subscriptionId, id);
}

export async function getSubscriptionOrThrow(
  tx: Tx,
  studyId: string,
  id: string,
  lock = false,
): Promise<EventSubscription> {
  const subscription = await subscriptionById(tx, studyId, id, lock);
  if (!subscription) throw problem('NOT_FOUND', { detail: 'There is no such event subscription.' });
  return subscription;
}

async function existingDelivery(tx: Tx, subscriptionId: string, id: string): Promise<EventDelivery> {
  const delivery = await deliveryById(tx, subscriptionId, id);
  if (!delivery) throw problem('NOT_FOUND', { detail: 'There is no such delivery.' });
  return delivery;
}
