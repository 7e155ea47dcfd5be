import { raw } from 'objection';
import { DomainEvent } from '../models/messages.js';
import { prepared } from '../client/prepared.js';
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

/** What tells of a participant is seen by those who see the participant. */
const IN_REACH = `((select app_all_sites()) or participant_id is null or participant_id in (select id from participants))`;

/** A study's events in the order in which they were written. */
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

/** A place in the order of commits. */
export interface EventPosition {
  tx: string;
  seq: number;
}
export const BEFORE_ALL: EventPosition = { tx: '0', seq: 0 };

/** Where an event stands; undefined: the study has no such event. */
export async function eventPosition(tx: Tx, studyId: string, eventId: string): Promise<EventPosition | undefined> {
  return DomainEvent.query(tx)
    .findById(eventId)
    .where({ study_id: studyId })
    .select(raw(`coalesce(tx, '0')::text as tx`), 'seq')
    .castTo<EventPosition | undefined>();
}

/**
 * Events after a place, as far as no running transaction can write one before them: whoever goes on from the last one
 * misses none.
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
     where study_id = $1 and (coalesce(tx, '0'), seq) > ($2::xid8, $3) and coalesce(tx, '0') < pg_snapshot_xmin(pg_current_snapshot())
       and ($4::text is null or type = $4) and ($5::uuid is null or participant_id = $5) and ($6::timestamptz is null or occurred_at >= $6) and ($7::timestamptz is null or occurred_at < $7)
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
 * Of streams that have read as far as these places: those whose studies have later events, each with the last one. All
 * streams of a process ask with one statement. As in `eventsAfter`, no event can still come before it.
 */
export async function laterEvents(
  tx: Tx,
  streams: readonly { studyId: string; place: EventPosition }[],
): Promise<{ index: number; place: EventPosition }[]> {
  const rows = await prepared<{ index: string } & EventPosition>(
    tx,
    `select q.index, n.tx, n.seq from unnest($1::uuid[], $2::text[], $3::bigint[]) with ordinality q(study_id, tx, seq, index)
     cross join lateral (
       select coalesce(e.tx, '0')::text as tx, e.seq from domain_events e
       where e.study_id = q.study_id and (coalesce(e.tx, '0'), e.seq) > (q.tx::xid8, q.seq) and coalesce(e.tx, '0') < pg_snapshot_xmin(pg_current_snapshot())
       order by coalesce(e.tx, '0') desc, e.seq desc limit 1) n`,
    [
      streams.map(({ studyId }) => studyId),
      streams.map(({ place }) => place.tx),
      streams.map(({ place }) => place.seq),
    ],
  );
  return rows.map(({ index, tx: at, seq }) => ({ index: Number(index) - 1, place: { tx: at, seq } }));
}
