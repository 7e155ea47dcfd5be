import { raw } from 'objection';
import { ExportJob } from '../models/jobs.js';
import type { DatasetName } from './datasets.js';
import type { ExportFilters } from './statement.js';
import type { ExportFormat } from './write.js';
import type { Tx } from '../client/database.js';

export interface ExportRecord {
  id: string;
  study_id: string;
  study_code: string;
  requested_by_id: string;
  site_id: string | null;
  dataset: DatasetName;
  format: ExportFormat;
  filters: ExportFilters;
  status: 'pending' | 'running' | 'completed' | 'failed' | 'expired';
  progress: number;
  rows: number | null;
  size: number | null;
  sha256: string | null;
  error: string | null;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  expires_at: string | null;
}

export async function insertExport(
  tx: Tx,
  record: Pick<ExportRecord, 'id' | 'study_id' | 'requested_by_id' | 'site_id' | 'dataset' | 'format' | 'filters'>,
): Promise<void> {
  await ExportJob.query(tx).insert(record);
}

export async function exportById(tx: Tx, id: string): Promise<ExportRecord | undefined> {
  return ExportJob.query(tx)
    .alias('e')
    .joinRelated('study', { alias: 's' })
    .where('e.id', id)
    .select('e.*', 's.study_code')
    .first()
    .castTo<ExportRecord | undefined>();
}

/** Starts writing, also again after a worker crashed; undefined: it has ended or was deleted. */
export async function beginExport(tx: Tx, id: string): Promise<ExportRecord | undefined> {
  const begun = await ExportJob.query(tx)
    .findById(id)
    .whereIn('status', ['pending', 'running'])
    .patch({ status: 'running', progress: 0, started_at: raw('coalesce(started_at, clock_timestamp())') });
  return begun === 0 ? undefined : exportById(tx, id);
}

export async function noteExportProgress(tx: Tx, id: string, progress: number, rows: number): Promise<void> {
  await ExportJob.query(tx).findById(id).where({ status: 'running' }).patch({ progress, rows });
}

/** @returns whether this completed it: another attempt may have, or it was cancelled meanwhile */
export async function completeExport(
  tx: Tx,
  id: string,
  file: { rows: number; size: number; sha256: string; hours: number },
): Promise<boolean> {
  const { hours, ...written } = file;
  const completed = await ExportJob.query(tx)
    .findById(id)
    .where({ status: 'running' })
    .patch({
      ...written,
      status: 'completed',
      progress: 1,
      completed_at: raw('clock_timestamp()'),
      expires_at: raw(`clock_timestamp() + ? * interval '1 hour'`, [hours]),
    });
  return completed > 0;
}

export async function failExport(tx: Tx, id: string, error: string): Promise<void> {
  await ExportJob.query(tx)
    .findById(id)
    .whereIn('status', ['pending', 'running'])
    .patch({ status: 'failed', error: error.slice(0, 500), completed_at: raw('clock_timestamp()') });
}

export async function expireExport(tx: Tx, id: string): Promise<void> {
  await ExportJob.query(tx).findById(id).where({ status: 'completed' }).patch({ status: 'expired' });
}
