import { nowIso } from '../../db/client/clock.js';
import { insertByHand, lockByHand } from '../../db/notifications/by-hand.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { reminderByHand } from '../../workflows/domain/notifications/by-hand.js';
import { reasonInWords } from '../../workflows/domain/notifications/explain.js';
import { auditActor } from '../http/audit-actor.js';
import { problem } from '../http/errors.js';
import type { RequestScope } from '../http/state.js';

/**
 * Sends a visit's participant a reminder at once, on the study's first channel that reaches them. Two clicks send one
 * reminder.
 * @returns the channel
 * @throws 404, 409 REMINDER_NOT_SENT with the reason, QUIET_HOURS
 */
export async function remindByHand({ tx, audit, actor, context }: RequestScope, visitId: string): Promise<string> {
  const facts = await lockByHand(tx, visitId);
  if (!facts) throw problem('NOT_FOUND', { detail: 'There is no such visit.' });
  const found = reminderByHand(facts, nowIso());
  if (found.what === 'wait')
    throw problem('QUIET_HOURS', { detail: `The participant has quiet hours until ${found.until}.` });
  if (found.what === 'not')
    throw problem('REMINDER_NOT_SENT', { detail: `No reminder is sent: ${reasonInWords(found.reason)}.` });
  if (facts.just_now !== null) return found.channel;
  const id = await insertByHand(tx, facts, found);
  audit.record({
    ...auditActor(actor, context),
    study_id: facts.study_id,
    action: 'notification_sent_by_hand',
    resource_type: 'notification',
    resource_id: id,
    metadata: { kind: found.kind, channel: found.channel, visit_id: visitId },
  });
  await putOutbox(tx, [{ topic: 'notification', studyId: facts.study_id, subject: id }]);
  return found.channel;
}
