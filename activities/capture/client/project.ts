import type { ConnectionReport } from '../../../workflows/domain/capture/query.js';
import type { CaptureClient } from './client.js';
import { readDictionary } from './dictionary.js';
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
 * Counts records by their primary key, the first field of the dictionary: a longitudinal project has several rows for
 * each.
 */
async function countRecords(client: CaptureClient): Promise<number> {
  const primaryKey = textValue((await readDictionary(client, { forms: [] })).rows[0]?.['field_name']);
  if (primaryKey === '') throw new CaptureFailure('invalid_response', 'The capture system has an empty dictionary.');
  const rows = await client.exportRecords({ fields: [primaryKey] });
  return new Set(rows.map((row) => textValue(row[primaryKey]))).size;
}
