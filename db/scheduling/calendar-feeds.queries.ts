import { raw } from 'objection';
import { CalendarFeedRow } from '../models/portal.js';
import type { Tx } from '../client/database.js';

export interface CalendarFeed {
  id: string;
  participant_id: string;
  caregiver_id: string | null;
  created_at: string;
}
/** The owner of a feed: a participant, or one of its caregivers. */
export interface FeedOf {
  study_id: string;
  participant_id: string;
  caregiver_id: string | null;
}
const COLUMNS = ['id', 'participant_id', 'caregiver_id', 'created_at'];

export async function feedsOf(tx: Tx, participantId: string): Promise<CalendarFeed[]> {
  return CalendarFeedRow.query(tx)
    .where({ participant_id: participantId })
    .orderBy(['created_at', 'id'])
    .select(...COLUMNS);
}

export const feedOf = async (
  tx: Tx,
  { participant_id, caregiver_id }: Omit<FeedOf, 'study_id'>,
): Promise<CalendarFeed | undefined> =>
  (await feedsOf(tx, participant_id)).find((feed) => feed.caregiver_id === caregiver_id);

/** Creates a feed if there is none yet. */
export async function keepFeed(
  tx: Tx,
  subject: FeedOf,
  by: string | null,
): Promise<{ feed: CalendarFeed; isNew: boolean }> {
  const [made] = (await tx('calendar_feeds')
    .insert({
      study_id: subject.study_id,
      participant_id: subject.participant_id,
      caregiver_id: subject.caregiver_id,
      created_by_id: by,
    })
    .onConflict(tx.raw('(participant_id, coalesce(caregiver_id, participant_id))'))
    .ignore()
    .returning(COLUMNS)) as CalendarFeed[];
  return made ? { feed: made, isNew: true } : { feed: (await feedOf(tx, subject))!, isNew: false };
}

export const dropFeed = async (tx: Tx, id: string): Promise<void> => {
  await CalendarFeedRow.query(tx).deleteById(id);
};

/** A feed as read at its address, with its reader's language. */
export interface ReadFeed {
  participant_id: string;
  study_name: string;
  public_name: unknown;
  language: string | null;
  default_language: string | null;
}

/** Undefined: it was revoked, or its caregiver has no access any more. */
export async function feedToRead(tx: Tx, id: string): Promise<ReadFeed | undefined> {
  return CalendarFeedRow.query(tx)
    .alias('f')
    .joinRelated('participant', { alias: 'p' })
    .joinRelated('study', { alias: 's' })
    .leftJoinRelated('caregiver', { alias: 'c' })
    .where('f.id', id)
    .where((q) => {
      void q.whereNull('f.caregiver_id').orWhere('c.status', 'active');
    })
    .select('f.participant_id', 's.study_name')
    .select(
      raw(`s.config -> 'public_name' as public_name`),
      raw(`s.config #>> '{notifications,default_language}' as default_language`),
      raw('coalesce(c.preferred_language, p.preferred_language) as language'),
    )
    .first()
    .castTo<ReadFeed | undefined>();
}
