import { noteConnection, webhookSecretPlace } from '../../../db/capture/datacapture-configs.queries.js';
import { countUnmatched } from '../../../db/capture/unmatched-triggers.queries.js';
import { triggerTakers } from '../../../db/capture/webhook-events.queries.js';
import type { TriggerTaker } from '../../../db/capture/webhook-events.queries.js';
import { SecretBox, SecretUnreadable } from '../../../db/client/crypto.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import { networkOf } from '../../../db/identity/caller-network.js';
import { encryptionKeyBytes } from '../../../settings.js';
import type { Dependencies } from '../../dependencies.js';
import { problem } from '../../http/errors.js';
import { assertAllowed, rateHeaders } from '../../http/middleware/rate-limit.js';
import type { Allowance } from '../../http/rate-limits.js';
import { hasValidSignature } from './trigger-signature.js';
import type { SignedRequest } from './trigger-signature.js';

type TriggerRequest = SignedRequest & { ip: string };

const MAX_CACHED = 1_000;

/** The process's cache of projects that send triggers; each write checks that it is still valid. */
interface Cache {
  takers: Map<string, TriggerTaker[]>;
  secrets: Map<string, string>;
  box: SecretBox;
}
const caches = new WeakMap<Dependencies, Cache>();

function cacheOf(services: Dependencies): Cache {
  let cache = caches.get(services);
  if (!cache) {
    const key = services.settings.DATACAPTURE_ENCRYPTION_KEY;
    cache = {
      takers: new Map(),
      secrets: new Map(),
      box: new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key)),
    };
    caches.set(services, cache);
  }
  return cache;
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  if (map.size >= MAX_CACHED) map.clear();
  map.set(key, value);
}

/** The studies that take a trigger; none: the project is unknown, and its sender is counted. */
type Takers = { takers: TriggerTaker[]; sender?: undefined } | { takers: []; sender: Allowance };

/**
 * The studies that take the trigger: those of the cache, or of the database if none of the cache signed it.
 * @throws 401, 429 by address, 503
 */
export async function takersOf(services: Dependencies, request: TriggerRequest): Promise<Takers> {
  const { signed } = signedFor(services, request, cacheOf(services).takers.get(request.projectId) ?? []);
  if (signed.length > 0) return { takers: signed };
  // Not cached, or the secret was changed elsewhere: only now the database is queried.
  const spent = services.rateLimits.webhook.spent(sender(request.ip));
  if (spent) assertAllowed(spent);
  return takersNow(services, request);
}

/** The studies that take the trigger, by the database's current state. @throws 401, 429 by address, 503 */
export async function takersNow(services: Dependencies, request: TriggerRequest): Promise<Takers> {
  const takers = await triggerTakers(services.database, request.projectId);
  const known = cacheOf(services).takers;
  if (takers.length === 0) {
    known.delete(request.projectId);
    const allowance = await countSender(services, request);
    await countUnmatched(services.database, request.projectId);
    return { takers: [], sender: allowance };
  }
  remember(known, request.projectId, takers);
  const { signed, unreadable } = signedFor(services, request, takers);
  for (const { taker, fault } of unreadable) {
    await withStudyScope(services.database, taker.study_id, ({ tx }) =>
      noteConnection(tx, taker.study_id, fault.message),
    );
  }
  if (signed.length > 0) return { takers: signed };
  // It may be signed with an unreadable secret: the sender is not told that it is wrong.
  if (unreadable.length > 0) {
    throw problem('SECRET_UNREADABLE', {
      cause: unreadable[0]!.fault,
      headers: { 'Retry-After': '60' },
    });
  }
  throw problem('INVALID_SIGNATURE', {
    headers: rateHeaders(await countSender(services, request)),
  });
}

/**
 * Triggers without a valid signature are counted by address: nobody can use up a project's own limit, and a project not
 * yet cached does not use up the limit of an address that its neighbours share.
 */
const sender = (ip: string) => `ip:${networkOf(ip)}`;

/** @throws 429 */
async function countSender({ rateLimits }: Dependencies, { ip }: TriggerRequest): Promise<Allowance> {
  const allowance = await rateLimits.webhook.take(sender(ip));
  assertAllowed(allowance);
  return allowance;
}

interface Signed {
  signed: TriggerTaker[];
  unreadable: { taker: TriggerTaker; fault: SecretUnreadable }[];
}

/**
 * Studies whose secret the trigger is signed with: two capture systems may use the same project number. An unreadable
 * secret affects its own study only, and is checked again once another is stored.
 */
function signedFor(services: Dependencies, request: SignedRequest, takers: readonly TriggerTaker[]): Signed {
  const result: Signed = { signed: [], unreadable: [] };
  for (const taker of takers) {
    if (taker.webhook_secret_encrypted === null) continue;
    const secret = secretOf(services, taker, taker.webhook_secret_encrypted);
    if (secret instanceof SecretUnreadable) result.unreadable.push({ taker, fault: secret });
    else if (hasValidSignature(request, secret, taker.webhook_auth)) result.signed.push(taker);
  }
  return result;
}

function secretOf(services: Dependencies, taker: TriggerTaker, sealed: string): string | SecretUnreadable {
  const { secrets, box } = cacheOf(services);
  const known = secrets.get(sealed);
  if (known !== undefined) return known;
  try {
    const secret = box.open(sealed, webhookSecretPlace(taker.study_id));
    remember(secrets, sealed, secret);
    return secret;
  } catch (fault) {
    if (fault instanceof SecretUnreadable) return fault;
    throw fault;
  }
}
