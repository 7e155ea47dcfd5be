import { dropFeed, feedOf, feedToRead, feedsOf, keepFeed } from '../../db/scheduling/calendar-feeds.queries.js';
import type { CalendarFeed, FeedOf } from '../../db/scheduling/calendar-feeds.queries.js';
import { signedToken, subjectOfToken } from '../../db/notifications/signed-links.js';
import { readInScope } from '../../db/client/transaction.js';
import { connectableHost } from '../../settings.js';
import { builtInLanguage } from '../../workflows/domain/notifications/built-in.js';
import { publicName } from '../../workflows/domain/notifications/study-face.js';
import type { Actor, ParticipantCaller } from '../http/access.js';
import { sessionSecret } from '../http/security/portal.js';
import { problem } from '../http/errors.js';
import type { RequestScope } from '../http/state.js';
import { auditActor } from '../http/audit-actor.js';
import type { Reply } from '../http/route.js';
import type { Dependencies } from '../dependencies.js';
import { visitCalendar } from './visit-calendar.service.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';
import { erasedAt } from '../../db/participants/erasure.queries.js';
import { lockForShare } from '../participants/participants.service.js';
import { LOWERCASE_UUID } from '../../db/client/uuid.js';

type Settings = Dependencies['settings'];
type Change = RequestScope<Actor | ParticipantCaller>;
const PATH = '/api/calendar/visits.ics';

/** A feed with its secret address for calendar programs. */
const shown = (settings: Settings, feed: CalendarFeed) => {
  const base = (settings.PUBLIC_URL ?? `http://${connectableHost(settings.HOST)}:${settings.PORT}`).replace(/\/+$/, '');
  return { ...feed, url: `${base}${PATH}?token=${signedToken(sessionSecret(settings), 'calendar-feed', feed.id)}` };
};

/** The owner of a portal token's feed: the participant, or the requesting caregiver. */
const ownFeed = ({ id, study_id, caregiver }: ParticipantCaller): FeedOf => ({
  study_id,
  participant_id: id,
  caregiver_id: caregiver?.id ?? null,
});

export const listFeeds = async (tx: Tx, settings: Settings, participantId: string) =>
  (await feedsOf(tx, participantId)).map((feed) => shown(settings, feed));

/** @throws 404 */
export async function readOwnFeed(tx: Tx, settings: Settings, actor: ParticipantCaller) {
  const feed = await feedOf(tx, ownFeed(actor));
  if (!feed) throw problem('NOT_FOUND', { detail: 'There is no calendar feed.' });
  return shown(settings, feed);
}

/** The participant's feed; it is created if there is none. @throws 409 PARTICIPANT_ERASED */
export async function openFeed(change: Change, settings: Settings, subject?: FeedOf) {
  const { tx, audit, actor, context } = change;
  const whose = subject ?? ownFeed(actor as ParticipantCaller);
  // The erasure ends the feeds: none may be made beside it.
  await lockForShare(tx, whose.participant_id);
  if (await erasedAt(tx, whose.participant_id))
    throw problem('PARTICIPANT_ERASED', { detail: 'The participant’s identity was erased: nobody has this calendar.' });
  const { feed, isNew } = await keepFeed(tx, whose, actor.role === 'participant' ? null : actor.id);
  if (isNew)
    audit.record({ ...recordOf(actor, context, feed), study_id: whose.study_id, action: 'calendar_feed_made' });
  return { feed: shown(settings, feed), isNew };
}

/** Revokes a feed: its address becomes invalid. @throws 404 */
export async function revokeFeed(
  { tx, audit, actor, context }: Change,
  feed: CalendarFeed | undefined,
  study_id: string,
): Promise<void> {
  if (!feed) throw problem('NOT_FOUND', { detail: 'There is no calendar feed.' });
  await dropFeed(tx, feed.id);
  audit.record({ ...recordOf(actor, context, feed), study_id, action: 'calendar_feed_revoked' });
}

export const revokeOwnFeed = async (change: Change & { actor: ParticipantCaller }): Promise<void> =>
  revokeFeed(change, await feedOf(change.tx, ownFeed(change.actor)), change.actor.study_id);

const recordOf = (actor: Actor | ParticipantCaller, context: RequestContext, feed: CalendarFeed) => ({
  ...(actor.role === 'participant' ? { user_id: null, request_id: context.requestId } : auditActor(actor, context)),
  resource_type: 'participant',
  resource_id: feed.participant_id,
  metadata: { calendar_feed_id: feed.id, ...(feed.caregiver_id && { caregiver_id: feed.caregiver_id }) },
});

/** The calendar at a secret address, in its reader's language. @throws 404 */
export async function readFeed({ database, settings }: Dependencies, token: string): Promise<Reply> {
  const id = subjectOfToken(sessionSecret(settings), 'calendar-feed', token);
  const gone = problem('NOT_FOUND', { detail: 'There is no such calendar feed.' });
  if (!id || !LOWERCASE_UUID.test(id)) throw gone;
  return readInScope(database, '*', async (tx) => {
    const feed = await feedToRead(tx, id);
    if (!feed) throw gone;
    const language = builtInLanguage(feed.language, feed.default_language);
    return visitCalendar(tx, feed.participant_id, { language, name: publicName(feed, feed.language ?? language) });
  });
}
