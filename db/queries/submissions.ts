import type { Tx } from '../knex.js';
import { prepared } from '../prepared.js';
import { insertRows } from '../rows.js';

export interface TaskRow {
  session_id: string; task: string; study_id: string; local_id: string | null; summary: unknown; computed_summary: unknown; summary_difference: unknown;
  quality_flags: unknown; warnings: unknown; trial_count: number; content_hash: string;
}
const COLUMNS = ['session_id', 'task', 'study_id', 'local_id', 'summary', 'computed_summary', 'summary_difference', 'quality_flags', 'warnings', 'trial_count', 'content_hash', 'submitted_at'] as const;

export async function insertTasks(tx: Tx, rows: readonly TaskRow[]): Promise<void> {
  await insertRows(tx, 'session_tasks', COLUMNS, rows.map((row) => ({ ...row, submitted_at: 'now' })));
}

/** The hash of each task's content that these sessions have, by session and task. */
export async function taskHashes(tx: Tx, sessionIds: readonly string[]): Promise<{ session_id: string; task: string; content_hash: string; local_id: string | null }[]> {
  return prepared(tx, 'select session_id, task, content_hash, local_id from session_tasks where session_id = any($1::uuid[])', [[...sessionIds]]);
}

export interface TaskRecord extends Omit<TaskRow, 'session_id' | 'study_id'> { submitted_at: string }

/** What each task of a session gave, by name. */
export async function tasksOfSession(tx: Tx, sessionId: string): Promise<TaskRecord[]> {
  return tx('session_tasks').where({ session_id: sessionId }).orderBy('task')
    .select('task', 'local_id', 'summary', 'computed_summary', 'summary_difference', 'quality_flags', 'warnings', 'trial_count', 'content_hash', 'submitted_at');
}

export async function deleteTask(tx: Tx, sessionId: string, task: string): Promise<void> {
  await tx('session_tasks').where({ session_id: sessionId, task }).delete();
}

/** Task and name of each module of the version that a session used. */
export async function modulesOfSession(tx: Tx, batteryId: number, version: number): Promise<{ tasks: string[]; names: string[] }> {
  const [modules] = await prepared<{ tasks: string[]; names: string[] }>(tx,
    `select coalesce(jsonb_agg(task), '[]') as tasks, coalesce(jsonb_agg(name), '[]') as names from battery_modules where battery_id = $1 and version = $2`, [batteryId, version]);
  return modules!;
}
