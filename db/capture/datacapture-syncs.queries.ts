import { raw } from 'objection';
import { CaptureConfig, CaptureSync } from '../models/capture.js';
import { putOutbox } from '../outbox/outbox.js';
import { prepared } from '../client/query.js';
import type { Statement } from '../client/query.js';
import type { Tx } from '../client/database.js';

export type SyncKind = 'sync' | 'poll';
export type SyncCounts = Partial<Record<string, number>>;
export interface SyncRow {
  id: string;
  study_id: string;
  kind: SyncKind;
  status: 'running' | 'completed' | 'failed';
  requested_by_id: string | null;
  /** Only changes since then are read; null: everything. */
  changed_since: string | null;
  /** The list of records to read is stored. */
  listed: boolean;
  records_total: number;
  counts: SyncCounts;
  error_code: string | null;
  error: string | null;
  started_at: string;
  finished_at: string | null;
}
export interface SyncIssue {
  code: string;
  message: string;
}
export interface SyncRecordRow {
  record: string;
  outcome: string | null;
  participant_id: string | null;
  issues: SyncIssue[];
}

/** The study's running sync of this kind, or a new one. */
export async function openSync(
  tx: Tx,
  sync: { study_id: string; kind: SyncKind; changed_since: string | null; requested_by_id: string | null },
): Promise<{ row: SyncRow; opened: boolean }> {
  const [row] = (await tx('datacapture_syncs')
    .insert({
      study_id: sync.study_id,
      kind: sync.kind,
      changed_since: sync.changed_since,
      requested_by_id: sync.requested_by_id,
    })
    .onConflict(tx.raw(`(study_id, kind) where status = 'running'`))
    .ignore()
    .returning('*')) as SyncRow[];
  if (row) return { row, opened: true };
  const running = await runningSync(tx, sync.study_id, sync.kind);
  // It ended just now: the next look-up creates a new one.
  return running ? { row: running, opened: false } : openSync(tx, sync);
}

export async function runningSync(tx: Tx, studyId: string, kind: SyncKind): Promise<SyncRow | undefined> {
  return CaptureSync.query(tx)
    .where({ study_id: studyId, kind, status: 'running' })
    .first()
    .castTo<SyncRow | undefined>();
}

/** Queues the start of a sync's workflow; does nothing if it runs. */
export const startSync = (tx: Tx, row: SyncRow): Promise<void> =>
  putOutbox(tx, [{ topic: 'datacapture-sync', studyId: row.study_id, subject: row.id }]);

export async function findSync(tx: Tx, id: string, lock?: 'for no key update'): Promise<SyncRow | undefined> {
  const found = CaptureSync.query(tx).findById(id);
  if (lock) void found.forNoKeyUpdate();
  return found.castTo<SyncRow | undefined>();
}

/** A study's last sync that a user requested. */
export const lastSyncStatement = (studyId: string): Statement => ({
  sql: `select * from datacapture_syncs where study_id = $1 and kind = 'sync' order by started_at desc, id limit 1`,
  values: [studyId],
});

export async function listSyncs(
  tx: Tx,
  studyId: string,
  page: { skip: number; limit: number },
): Promise<{ items: SyncRow[]; total: number }> {
  const query = tx<SyncRow>('datacapture_syncs').where({ study_id: studyId });
  const [count] = await query.clone().count({ total: '*' });
  const items = await query
    .orderBy([{ column: 'started_at', order: 'desc' }, 'id'])
    .offset(page.skip)
    .limit(page.limit);
  return { items: items as SyncRow[], total: Number(count!.total) };
}

/** Stores which records are to be read, and which the capture system no longer has. */
export async function storeList(
  tx: Tx,
  sync: SyncRow,
  list: { read: readonly string[]; vanished: readonly { record: string; participant_id: string }[]; issue: SyncIssue },
): Promise<void> {
  await prepared(
    tx,
    `insert into datacapture_sync_records (sync_id, study_id, record, position) select $1, $2, r, n
      from unnest($3::text[]) with ordinality as t (r, n)`,
    [sync.id, sync.study_id, [...list.read]],
  );
  await prepared(
    tx,
    `insert into datacapture_sync_records (sync_id, study_id, record, position, outcome, participant_id, issues)
     select $1, $2, r, 0, 'vanished', p, $5::jsonb from unnest($3::text[], $4::uuid[]) as t (r, p)
       on conflict do nothing`,
    [
      sync.id,
      sync.study_id,
      list.vanished.map((v) => v.record),
      list.vanished.map((v) => v.participant_id),
      JSON.stringify([list.issue]),
    ],
  );
  await prepared(
    tx,
    `update datacapture_records set vanished_at = coalesce(vanished_at, clock_timestamp())
      where study_id = $1 and record = any($2)`,
    [sync.study_id, list.vanished.map((v) => v.record)],
  );
  await CaptureSync.query(tx)
    .findById(sync.id)
    .patch({
      listed: true,
      records_total: list.read.length,
      counts: list.vanished.length > 0 ? { vanished: list.vanished.length } : {},
    });
}

/**
 * Participants whose record was read before, with the record: candidates for records missing from the capture system.
 * Of those who have withdrawn it is told once: under another name the record enrolls them again.
 */
export async function readRecords(tx: Tx, studyId: string): Promise<{ record: string; participant_id: string }[]> {
  return prepared(
    tx,
    `select p.external_id as record, p.id as participant_id from participants p
      join datacapture_records r on r.study_id = p.study_id and r.record = p.external_id
      where p.study_id = $1 and (p.status = 'enrolled' or r.vanished_at is null) and r.read_at is not null
      order by p.external_id`,
    [studyId],
  );
}

/** The next records to read, in order, the number of all records, and whether the sync found that records vanished. */
export async function openRecords(
  tx: Tx,
  syncId: string,
  most: number,
): Promise<{ records: string[]; left: number; vanished: boolean }> {
  const rows = await prepared<{ record: string; left: number; vanished: boolean }>(
    tx,
    `select record, (select count(*) from datacapture_sync_records o
      where o.sync_id = $1 and o.outcome is null)::integer as left,
      (select s.counts ? 'vanished' from datacapture_syncs s where s.id = $1) as vanished
       from datacapture_sync_records where sync_id = $1 and outcome is null order by position limit $2`,
    [syncId, most],
  );
  return {
    records: rows.map((row) => row.record),
    left: rows[0]?.left ?? 0,
    vanished: rows[0]?.vanished ?? false,
  };
}

export interface RecordOutcome {
  record: string;
  outcome: string;
  participant_id: string | null;
  issues: SyncIssue[];
}

/** Outcomes of which nothing is kept, unless there is an issue. */
const NOT_KEPT = ['unchanged', 'updated', 'skipped'];

/**
 * Stores and counts the outcomes of records. New records are kept until the sync ends only where one may be a
 * `vanished` one under another name (`nameRenamed`): to mark thousands and delete them in the end costs more than
 * deleting them. @returns how many are still to be read
 */
export async function storeOutcomes(
  tx: Tx,
  { sync_id: syncId, vanished }: { sync_id: string; vanished: boolean },
  outcomes: readonly RecordOutcome[],
): Promise<number> {
  const isKept = ({ outcome, issues }: RecordOutcome) =>
    issues.length > 0 || !(NOT_KEPT.includes(outcome) || (outcome === 'created' && !vanished));
  const kept = outcomes.filter(isKept);
  const done = outcomes.filter((each) => !isKept(each));
  if (kept.length > 0)
    await prepared(
      tx,
      `update datacapture_sync_records r set outcome = w.outcome, participant_id = w.participant_id, issues = w.issues
         from jsonb_to_recordset($2::jsonb) as w (record text, outcome text, participant_id uuid, issues jsonb)
        where r.sync_id = $1 and r.record = any($3) and r.record = w.record`,
      [syncId, JSON.stringify(kept), kept.map(({ record }) => record)],
    );
  if (done.length > 0)
    await prepared(tx, 'delete from datacapture_sync_records where sync_id = $1 and record = any($2)', [
      syncId,
      done.map(({ record }) => record),
    ]);
  const counts: Record<string, number> = {};
  for (const { outcome } of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  const [row] = await prepared<{ left: number }>(
    tx,
    `with counted as (update datacapture_syncs s set counts = s.counts || coalesce((
       select jsonb_object_agg(n.key, coalesce((s.counts->>n.key)::integer, 0) + n.value::integer)
         from jsonb_each_text($2::jsonb) n), '{}') where id = $1)
     select count(*)::integer as left from datacapture_sync_records where sync_id = $1 and outcome is null`,
    [syncId, JSON.stringify(counts)],
  );
  return row!.left;
}

/**
 * A vanished record may have been renamed: the issue names a record if exactly one has its last known content that this
 * sync enrolled, or a trigger since the vanished one was last read. Participants are never merged by this.
 */
export async function nameRenamed(tx: Tx, sync: SyncRow): Promise<void> {
  await prepared(
    tx,
    `with same as (
       select v.record, min(m.record) as new_record from datacapture_sync_records v
         join datacapture_records h on h.study_id = v.study_id and h.record = v.record and h.reading_hash is not null
         join datacapture_records m on m.study_id = v.study_id and m.record <> v.record
           and m.reading_hash = h.reading_hash
         left join datacapture_sync_records n on n.sync_id = v.sync_id and n.record = m.record
        where v.sync_id = $1 and v.outcome = 'vanished' and n.outcome is distinct from 'vanished'
          and (n.outcome in ('created', 'failed')
            or exists (select from webhook_events e where e.study_id = v.study_id and e.record = m.record
              and e.outcome = 'created' and e.received_at > h.read_at))
        group by v.record having count(*) = 1
     )
     update datacapture_sync_records r
       set issues = r.issues || jsonb_build_array(jsonb_build_object('code', 'RECORD_RENAMED', 'message',
       'A new record holds the same: "' || s.new_record || '". It may be this one under another name.'))
       from same s where r.sync_id = $1 and r.record = s.record`,
    [sync.id],
  );
}

/** Ends a sync; only records with an issue are kept. @returns whether it was still running */
export async function closeSync(
  tx: Tx,
  id: string,
  ending: { status: 'completed' } | { status: 'failed'; code: string; message: string },
): Promise<boolean> {
  const failed = ending.status === 'failed' ? ending : null;
  const ended = await CaptureSync.query(tx)
    .findById(id)
    .where({ status: 'running' })
    .patch({
      status: ending.status,
      error_code: failed?.code.slice(0, 60) ?? null,
      error: failed?.message.slice(0, 1_000) ?? null,
      finished_at: raw('clock_timestamp()'),
    });
  await CaptureSync.relatedQuery('records', tx)
    .for(id)
    .whereRaw(`issues = '[]' and coalesce(outcome, '') not in ('override_required', 'failed', 'vanished')`)
    .delete();
  return ended === 1;
}

/** The name of the new record in RECORD_RENAMED (`nameRenamed`). */
const NEW_NAME = /: "(.*)"(?=\. It may be)/s;

/** Issues without names of records whose participants the caller does not see. */
async function withoutHiddenNames(tx: Tx, studyId: string, items: SyncRecordRow[]): Promise<SyncRecordRow[]> {
  const nameIn = ({ code, message }: SyncIssue) =>
    code === 'RECORD_RENAMED' ? NEW_NAME.exec(message)?.[1] : undefined;
  const names = items.flatMap(({ issues }) => issues.flatMap((issue) => nameIn(issue) ?? []));
  if (names.length === 0) return items;
  const seen = (await tx('participants')
    .where({ study_id: studyId })
    .whereIn('external_id', names)
    .pluck('external_id')) as string[];
  const isHidden = (name: string | undefined) => name !== undefined && !seen.includes(name);
  return items.map((item) => ({
    ...item,
    issues: item.issues.map((issue) =>
      isHidden(nameIn(issue)) ? { ...issue, message: issue.message.replace(NEW_NAME, '') } : issue,
    ),
  }));
}

/** The issues of a sync's records. `ofVisibleParticipants`: only of participants whom the caller may see. */
export async function syncIssues(
  tx: Tx,
  sync: SyncRow,
  filter: { skip: number; limit: number; ofVisibleParticipants: boolean },
): Promise<{ items: SyncRecordRow[]; total: number }> {
  const query = tx('datacapture_sync_records')
    .where({ sync_id: sync.id })
    .whereRaw(`(issues <> '[]' or outcome in ('override_required', 'failed', 'vanished'))`);
  if (filter.ofVisibleParticipants)
    query.whereIn('participant_id', tx('participants').where({ study_id: sync.study_id }).select('id'));
  const [count] = await query.clone().count({ total: '*' });
  const items: SyncRecordRow[] = await query
    .orderBy(['position', 'record'])
    .offset(filter.skip)
    .limit(filter.limit)
    .select('record', 'outcome', 'participant_id', 'issues');
  const shown = filter.ofVisibleParticipants ? await withoutHiddenNames(tx, sync.study_id, items) : items;
  return { items: shown, total: Number(count!.total) };
}

/** The polling interval in minutes of each polled study. */
export async function polledStudies(tx: Tx, studyId?: string): Promise<Map<string, number>> {
  const polled = CaptureConfig.query(tx)
    .alias('c')
    .joinRelated('study', { alias: 's' })
    .where('s.datacapture_enabled', true)
    .where('c.poll_interval_minutes', '>', 0)
    .select('c.study_id', 'c.poll_interval_minutes');
  if (studyId !== undefined) void polled.where('c.study_id', studyId);
  return new Map((await polled).map((row) => [row.study_id, row.poll_interval_minutes]));
}
