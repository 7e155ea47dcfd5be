import type { AuditTrail } from '../../db/audit/audit.js';
import { optIn, optOut, optOutsOf } from '../../db/notifications/notifications.queries.js';
import { subjectOfToken } from '../../db/notifications/signed-links.js';
import { studyShownTo } from '../../db/studies/study-face.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import type { ParticipantCaller } from '../http/access.js';
import { askingPage, endedPage } from './opt-out-page.js';
import { sessionSecret } from '../http/security/portal.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

const CHANNELS = ['email', 'sms', 'push'] as const;
export type Preferences = Record<(typeof CHANNELS)[number], boolean>;

/** The channels on which a participant gets messages; by default all. */
export async function preferences(tx: Tx, participantId: string): Promise<Preferences> {
  const out = await optOutsOf(tx, participantId);
  return Object.fromEntries(CHANNELS.map((channel) => [channel, !out.includes(channel)])) as Preferences;
}

export async function changePreferences(
  { tx, audit, actor, context }: { tx: Tx; audit: AuditTrail; actor: ParticipantCaller; context: RequestContext },
  input: Partial<Preferences>,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<Preferences> {
  assertIfMatch({ ...(await preferences(tx, actor.id)) });
  for (const channel of CHANNELS.filter((name) => input[name] !== undefined)) {
    const changed = input[channel]
      ? await optIn(tx, actor.id, channel)
      : (await optOut(tx, actor.id, channel, 'portal'))?.isNew;
    if (changed)
      audit.record({
        study_id: actor.study_id,
        user_id: null,
        request_id: context.requestId,
        action: input[channel] ? 'messages_opted_in' : 'messages_opted_out',
        resource_type: 'participant',
        resource_id: actor.id,
        metadata: { channel, by: actor.caregiver ? 'caregiver' : 'participant' },
      });
  }
  return preferences(tx, actor.id);
}

/** The participant and channel of an opt-out link. @throws 404 for a forged one */
function meant(services: Dependencies, token: string): { participantId: string; channel: string } {
  const subject = subjectOfToken(sessionSecret(services.settings), 'unsubscribe', token);
  if (!subject) throw problem('NOT_FOUND', { detail: 'This link is not valid.' });
  const [participantId, channel] = subject.split('.') as [string, string];
  return { participantId, channel };
}

/** The page behind the link. It asks for confirmation: mail programs open links automatically. @throws 404 */
export async function unsubscribePage(services: Dependencies, token: string): Promise<string> {
  const { participantId, channel } = meant(services, token);
  return askingPage(await readInScope(services.database, '*', (tx) => shownTo(tx, participantId)), channel);
}

async function shownTo(tx: Tx, participantId: string) {
  const study = await studyShownTo(tx, participantId);
  if (!study) throw problem('NOT_FOUND', { detail: 'This link is not valid any more.' });
  return study;
}

/** Ends a channel's messages by the link in one of them; it is idempotent. @throws 404 */
export async function unsubscribe(services: Dependencies, token: string, context: RequestContext): Promise<string> {
  const { participantId, channel } = meant(services, token);
  return withStudyScope(services.database, '*', async ({ tx, audit }) => {
    const out = await optOut(tx, participantId, channel, 'link');
    if (!out) throw problem('NOT_FOUND', { detail: 'This link is not valid any more.' });
    if (out.isNew)
      audit.record({
        study_id: out.study_id,
        user_id: null,
        request_id: context.requestId,
        action: 'messages_opted_out',
        resource_type: 'participant',
        resource_id: participantId,
        metadata: { channel, by: 'link' },
      });
    return endedPage(await shownTo(tx, participantId));
  });
}
