import { prepared, queryAllAsPlanned } from '../client/query.js';
import type { Statement } from '../client/one-trip.js';
import type { Tx } from '../client/database.js';

/**
 * Locks the anchor's row for this transaction. Everything written afterwards has the time of the lock (db function
 * `moment`). No row: the participant does not exist.
 */
export const lockAnchorStatement = (participantId: string): Statement => ({
  sql: `with held as materialized (select a.participant_id from anchor_dates a where a.participant_id = $1 for update)
    select set_config('app.moment', clock_timestamp()::text, true) from held`,
  values: [participantId],
});

/**
 * Locks many anchors in one order and waits for rows that another transaction holds. `moment` is the time of the last
 * lock.
 */
export async function lockAnchors(tx: Tx, participantIds: readonly string[]): Promise<void> {
  await queryAllAsPlanned(tx, [
    {
      sql: 'select 1 from anchor_dates where participant_id = any($1::uuid[]) order by participant_id for update',
      values: [`{${participantIds.join(',')}}`],
    },
    { sql: `select set_config('app.moment', clock_timestamp()::text, true)`, values: [] },
  ]);
}

/** The last entry of a participant's history, in words: what it was, the date that it gave, and when. */
export async function lastChange(tx: Tx, participantId: string): Promise<string | null> {
  const [entry] = await prepared<{ words: string }>(
    tx,
    `select concat_ws(' ', event_type, enrollment_date_value::text,
      to_char(created_at at time zone 'UTC', '"at" YYYY-MM-DD"T"HH24:MI:SS"Z"')) as words
     from anchor_date_history where participant_id = $1 order by seq desc limit 1`,
    [participantId],
  );
  return entry?.words ?? null;
}

/** The anchor as it is returned. */
export interface AnchorResponse {
  participant_id: string;
  enrollment_date: string | null;
  enrollment_datetime: string | null;
  precision: string;
  partial_value: string | null;
  timezone: string | null;
  status: string;
  source_type: string | null;
  source_ref: Record<string, unknown> | null;
  is_override: boolean;
  override_reason: string | null;
  version: number;
  current_schedule_version_id: string | null;
  created_at: string;
  updated_at: string;
}

const ANCHOR = `
select participant_id, enrollment_date_value as enrollment_date, enrollment_datetime_value as enrollment_datetime,
  precision, partial_value, timezone,
  status, source_type, source_ref, is_override, override_reason, version, current_schedule_version_id, created_at,
    updated_at
from anchor_dates where participant_id = $1`;

export async function readAnchor(tx: Tx, participantId: string): Promise<AnchorResponse | undefined> {
  return (await prepared<AnchorResponse>(tx, ANCHOR, [participantId]))[0];
}
/** The same as a statement of its own. */
export const anchorStatement = (participantId: string): Statement => ({ sql: ANCHOR, values: [participantId] });

/** History, newest first. */
export async function readHistory(tx: Tx, participantId: string): Promise<unknown[]> {
  return tx('anchor_date_history')
    .where({ participant_id: participantId })
    .orderBy('seq', 'desc')
    .select(
      'id',
      'event_type',
      'enrollment_date_value',
      'status_before',
      'status_after',
      'source_type',
      'source_ref',
      'previous_enrollment_date',
      'change_delta_days',
      'actor_user_id',
      'actor_type',
      'reason',
      'request_id',
      'schedule_version_created_id',
      'anchor_version',
      'imported',
      'imported_by',
      'original_users',
      'created_at',
    );
}
