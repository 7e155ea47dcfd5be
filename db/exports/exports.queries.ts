import { raw } from 'objection';
import { ExportJob } from '../models/jobs.js';
import type { DatasetName } from './datasets.js';
import type { ExportFilters } from './statement.js';
import type { ExportFormat } from './write.js';
import { query } from '../client/query.js';
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
  return tx('exports as e').join('studies as s', 's.id', 'e.study_id').where('e.id', id).first('e.*', 's.study_code');
}

/** Begins the writing, also again after a worker has died; undefined: it is over or gone. */
export async function beginExport(tx: Tx, id: string): Promise<ExportRecord | undefined> {
  const rows = await query<ExportRecord>(
    tx,
    `update exports e set status = 'running', progress = 0, started_at = coalesce(e.started_at, clock_timestamp()) from studies s
     where e.id = $1 and s.id = e.study_id and e.status in ('pending', 'running') returning e.*, s.study_code`,
    [id],
  );
  return rows[0];
}

export async function noteExportProgress(tx: Tx, id: string, progress: number, rows: number): Promise<void> {
  await ExportJob.query(tx).findById(id).where({ status: 'running' }).patch({ progress, rows });
}

/** @returns whether its file is to be had: it may have been ended while it was written */
export async function completeExport(
  tx: Tx,
  id: string,
  file: { rows: number; size: number; sha256: string; hours: number },
): Promise<boolean> {
  const { hours, ...written } = file;
  await ExportJob.query(tx)
    .findById(id)
    .where({ status: 'running' })
    .patch({
      ...written,
      status: 'completed',
      progress: 1,
      completed_at: raw('clock_timestamp()'),
      expires_at: raw(`clock_timestamp() + ? * interval '1 hour'`, [hours]),
    });
  return (await exportById(tx, id))?.status === 'completed';
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
