import type { Tx } from '../knex.js';

export type ImportPhase = 'reading' | 'deciding' | 'writing' | 'recording' | 'done';
export interface ImportCounts {
  total_rows: number;
  imported_count: number;
  updated_count: number;
  skipped_count: number;
  error_count: number;
}
/** A file of participants as it was sent, and what became of it. */
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

/** A running one that nobody has written to for so long: its process has gone. */
const LOST = `interval '10 minutes'`;
const COLUMNS = `id, study_id, requested_by_id, format, sha256, dry_run, mode, case when status = 'running' and updated_at < clock_timestamp() - ${LOST} then 'failed' else status end as status,
  phase, progress, total_rows, imported_count, updated_count, skipped_count, error_count, created_at, completed_at`;

/** Says how far one is, in a transaction of its own; one that is over stays as it is. */
export async function noteImport(
  tx: Tx,
  { id, study_id, requested_by_id, format, sha256, dry_run, mode }: NewImport,
  { phase, progress, total_rows }: { phase: ImportPhase; progress: number; total_rows: number | null },
): Promise<void> {
  await tx.raw(
    `insert into participant_imports as i (id, study_id, requested_by_id, format, sha256, dry_run, mode, phase, progress, total_rows) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (study_id, id) do update set phase = excluded.phase, progress = excluded.progress, total_rows = excluded.total_rows, updated_at = clock_timestamp() where i.status = 'running' and i.progress <= excluded.progress`,
    [id, study_id, requested_by_id, format, sha256, dry_run, mode, phase, progress, total_rows],
  );
}

/** In the transaction of the import: it is over with it, and not without. */
export async function completeImport(tx: Tx, made: NewImport, counts: ImportCounts): Promise<void> {
  const { total_rows, imported_count, updated_count, skipped_count, error_count } = counts;
  await tx.raw(
    `insert into participant_imports as i (id, study_id, requested_by_id, format, sha256, dry_run, mode, status, phase, progress, total_rows, imported_count, updated_count, skipped_count, error_count, completed_at)
     values (:id, :study_id, :requested_by_id, :format, :sha256, :dry_run, :mode, 'completed', 'done', 1, :total_rows, :imported_count, :updated_count, :skipped_count, :error_count, clock_timestamp())
     on conflict (study_id, id) do update set status = excluded.status, phase = excluded.phase, progress = 1, total_rows = excluded.total_rows, imported_count = excluded.imported_count, updated_count = excluded.updated_count,
       skipped_count = excluded.skipped_count, error_count = excluded.error_count, completed_at = excluded.completed_at, updated_at = clock_timestamp()`,
    { ...made, total_rows, imported_count, updated_count, skipped_count, error_count },
  );
}

export async function failImport(tx: Tx, { study_id, id }: NewImport): Promise<void> {
  await tx.raw(
    `update participant_imports set status = 'failed', completed_at = clock_timestamp(), updated_at = clock_timestamp() where study_id = ? and id = ? and status = 'running'`,
    [study_id, id],
  );
}

export async function importById(tx: Tx, studyId: string, id: string): Promise<ImportRecord | undefined> {
  return (await tx.raw(`select ${COLUMNS} from participant_imports where study_id = ? and id = ?`, [studyId, id]))
    .rows[0];
}

/** When the same file was last imported into the study; undefined: never. */
export async function importedBefore(tx: Tx, studyId: string, sha256: string): Promise<string | undefined> {
  const { rows } = await tx.raw(
    `select max(completed_at) as at from participant_imports where study_id = ? and sha256 = ? and status = 'completed' and not dry_run`,
    [studyId, sha256],
  );
  return rows[0].at ?? undefined;
}

export async function listImports(
  tx: Tx,
  studyId: string,
  { skip, limit }: { skip: number; limit: number },
): Promise<{ items: ImportRecord[]; total: number }> {
  const {
    rows: [{ total }],
  } = (await tx.raw('select count(*) as total from participant_imports where study_id = ?', [studyId])) as {
    rows: [{ total: number }];
  };
  const { rows } = await tx.raw(
    `select ${COLUMNS} from participant_imports where study_id = ? order by created_at desc, id limit ? offset ?`,
    [studyId, limit, skip],
  );
  return { items: rows, total };
}
