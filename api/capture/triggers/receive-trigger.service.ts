import type { IncomingHttpHeaders } from 'node:http';
import { TriggerInbox } from '../../../db/capture/trigger-inbox.js';
import type { Dependencies } from '../../dependencies.js';
import { problem } from '../../http/errors.js';
import { assertAllowed } from '../../http/middleware/rate-limit.js';
import type { Allowance } from '../../http/rate-limits.js';
import { parseTrigger } from './trigger-body.js';
import { takersNow, takersOf } from './trigger-takers.js';

export interface IncomingTrigger {
  raw: Buffer;
  headers: IncomingHttpHeaders;
  urlSignature: string | undefined;
  ip: string;
}

/**
 * Accepts a data-entry trigger: the event is committed before this returns, and processed later. A trigger of an
 * unknown project, or one whose webhook or integration is off, is accepted and ignored.
 * @returns the record, and what is left to its project or, of an unknown one, to its sender
 * @throws 400 fields, 401 signature, 429, 503 secret unreadable
 */
export async function receiveTrigger(
  services: Dependencies,
  request: IncomingTrigger,
): Promise<{ record: string; allowance: Allowance }> {
  const trigger = await parseTrigger(request.raw, request.headers['content-type'] ?? '');
  const signed = { ...request, projectId: trigger.project_id };
  const { record } = trigger;
  const { takers: checked, sender } = await takersOf(services, signed);
  if (sender) return { record, allowance: sender };
  const allowance = await services.rateLimits.webhook.take(`project:${trigger.project_id}`);
  assertAllowed(allowance);
  const inbox = inboxOf(services);
  const refused = await inbox.accept(trigger, checked);
  if (refused.length === 0) return { record, allowance };
  // The cache is stale: a configuration has changed, or another study takes the project's triggers as well.
  const done = checked.filter((taker) => !refused.includes(taker)).map(({ study_id }) => study_id);
  const left = (await takersNow(services, signed)).takers.filter(({ study_id }) => !done.includes(study_id));
  if ((await inbox.accept(trigger, left)).length > 0) {
    throw problem('UNAVAILABLE', { detail: 'The configuration is being changed: send the trigger again.' });
  }
  return { record, allowance };
}

/** The process's one inbox. */
const inboxes = new WeakMap<Dependencies, TriggerInbox>();

function inboxOf(services: Dependencies): TriggerInbox {
  let inbox = inboxes.get(services);
  if (!inbox) inboxes.set(services, (inbox = new TriggerInbox(services.database)));
  return inbox;
}
