import { query } from '../client/query.js';
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
const COLUMNS = 'id, participant_id, caregiver_id, created_at';

export async function feedsOf(tx: Tx, participantId: string): Promise<CalendarFeed[]> {
  return tx('calendar_feeds')
    .where({ participant_id: participantId })
    .orderBy(['created_at', 'id'])
    .select(tx.raw(COLUMNS)) as Promise<CalendarFeed[]>;
}

export const feedOf = async (
  tx: Tx,
  { participant_id, caregiver_id }: Omit<FeedOf, 'study_id'>,
): Promise<CalendarFeed | undefined> =>
  (await feedsOf(tx, participant_id)).find((feed) => feed.caregiver_id === caregiver_id);

/** Makes a feed where there is none yet. */
export async function keepFeed(tx: Tx, of: FeedOf, by: string | null): Promise<{ feed: CalendarFeed; isNew: boolean }> {
  const rows = await query<CalendarFeed>(
    tx,
    `insert into calendar_feeds (study_id, participant_id, caregiver_id, created_by_id) values ($1, $2, $3, $4)
     on conflict (participant_id, coalesce(caregiver_id, participant_id)) do nothing returning ${COLUMNS}`,
    [of.study_id, of.participant_id, of.caregiver_id, by],
  );
  const [made] = rows;
  return made ? { feed: made, isNew: true } : { feed: (await feedOf(tx, of))!, isNew: false };
}

export const dropFeed = async (tx: Tx, id: string): Promise<void> => {
  await tx('calendar_feeds').where({ id }).delete();
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
  const rows = await query<ReadFeed>(
    tx,
    `select f.participant_id, s.study_name, s.config -> 'public_name' as public_name, s.config #>> '{notifications,default_language}' as default_language,
       coalesce(c.preferred_language, p.preferred_language) as language
     from calendar_feeds f join participants p on p.id = f.participant_id join studies s on s.id = f.study_id left join caregivers c on c.id = f.caregiver_id
     where f.id = $1 and (f.caregiver_id is null or c.status = 'active')`,
    [id],
  );
  return rows[0];
}
