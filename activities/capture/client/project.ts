import type { ConnectionReport } from '../../../workflows/domain/capture/query.js';
import type { CaptureClient } from './client.js';
import { primaryKeyOf } from './dictionary.js';
import { CaptureFailure } from './failure.js';

export const isSet = (value: unknown) => value === 1 || value === '1' || value === true;
export const textValue = (value: unknown) =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** Describes the project of a connection. @throws CaptureFailure if the connection fails */
export async function describe(client: CaptureClient): Promise<ConnectionReport> {
  const project = await client.project();
  const projectId = textValue(project['project_id']);
  if (projectId === '') throw new CaptureFailure('invalid_response', 'The capture system did not say its project_id.');
  return {
    status: 'connected',
    project_title: textValue(project['project_title']),
    project_id: projectId,
    is_longitudinal: isSet(project['is_longitudinal']),
    record_count: await countRecords(client),
  };
}

/**
 * Counts records by their primary key: a longitudinal project has several rows for each. A dictionary that is refused
 * or empty is no reason to fail: triggers and pushes do without it.
 */
async function countRecords(client: CaptureClient): Promise<number> {
  const primaryKey = await primaryKeyOf(client);
  const rows = await client.exportRecords({ fields: [primaryKey] });
  return new Set(rows.map((row) => textValue(row[primaryKey])).filter((id) => id !== '')).size;
}
