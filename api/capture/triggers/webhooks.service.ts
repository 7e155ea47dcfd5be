import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { SecretBox, SecretUnreadable } from '../../../db/client/crypto.js';
import { noteConnection, webhookSecretPlace } from '../../../db/capture/datacapture-configs.queries.js';
import { countUnmatched } from '../../../db/capture/unmatched-triggers.queries.js';
import { findWebhookEvent, retryWebhookEvent, triggerTakers } from '../../../db/capture/webhook-events.queries.js';
import type { NewTrigger, TriggerTaker, WebhookEventRow } from '../../../db/capture/webhook-events.queries.js';
import { carriedTrace } from '../../../db/client/trace-context.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import { TriggerInbox } from '../../../db/capture/trigger-inbox.js';
import { encryptionKeyBytes } from '../../../settings.js';
import { problem, problemOf } from '../../http/errors.js';
import { auditActor } from '../../http/audit-actor.js';
import { assertAllowed } from '../../http/middleware/rate-limit.js';
import type { Dependencies } from '../../dependencies.js';
import type { RequestScope } from '../../http/state.js';
import { assertAllowedAddress } from './allowed-addresses.js';
import { parseTrigger } from './trigger-body.js';
import { hasValidSignature } from './trigger-signature.js';
import type { SignedRequest } from './trigger-signature.js';

export interface IncomingTrigger {
  raw: Buffer;
  headers: IncomingHttpHeaders;
  urlSignature: string | undefined;
  ip: string;
}

const REMEMBERED = 1_000;

/** The process's cache of projects that send triggers; each write checks that it is still valid. */
interface Memory {
  takers: Map<string, TriggerTaker[]>;
  secrets: Map<string, string>;
  box: SecretBox;
  inbox: TriggerInbox;
}
const memories = new WeakMap<Dependencies, Memory>();

function memoryOf(services: Dependencies): Memory {
  let memory = memories.get(services);
  if (!memory) {
    const key = services.settings.DATACAPTURE_ENCRYPTION_KEY;
    memory = {
      takers: new Map(),
      secrets: new Map(),
      box: new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key)),
      inbox: new TriggerInbox(services.database),
    };
    memories.set(services, memory);
  }
  return memory;
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  if (map.size >= REMEMBERED) map.clear();
  map.set(key, value);
}

/**
 * Accepts a data-entry trigger: the event is committed before this returns, and processed later (decisions, section 6).
 * A trigger of an unknown project, or one whose webhook or integration is off, is accepted and ignored.
 * @returns the record. @throws 400 fields, 401 signature, 403 address, 429, 503 secret unreadable
 */
export async function receiveTrigger(services: Dependencies, request: IncomingTrigger): Promise<string> {
  assertAllowedAddress(request.ip, services.settings.WEBHOOK_ALLOWED_IPS);
  const trigger = await parseTrigger(request.raw, request.headers['content-type'] ?? '');
  const signed = {
    raw: request.raw,
    headers: request.headers,
    urlSignature: request.urlSignature,
    projectId: trigger.project_id,
    ip: request.ip,
  };

  let checked = signedFor(services, signed, memoryOf(services).takers.get(trigger.project_id) ?? []).signed;
  if (checked.length === 0) {
    // Not cached, or the secret was changed elsewhere: only now the database is queried.
    const spent = services.rateLimits.webhook.spent(sender(request.ip));
    if (spent) assertAllowed(spent);
    checked = await checkAgain(services, signed);
    if (checked.length === 0) return trigger.record;
  }
  assertAllowed(await services.rateLimits.webhook.take(`project:${trigger.project_id}`));
  const refused = await commit(services, trigger, checked);
  if (refused.length === 0) return trigger.record;
  // The cache is stale: a configuration has changed, or another study takes the project's triggers as well.
  const done = checked.filter((taker) => !refused.includes(taker)).map(({ study_id }) => study_id);
  const left = (await checkAgain(services, signed)).filter(({ study_id }) => !done.includes(study_id));
  if ((await commit(services, trigger, left)).length > 0) {
    throw problem('UNAVAILABLE', { detail: 'The configuration is being changed: send the trigger again.' });
  }
  return trigger.record;
}

/**
 * Commits an event for each study, in the trace of this call though it shares a statement with others. @returns the
 * studies that refused it
 */
async function commit(
  services: Dependencies,
  trigger: NewTrigger,
  checked: readonly TriggerTaker[],
): Promise<TriggerTaker[]> {
  const { inbox } = memoryOf(services);
  const trace = carriedTrace();
  const taken = await Promise.all(checked.map((taker) => inbox.accept({ id: randomUUID(), trigger, taker, trace })));
  return checked.filter((_, index) => !taken[index]);
}

/**
 * Triggers without a valid signature are counted by address: nobody can use up a project's own limit, and a project not
 * yet cached does not use up the limit of an address that its neighbours share.
 */
const sender = (ip: string) => `ip:${ip}`;

/**
 * The studies that take the trigger, by the database's current state; empty: the project is unknown. @throws 401, 429
 * by address, 503
 */
async function checkAgain(services: Dependencies, request: SignedRequest & { ip: string }): Promise<TriggerTaker[]> {
  const takers = await triggerTakers(services.database, request.projectId);
  const known = memoryOf(services).takers;
  if (takers.length === 0) {
    known.delete(request.projectId);
    assertAllowed(await services.rateLimits.webhook.take(sender(request.ip)));
    await countUnmatched(services.database, request.projectId);
    return [];
  }
  remember(known, request.projectId, takers);
  const { signed, unreadable } = signedFor(services, request, takers);
  for (const { taker, fault } of unreadable) {
    await withStudyScope(services.database, taker.study_id, ({ tx }) =>
      noteConnection(tx, taker.study_id, fault.message),
    );
  }
  if (signed.length > 0) return signed;
  // It may be signed with an unreadable secret: the sender is not told that it is wrong.
  if (unreadable.length > 0) {
    throw problemOf(503, 'SECRET_UNREADABLE', 'The webhook secret of this project cannot be read at the moment.', {
      cause: unreadable[0]!.fault,
      headers: { 'Retry-After': '60' },
    });
  }
  assertAllowed(await services.rateLimits.webhook.take(sender(request.ip)));
  throw problemOf(401, 'INVALID_SIGNATURE', 'The trigger is not signed with the webhook secret of its project.');
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
  const { secrets, box } = memoryOf(services);
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

/** Requeues a failed trigger. @throws 404, 409 NOT_FAILED */
export async function retryTrigger({ tx, audit, actor, context }: RequestScope, id: string): Promise<WebhookEventRow> {
  const event = await findWebhookEvent(tx, id, 'for update');
  if (!event) throw problem('NOT_FOUND', { detail: 'There is no such webhook event.' });
  if (event.status !== 'failed')
    throw problemOf(409, 'NOT_FAILED', `Only a failed trigger can be retried; this one is ${event.status}.`);
  const retried = await retryWebhookEvent(tx, event);
  audit.record({
    ...auditActor(actor, context),
    study_id: event.study_id,
    action: 'webhook_event_retried',
    resource_type: 'webhook_event',
    resource_id: event.id,
    metadata: { attempt: retried.attempt },
  });
  return retried;
}

/** A webhook event for display. */
export const webhookEventView = (row: WebhookEventRow) => ({
  id: row.id,
  study_id: row.study_id,
  project_id: row.project_id,
  record: row.record,
  instrument: row.instrument,
  event_name: row.event_name,
  status: row.status,
  outcome: row.outcome,
  error: row.error,
  duplicate_of_id: row.duplicate_of_id,
  participant_id: row.participant_id,
  warnings: row.warnings,
  attempt: row.attempt,
  received_at: row.received_at,
  processed_at: row.processed_at,
});
