import { join } from 'node:path';
import type { Settings } from '../../../settings.js';
import { readIfThere } from '../files.js';
import type { RunJson } from '../run-json.js';

/** The database for a tool: DATABASE_URL, else that of the service running on DATA_DIR. */
export function databaseUrlOf({
  DATABASE_URL,
  DATA_DIR,
}: Pick<Settings, 'DATABASE_URL' | 'DATA_DIR'>): string | undefined {
  return DATABASE_URL ?? runningOn(DATA_DIR)?.database_url;
}

/** run.json of the service running on a data folder; undefined: none. */
export function runningOn(dataDir: string): RunJson | undefined {
  const text = readIfThere(join(dataDir, 'run.json'));
  return text === undefined ? undefined : (JSON.parse(text) as RunJson);
}
