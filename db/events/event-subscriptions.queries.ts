import { raw } from 'objection';
import { EventSubscriptionRow } from '../models/messages.js';
import { lockByName } from '../client/advisory-lock.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Tx } from '../client/database.js';

/** A subscription for display. */
export interface EventSubscription {
  id: string;
  study_id: string;
  url: string;
  description: string | null;
  events: string[];
  ordered: boolean;
  status: 'active' | 'disabled';
  disabled_reason: string | null;
  disabled_at: string | null;
  previous_secret_until: string | null;
  created_at: string;
  updated_at: string;
}
/** The stored signing secrets of its deliveries. */
export interface SubscriptionSecrets {
  secret_encrypted: string;
  previous_secret_encrypted: string | null;
  previous_secret_until: string | null;
}

const SHOWN =
  'id, study_id, url, description, events, ordered, status, disabled_reason, disabled_at, ' +
  'previous_secret_until, created_at, updated_at';

/** The storage place of a subscription's secret, authenticated with its ciphertext. */
export const subscriptionSecretPlace = (subscriptionId: string): string =>
  `event_subscriptions.secret:${subscriptionId}`;

export function listSubscriptions(
  tx: Tx,
  studyId: string,
  filter: Page & { status?: string | undefined },
): Promise<Listed<EventSubscription>> {
  const found = tx('event_subscriptions')
    .where('study_id', studyId)
    .modify((q) => {
      if (filter.status) q.where('status', filter.status);
    });
  return page(tx, found, SHOWN, filter, { created_at: 'created_at' }, 'id');
}

export async function subscriptionById(
  tx: Tx,
  studyId: string,
  id: string,
  lock = false,
): Promise<EventSubscription | undefined> {
  const found = EventSubscriptionRow.query(tx).findById(id).where({ study_id: studyId });
  if (lock) void found.forUpdate();
  return found.select(raw(SHOWN)).castTo<EventSubscription | undefined>();
}

export interface NewSubscription {
  id: string;
  study_id: string;
  url: string;
  description: string | null;
  events: string[];
  ordered: boolean;
  secret_encrypted: string;
  created_by_id: string;
}

export async function countSubscriptions(tx: Tx, studyId: string): Promise<number> {
  await lockByName(tx, `event subscriptions ${studyId}`);
  return EventSubscriptionRow.query(tx).where({ study_id: studyId }).resultSize();
}

export async function insertSubscription(tx: Tx, subscription: NewSubscription): Promise<void> {
  await EventSubscriptionRow.query(tx).insert(subscription);
}

export async function updateSubscription(
  tx: Tx,
  id: string,
  change: { url?: string; description?: string | null; events?: string[]; ordered?: boolean },
): Promise<void> {
  if (Object.keys(change).length > 0) await EventSubscriptionRow.query(tx).findById(id).patch(change);
}

export async function enableSubscription(tx: Tx, id: string): Promise<void> {
  await EventSubscriptionRow.query(tx)
    .findById(id)
    .patch({ status: 'active', disabled_reason: null, disabled_at: null });
}

/** Whether a subscription's events still go to this address. They do until the transaction ends. */
export async function isDeliveredTo(tx: Tx, id: string, url: string): Promise<boolean> {
  return (await EventSubscriptionRow.query(tx).findById(id).where({ url }).forUpdate().select('id')) !== undefined;
}

/**
 * Stops a subscription: pending deliveries fail permanently, and can be sent again by hand.
 * @returns how many deliveries that were; undefined: it was disabled already
 */
export async function disableSubscription(tx: Tx, id: string, reason: string): Promise<number | undefined> {
  const disabled = await EventSubscriptionRow.query(tx)
    .findById(id)
    .where({ status: 'active' })
    .patch({ status: 'disabled', disabled_reason: reason, disabled_at: raw('clock_timestamp()') });
  if (disabled === 0) return undefined;
  return EventSubscriptionRow.relatedQuery('deliveries', tx)
    .for(id)
    .where({ status: 'pending' })
    .patch({ status: 'failed', next_attempt_at: null, last_error: 'the subscription was disabled' });
}

/** Sets a new secret; the previous one also signs until the overlap ends. */
export async function replaceSecret(tx: Tx, id: string, sealed: string, overlapHours: number): Promise<void> {
  await EventSubscriptionRow.query(tx)
    .findById(id)
    .patch({
      previous_secret_encrypted: raw('secret_encrypted'),
      previous_secret_until: raw(`clock_timestamp() + ? * interval '1 hour'`, [overlapHours]),
      secret_encrypted: sealed,
    });
}

/** Sets a new secret at once: the previous one no longer signs. */
export async function giveNewSecret(tx: Tx, id: string, sealed: string): Promise<void> {
  await EventSubscriptionRow.query(tx)
    .findById(id)
    .patch({ secret_encrypted: sealed, previous_secret_encrypted: null, previous_secret_until: null });
}

export async function deleteSubscription(tx: Tx, id: string): Promise<void> {
  await EventSubscriptionRow.query(tx).deleteById(id);
}

/**
 * Re-encrypts every stored secret, in the caller's transaction.
 * @param renew the secret under the new key; undefined: it already is
 * @returns the studies whose subscriptions changed
 */
export async function rotateSubscriptionSecrets(
  tx: Tx,
  renew: (sealed: string, place: string) => string | undefined,
): Promise<string[]> {
  const rows: ({ id: string; study_id: string } & SubscriptionSecrets)[] = await tx('event_subscriptions')
    .orderBy('study_id')
    .forUpdate();
  const studies = new Set<string>();
  for (const { id, study_id, secret_encrypted, previous_secret_encrypted } of rows) {
    const place = subscriptionSecretPlace(id);
    const secret = renew(secret_encrypted, place);
    const previous = previous_secret_encrypted === null ? undefined : renew(previous_secret_encrypted, place);
    if (!secret && !previous) continue;
    await tx('event_subscriptions')
      .where({ id })
      .update({
        ...(secret && { secret_encrypted: secret }),
        ...(previous && { previous_secret_encrypted: previous }),
      });
    studies.add(study_id);
  }
  return [...studies];
}
