import { raw } from 'objection';
import { ParticipantImport } from '../models/jobs.js';
import { execute } from '../client/query.js';
import type { Tx } from '../client/database.js';

export type ImportPhase = 'reading' | 'deciding' | 'writing' | 'recording' | 'done';
export interface ImportCounts {
  total_rows: number;
  imported_count: number;
  updated_count: number;
  skipped_count: number;
  error_count: number;
}
/** An uploaded file of participants, and the result of its import. */
export interface ImportRecord extends Partial<{ [K in keyof ImportCounts]: number | null }> {
  id: string;
  study_id: string;
  requested_by_id: string;
  format: 'csv' | 'excel';
  sha256: string;
  dry_run: boolean;
  mode: 'insert' | 'upsert';
  status: 'running' | 'completed' | 'failed';
  phase: ImportPhase;
  progress: number;
  created_at: string;
  completed_at: string | null;
}
export type NewImport = Pick<
  ImportRecord,
  'id' | 'study_id' | 'requested_by_id' | 'format' | 'sha256' | 'dry_run' | 'mode'
>;

const KEY = 'running import ';
/** Holds an import's id until its transaction ends, with its process or without; another attempt may hold it. */
export async function holdImport(tx: Tx, id: string): Promise<void> {
  await execute(tx, 'select pg_try_advisory_xact_lock(hashtextextended($1, 0))', [KEY + id]);
}
const IS_HELD = `exists (select from pg_locks l where l.locktype = 'advisory' and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('${KEY}' || id, 0))`;
/** An import that is not held is over; this long after its last word, its process can't tell how. */
const LOST = `interval '10 seconds'`;
const COLUMNS = `id, study_id, requested_by_id, format, sha256, dry_run, mode, case when status = 'running'
  and updated_at < clock_timestamp() - ${LOST} and not ${IS_HELD} then 'failed' else status end as status,
  phase, progress, total_rows, imported_count, updated_count, skipped_count, error_count, created_at, completed_at`;

/**
 * Stores the progress in a transaction of its own; a finished import stays unchanged. One that is sent once more, after
 * its first attempt failed or was lost, begins again.
 */
export async function noteImport(
  tx: Tx,
  { id, study_id, requested_by_id, format, sha256, dry_run, mode }: NewImport,
  { phase, progress, total_rows }: { phase: ImportPhase; progress: number; total_rows: number | null },
): Promise<void> {
  await execute(
    tx,
    `insert into participant_imports as i (id, study_id, requested_by_id, format, sha256, dry_run, mode, phase,
      progress, total_rows) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (study_id, id) do update set phase = excluded.phase, progress = excluded.progress,
       total_rows = excluded.total_rows, status = 'running', completed_at = null, updated_at = clock_timestamp()
       where i.status = 'running' and i.progress <= excluded.progress
         or i.status <> 'completed' and excluded.phase = 'reading'`,
    [id, study_id, requested_by_id, format, sha256, dry_run, mode, phase, progress, total_rows],
  );
}

/** In the transaction of the import: it is over with it, and not without. */
export async function completeImport(tx: Tx, made: NewImport, result: ImportCounts): Promise<void> {
  const { id, study_id, requested_by_id, format, sha256, dry_run, mode } = made;
  const { total_rows, imported_count, updated_count, skipped_count, error_count } = result;
  const counts: ImportCounts = { total_rows, imported_count, updated_count, skipped_count, error_count };
  await tx('participant_imports')
    .insert({
      id,
      study_id,
      requested_by_id,
      format,
      sha256,
      dry_run,
      mode,
      ...counts,
      status: 'completed',
      phase: 'done',
      progress: 1,
      completed_at: tx.raw('clock_timestamp()'),
      updated_at: tx.raw('clock_timestamp()'),
    })
    .onConflict(['study_id', 'id'])
    .merge([
      'status',
      'phase',
      'progress',
      ...(Object.keys(counts) as (keyof ImportCounts)[]),
      'completed_at',
      'updated_at',
    ]);
}

export async function failImport(tx: Tx, { study_id, id }: NewImport): Promise<void> {
  await ParticipantImport.query(tx)
    .findById([study_id, id])
    .where({ status: 'running' })
    .patch({ status: 'failed', completed_at: raw('clock_timestamp()'), updated_at: raw('clock_timestamp()') });
}

export async function importById(tx: Tx, studyId: string, id: string): Promise<ImportRecord | undefined> {
  return tx('participant_imports').where({ study_id: studyId, id }).first(tx.raw(COLUMNS)) as Promise<
    ImportRecord | undefined
  >;
}

/** When the same file was last imported into the study; undefined: never. */
export async function importedBefore(tx: Tx, studyId: string, sha256: string): Promise<string | undefined> {
  const [last] = await tx('participant_imports')
    .where({ study_id: studyId, sha256, status: 'completed', dry_run: false })
    .max<{ at: string | null }[]>('completed_at as at');
  return last?.at ?? undefined;
}

export async function listImports(
  tx: Tx,
  studyId: string,
  { skip, limit }: { skip: number; limit: number },
): Promise<{ items: ImportRecord[]; total: number }> {
  const [counted] = await tx('participant_imports')
    .where({ study_id: studyId })
    .count<{ total: number }[]>('* as total');
  const { total } = counted!;
  const items = (await tx('participant_imports')
    .where({ study_id: studyId })
    .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'id' }])
    .limit(limit)
    .offset(skip)
    .select(tx.raw(COLUMNS))) as ImportRecord[];
  return { items, total };
}
