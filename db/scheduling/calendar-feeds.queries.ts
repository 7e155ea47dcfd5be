import { raw } from 'objection';
import { CalendarFeedRow } from '../models/portal.js';
import type { Tx } from '../client/database.js';

export interface CalendarFeed {
  id: string;
  participant_id: string;
  caregiver_id: string | null;
  created_at: string;
}
/** Whose feed: a participant's own, or that of one who cares for it. */
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

/** Makes a feed where there is none yet. */
export async function keepFeed(tx: Tx, of: FeedOf, by: string | null): Promise<{ feed: CalendarFeed; isNew: boolean }> {
  const [made] = (await tx('calendar_feeds')
    .insert({
      study_id: of.study_id,
      participant_id: of.participant_id,
      caregiver_id: of.caregiver_id,
      created_by_id: by,
    })
    .onConflict(tx.raw('(participant_id, coalesce(caregiver_id, participant_id))'))
    .ignore()
    .returning(COLUMNS)) as CalendarFeed[];
  return made ? { feed: made, isNew: true } : { feed: (await feedOf(tx, of))!, isNew: false };
}

export const dropFeed = async (tx: Tx, id: string): Promise<void> => {
  await CalendarFeedRow.query(tx).deleteById(id);
};

/** A feed as it is read by its address, with the language of its reader. */
export interface ReadFeed {
  participant_id: string;
  study_name: string;
  public_name: unknown;
  language: string | null;
  default_language: string | null;
}

/** Undefined: it was revoked, or is that of a caregiver who is let in no more. */
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
