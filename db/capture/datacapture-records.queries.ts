import type { Statement } from '../client/one-trip.js';
import { prepared } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface RecordClaim {
  /** Hash of the record's content at the last read; null: never read, or not as a whole (by a sync). */
  content_hash: string | null;
  /** Hash of what the service took from it then. */
  reading_hash: string | null;
  /** Something of it was left to be taken later. */
  read_again: boolean;
  /** The database's time of the claim: data read after it is newer than what an earlier claim read. */
  claimed_at: string;
}

/**
 * Claims the record of an open trigger and of the enrollment instrument, so that triggers of one record are processed
 * one after another, and marks the trigger as in progress. The same owner may claim again (a retry); an expired lease
 * has no owner. Returns the claim, or no row when another trigger holds the record.
 */
export const claimRecord = (studyId: string, eventId: string, seconds: number): Statement => ({
  sql: `
with claimed as (
  insert into datacapture_records as r (study_id, record, lease_owner, lease_until)
  select e.study_id, e.record, e.id, clock_timestamp() + make_interval(secs => $3)
    from webhook_events e join datacapture_configs c on c.study_id = e.study_id
      and c.enrollment_instrument = e.instrument
   where e.study_id = $1 and e.id = $2 and e.status in ('received', 'processing')
  on conflict (study_id, record) do update set lease_owner = excluded.lease_owner, lease_until = excluded.lease_until
    where r.lease_owner is null or r.lease_owner = excluded.lease_owner or r.lease_until < clock_timestamp()
  returning content_hash, reading_hash, read_again, clock_timestamp() as claimed_at
),
noted as (
  update webhook_events set status = 'processing' where id = $2 and status = 'received' and exists (select from claimed)
)
select * from claimed`,
  values: [studyId, eventId, seconds],
});

/**
 * Stores what was read, fenced: only while the owner holds the lease and nothing newer was read.
 * @returns false when the lease was lost; then nothing of the reading may be written.
 */
export async function storeReading(
  tx: Tx,
  studyId: string,
  record: string,
  owner: string,
  claim: RecordClaim,
  hashes: { content_hash: string; reading_hash: string },
): Promise<boolean> {
  const stored = await prepared(
    tx,
    `update datacapture_records set content_hash = $1, reading_hash = $6, read_again = false, vanished_at = null,
        read_at = $2::timestamptz
      where study_id = $3 and record = $4 and lease_owner = $5 and lease_until > clock_timestamp()
        and (read_at is null or read_at <= $2::timestamptz)
      returning 1`,
    [hashes.content_hash, claim.claimed_at, studyId, record, owner, hashes.reading_hash],
  );
  return stored.length === 1;
}

/** Releases a record; does nothing when another owner holds it by now. */
export async function releaseRecord(tx: Tx, studyId: string, record: string, owner: string): Promise<void> {
  await prepared(
    tx,
    `update datacapture_records set lease_owner = null, lease_until = null where study_id = $1 and record = $2
      and lease_owner = $3`,
    [studyId, record, owner],
  );
}

/** Claims records for a reading as `claimRecord` does for a trigger; records that a trigger holds are not returned. */
export async function claimRecords(
  tx: Tx,
  studyId: string,
  records: readonly string[],
  owner: string,
  seconds: number,
): Promise<Map<string, RecordClaim>> {
  const claims = await prepared<RecordClaim & { record: string }>(
    tx,
    `insert into datacapture_records as r (study_id, record, lease_owner, lease_until)
     select $1, t, $3, clock_timestamp() + make_interval(secs => $4) from unnest($2::text[]) t order by t
     on conflict (study_id, record) do update set lease_owner = excluded.lease_owner, lease_until = excluded.lease_until
       where r.lease_owner is null or r.lease_owner = excluded.lease_owner or r.lease_until < clock_timestamp()
     returning record, content_hash, reading_hash, read_again, clock_timestamp() as claimed_at`,
    [studyId, [...records], owner, seconds],
  );
  return new Map(claims.map((claim) => [claim.record, claim]));
}

/**
 * Stores readings of a sync, fenced like `storeReading`, and releases their records: the row stays locked until the
 * transaction that writes the readings ends. A sync reads only a part of a record: where it finds a change, the hash of
 * the whole becomes unknown.
 * @returns the records whose owner still held the lease; nothing may be written of the others.
 */
export async function storeReadings(
  tx: Tx,
  studyId: string,
  owner: string,
  claimedAt: string,
  readings: readonly { record: string; reading_hash: string }[],
): Promise<Set<string>> {
  const stored = await prepared<{ record: string }>(
    tx,
    `update datacapture_records r
        set content_hash = case when r.reading_hash is not distinct from w.reading_hash then r.content_hash end,
          reading_hash = w.reading_hash, read_again = false, read_at = $4::timestamptz, vanished_at = null,
          lease_owner = null, lease_until = null
       from jsonb_to_recordset($3::jsonb) as w (record text, reading_hash text)
      where r.study_id = $1 and r.record = any($5) and r.record = w.record
        and r.lease_owner = $2 and r.lease_until > clock_timestamp()
          and (r.read_at is null or r.read_at <= $4::timestamptz)
      returning r.record`,
    [studyId, owner, JSON.stringify(readings), claimedAt, readings.map(({ record }) => record)],
  );
  return new Set(stored.map((row) => row.record));
}

/** Not all was taken from these records: the next reading takes them as changed. */
export async function readAgain(tx: Tx, studyId: string, records: readonly string[]): Promise<void> {
  if (records.length === 0) return;
  await prepared(tx, 'update datacapture_records set read_again = true where study_id = $1 and record = any($2)', [
    studyId,
    [...records],
  ]);
}

/**
 * A participant is about to get a record's name as its external id: what was read of the record was for somebody else,
 * and is read again. Called before the participant is locked, as readings lock records first.
 * @param own the participant, if there is one: one that has the name already gets nothing new
 */
export async function readForAnother(tx: Tx, studyId: string, externalId: string, own?: string): Promise<void> {
  await prepared(
    tx,
    `update datacapture_records set read_again = true where study_id = $1 and folded(record) = folded($2)
      and not exists (select from participants where id = $3 and external_id = $2)`,
    [studyId, externalId, own ?? null],
  );
}

/** The same for participants of a file. Records that are being read at this moment are left out: nobody waits. */
export async function readForOthers(tx: Tx, studyId: string, externalIds: readonly string[]): Promise<void> {
  if (externalIds.length === 0) return;
  await prepared(
    tx,
    `update datacapture_records r set read_again = true
       from (select record from datacapture_records where study_id = $1
           and folded(record) in (select folded(t) from unnest($2::text[]) t) order by record
         for no key update skip locked) s
      where r.study_id = $1 and r.record = s.record`,
    [studyId, [...externalIds]],
  );
}

/** The capture system withheld a part of these records: what the service has of them may be outdated. */
export async function forgetReadings(tx: Tx, studyId: string, records: readonly string[]): Promise<void> {
  if (records.length === 0) return;
  await prepared(
    tx,
    `update datacapture_records set read_again = true, reading_hash = null, content_hash = null
      where study_id = $1 and record = any($2)`,
    [studyId, [...records]],
  );
}

/** Those of the records that nobody has read yet. */
export async function neverRead(tx: Tx, studyId: string, records: readonly string[]): Promise<Set<string>> {
  const rows = await prepared<{ record: string }>(
    tx,
    `select t as record from unnest($2::text[]) t
      where not exists (select from datacapture_records r where r.study_id = $1 and r.record = t)`,
    [studyId, [...records]],
  );
  return new Set(rows.map(({ record }) => record));
}

/**
 * The records of which something was left to be taken later, and now may be: those without a participant, or with one
 * that was changed since (it may have got the record id by hand), and all if a site was made or changed since. Also
 * those that the capture system withheld, or no longer had.
 */
export async function recordsToReadAgain(tx: Tx, studyId: string, since: string): Promise<Set<string>> {
  const rows = await prepared<{ record: string }>(
    tx,
    `select r.record from datacapture_records r
      where r.study_id = $1 and (r.vanished_at is not null or r.read_again
        and (r.reading_hash is null
          or exists (select from sites s where s.study_id = r.study_id and s.updated_at > $2::timestamptz)
          or not exists (select from participants p where p.study_id = r.study_id and p.external_id = r.record
            and p.updated_at <= r.read_at)))`,
    [studyId, since],
  );
  return new Set(rows.map(({ record }) => record));
}

/** Releases records; does nothing with those that another owner holds by now. */
export async function releaseRecords(
  tx: Tx,
  studyId: string,
  records: readonly string[],
  owner: string,
): Promise<void> {
  if (records.length === 0) return;
  await prepared(
    tx,
    `update datacapture_records set lease_owner = null, lease_until = null
      where study_id = $1 and record = any($2) and lease_owner = $3`,
    [studyId, [...records], owner],
  );
}
