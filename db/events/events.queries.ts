import { raw } from 'objection';
import { DomainEvent } from '../models/messages.js';
import { prepared } from '../client/query.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Tx } from '../client/database.js';

export interface EventRecord {
  id: string;
  type: string;
  study_id: string;
  participant_id: string | null;
  occurred_at: string;
  data: Record<string, unknown>;
}
export interface EventFilter {
  type?: string | undefined;
  participantId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Events of a participant are visible to those who see the participant. */
const IN_REACH = `((select app_all_sites()) or participant_id is null or participant_id in (select id
  from participants))`;

/** A study's events in the order of writing. */
export function listEvents(tx: Tx, studyId: string, filter: Page & EventFilter): Promise<Listed<EventRecord>> {
  const found = tx('domain_events')
    .where('study_id', studyId)
    .whereRaw(IN_REACH)
    .modify((q) => {
      if (filter.type) q.where('type', filter.type);
      if (filter.participantId) q.where('participant_id', filter.participantId);
      if (filter.from) q.where('occurred_at', '>=', filter.from);
      if (filter.to) q.where('occurred_at', '<', filter.to);
    });
  return page(tx, found, 'id, type, study_id, participant_id, occurred_at, data', filter, { occurred_at: 'seq' }, 'id');
}

/** A position in the order of commits. */
export interface EventPosition {
  tx: string;
  seq: number;
}
export const BEFORE_ALL: EventPosition = { tx: '0', seq: 0 };

/** The position of an event; undefined: the study has no such event. */
export async function eventPosition(tx: Tx, studyId: string, eventId: string): Promise<EventPosition | undefined> {
  return DomainEvent.query(tx)
    .findById(eventId)
    .where({ study_id: studyId })
    .select(raw(`coalesce(tx, '0')::text as tx`), 'seq')
    .castTo<EventPosition | undefined>();
}

/**
 * Events after a position, up to the first that a running transaction could still precede: a reader that continues from
 * the last one misses none.
 */
export async function eventsAfter(
  tx: Tx,
  studyId: string,
  after: EventPosition,
  filter: EventFilter,
  limit: number,
): Promise<(EventRecord & { place: EventPosition })[]> {
  const rows = await prepared<EventRecord & EventPosition>(
    tx,
    `select id, type, study_id, participant_id, occurred_at, data, coalesce(tx, '0')::text as tx, seq from domain_events
     where study_id = $1 and (coalesce(tx, '0'), seq) > ($2::xid8, $3)
       and coalesce(tx, '0') < pg_snapshot_xmin(pg_current_snapshot())
       and ($4::text is null or type = $4) and ($5::uuid is null or participant_id = $5)
         and ($6::timestamptz is null or occurred_at >= $6) and ($7::timestamptz is null or occurred_at < $7)
       and ${IN_REACH}
     order by coalesce(tx, '0'), seq limit $8`,
    [
      studyId,
      after.tx,
      after.seq,
      filter.type ?? null,
      filter.participantId ?? null,
      filter.from ?? null,
      filter.to ?? null,
      limit,
    ],
  );
  return rows.map(({ tx: at, seq, ...event }) => ({ ...event, place: { tx: at, seq } }));
}

/**
 * The last event of each of these studies, if any. All streams of a process share one query. As in `eventsAfter`, no
 * event can still come before it.
 */
export async function lastEvents(
  tx: Tx,
  studies: readonly string[],
): Promise<{ study_id: string; place: EventPosition }[]> {
  const rows = await prepared<{ study_id: string } & EventPosition>(
    tx,
    `select q.study_id, n.tx, n.seq from unnest($1::uuid[]) q(study_id)
     cross join lateral (
       select coalesce(e.tx, '0')::text as tx, e.seq from domain_events e
       where e.study_id = q.study_id and coalesce(e.tx, '0') < pg_snapshot_xmin(pg_current_snapshot())
       order by coalesce(e.tx, '0') desc, e.seq desc limit 1) n`,
    [studies],
  );
  return rows.map(({ study_id, tx: at, seq }) => ({ study_id, place: { tx: at, seq } }));
}

/**
 * A text for each caller that changes with any of its rights: the user, studies and sites, whether the login was ended,
 * and the study itself.
 */
export async function rightsMarks(
  tx: Tx,
  callers: readonly { userId: string; login?: string | undefined; studyId: string }[],
): Promise<string[]> {
  const rows = await prepared<{ mark: string }>(
    tx,
    `select concat_ws(' ', u.status, u.role, u.session_epoch,
       (select string_agg(s.study_id::text, ',' order by s.study_id) from user_studies s where s.user_id = u.id), '/',
       (select string_agg(s.site_id::text, ',' order by s.site_id) from user_sites s where s.user_id = u.id), '/',
       exists (select from refresh_tokens r where r.family_id = q.login and r.revoked_at is not null),
       exists (select from studies t where t.id = q.study_id)) as mark
     from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality q(user_id, login, study_id, index)
     left join users u on u.id = q.user_id order by q.index`,
    [
      callers.map(({ userId }) => userId),
      callers.map(({ login }) => login ?? null),
      callers.map(({ studyId }) => studyId),
    ],
  );
  return rows.map(({ mark }) => mark);
}
